"""Embeddings made in the process, without a key: all-MiniLM-L6-v2 on onnxruntime."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Space, Vector

SPACE = Space("all-minilm-l6-v2", 384)
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
MAX_TOKENS = 256  # what the model was trained to read at once
BATCH = 32
THREADS = 2


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    session: Any
    tokenizer: Any


class MiniLM:
    """Implements `Embedder`. `folder` holds what layers/local/minilm.py builds; it is read at the first call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: _LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return SPACE

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:
            self._loaded = loaded = self._loaded or _load(self._folder)
        whole = [text.encode("utf-8", "replace").decode() for text in texts]  # no halves of surrogate pairs
        ids = [each.ids for each in loaded.tokenizer.encode_batch(whole)]
        by_length = sorted(range(len(ids)), key=lambda place: len(ids[place]))  # little padding in each batch
        vectors: dict[int, Vector] = {}
        for start in range(0, len(ids), BATCH):
            places = by_length[start : start + BATCH]
            made = _vectors(loaded.session, [ids[place] for place in places])
            vectors.update(zip(places, made, strict=True))
        return [vectors[place] for place in range(len(ids))]


def _load(folder: Path) -> _LoadedModel:
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise ModelUnavailable(f"The embedding model's {name} is not there.")
    try:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
        session = onnxruntime.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # neither library has an error of its own
        raise ModelUnavailable("The embedding model can't be loaded.") from error
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return _LoadedModel(session, tokenizer)


def _vectors(session: Any, ids: list[list[int]]) -> list[Vector]:
    import numpy as np

    longest = max(map(len, ids))
    tokens = np.zeros((len(ids), longest), np.int64)
    mask = np.zeros((len(ids), longest), np.int64)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    (made,) = session.run(None, {"input_ids": tokens, "attention_mask": mask})
    vectors: list[Vector] = made.tolist()
    return vectors
