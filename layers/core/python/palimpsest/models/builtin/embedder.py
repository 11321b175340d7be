"""Embeddings without a key: bge-small-en-v1.5, in 8-bit numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from palimpsest.models.builtin.transformer import Transformer
from palimpsest.models.embedding import unit
from palimpsest.models.ports import Space, Vector

SPACE = Space("bge-small-en-v1.5-int8", 384)  # no server's model of that name makes the same vectors
FOLDER = "bge-small-en-v1.5"
QUESTION = "Represent this sentence for searching relevant passages: "
MAX_TOKENS = 256  # it reads 512, which takes three times as long and finds no more


class BuiltinEmbedder:
    """Implements `Embedder`. `models` is the folder that layers/builtin makes; it is read at the first call."""

    def __init__(self, models: Path) -> None:
        self._model = Transformer(models / FOLDER, max_tokens=MAX_TOKENS)

    @property
    def space(self) -> Space:
        return SPACE

    def load_soon(self) -> None:
        """See `Transformer`."""
        self._model.load_soon()

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        prefix = QUESTION if as_questions else ""
        return [unit(self._model(prefix + text)[0].tolist()) for text in texts]  # the first token stands for all
