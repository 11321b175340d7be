"""Models that ship with the functions and need no key: an embedder and a reranker. Both run in the
function's own process, on onnxruntime.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from palimpsest import parallel
from palimpsest.errors import ModelUnavailable
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import unit

SPACE = Space("bge-small-en-v1.5-int8", 384)  # a server's model of that name makes other vectors
EMBEDDER = "bge-small-en-v1.5"
QUESTION = "Represent this sentence for searching relevant passages: "
MOST_EMBEDDED = 256  # tokens; it reads 512, which takes three times as long and finds no more
RERANKER = "ms-marco-MiniLM-L-12-v2"
MOST_RERANKED = 160  # tokens of question and text together: time grows with them
# tokens that the reranker reads in one batch; in smaller batches, half of the time is a fixed cost
# of each batch
AT_ONCE = 160
AHEAD = 10  # texts among which those for a batch are chosen
ALIKE = 1.25  # how much texts in one batch may differ in length
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
LONGEST_TOKEN = 16  # characters; more than any text has on average
_IMPORTS = threading.Lock()
"""A lock around imports. Two models load at the same time, and if two threads import numpy at once,
one of them may find only a part of it.
"""


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    session: Any
    tokenizer: Any


class Transformer:
    """A small transformer with its tokenizer, loaded when they are first needed. `folder` holds the
    two files above. The model reads the first `max_tokens` tokens of a text. Safe for many threads.

    Texts in one batch change each other's results a little. The model computes in 8-bit numbers,
    and their scale depends on the whole batch.
    """

    def __init__(self, folder: Path, *, max_tokens: int) -> None:
        self._folder = folder
        self._max_tokens = max_tokens
        self._loaded: _LoadedModel | None = None
        self._lock = threading.Lock()

    def __call__(self, *texts: str) -> Any:
        """Return the model's first output for one text or pair of texts, as a numpy array without
        the batch's dimension.

        Raises `ModelUnavailable` if the model can't be loaded.
        """
        return self.run([self.tokens(*texts)])[0]

    def tokens(self, *texts: str) -> Any:
        """Return the model's input for one text or pair of texts. Raises `ModelUnavailable`."""
        # the tokenizer's time grows with the square of the part that it cuts off
        most = self._max_tokens * LONGEST_TOKEN
        # no unpaired surrogates
        read = (text[:most].encode("utf-8", "replace").decode() for text in texts)
        return self.load().tokenizer.encode(*read)

    def run(self, batch: Sequence[Any]) -> Any:
        """Return the model's first output for several texts, given by their `tokens`. The result is
        one numpy array, in the order of the texts.
        """
        import numpy as np

        longest = max(len(encoded) for encoded in batch)

        def filled(numbers: Callable[[Any], Sequence[int]]) -> Any:
            rows = [[*numbers(encoded), *[0] * (longest - len(encoded))] for encoded in batch]
            return np.array(rows, np.int64)

        inputs = {
            "input_ids": filled(lambda encoded: encoded.ids),
            "attention_mask": filled(lambda encoded: encoded.attention_mask),
            "token_type_ids": filled(lambda encoded: encoded.type_ids),
        }
        return self.load().session.run(None, inputs)[0]

    def load_soon(self) -> None:
        """Begin to load the model in the background, so that the first text waits less."""
        parallel.begin(self.load)

    def load(self) -> _LoadedModel:
        """Return the model, and load it first if it is not loaded. Raises `ModelUnavailable`."""
        with self._lock:
            self._loaded = loaded = self._loaded or _loaded_from(
                self._folder, max_tokens=self._max_tokens
            )
        return loaded


def _loaded_from(folder: Path, *, max_tokens: int) -> _LoadedModel:
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise ModelUnavailable(f"The built-in model's {name} is not there.")
    try:
        with _IMPORTS:
            import onnxruntime
            from tokenizers import Tokenizer
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = (
            1  # functions have about one processor
        )
        session = onnxruntime.InferenceSession(
            str(folder / MODEL), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # neither library has error classes of its own
        raise ModelUnavailable("The built-in model can't be loaded.") from error
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return _LoadedModel(session, tokenizer)


class BuiltinEmbedder:
    """Implements `Embedder` with bge-small-en-v1.5, in 8-bit numbers. `models` is the folder that
    layers/builtin makes. The model is loaded at the first call.
    """

    def __init__(self, models: Path) -> None:
        self._model = Transformer(models / EMBEDDER, max_tokens=MOST_EMBEDDED)

    @property
    def space(self) -> Space:
        return SPACE

    def load_soon(self) -> None:
        """See `Transformer`."""
        self._model.load_soon()

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        prefix = QUESTION if as_questions else ""
        # the first token represents all
        return [unit(self._model(prefix + text)[0].tolist()) for text in texts]


class BuiltinReranker:
    """Implements `Reranker` with ms-marco-MiniLM-L-12-v2, in 8-bit numbers. This model is a
    cross-encoder, which reads question and text together. `models` is the folder that
    layers/builtin makes.

    The order by this model alone is worse than the joint order of all retrievers, so callers should
    combine the two.
    """

    def __init__(self, models: Path) -> None:
        self._model = Transformer(models / RERANKER, max_tokens=MOST_RERANKED)

    def load_soon(self) -> None:
        """See `Transformer`."""
        self._model.load_soon()

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        # Load the model first, because loading takes longer than any text and says nothing about
        # how long texts take.
        self._model.load()
        coming = ((place, self._model.tokens(question, text)) for place, text in enumerate(texts))
        ahead: dict[int, Any] = {}
        scores: dict[int, float] = {}
        longest = 0.0
        while ahead := ahead | dict(islice(coming, AHEAD - len(ahead))):
            begun = time.monotonic()
            if begun + longest > until:
                break
            batch = _read_together({place: len(pair) for place, pair in ahead.items()})
            read = self._model.run([ahead.pop(place) for place in batch])
            scores |= zip(batch, map(float, read[:, 0]), strict=True)
            longest = max(longest, time.monotonic() - begun)
        return [scores[place] for place in takewhile(scores.__contains__, range(len(texts)))]


def _read_together(lengths: Mapping[int, int]) -> list[int]:
    """Return the indexes of the first text and of the texts that are about as long as it. Only such
    texts are read together, because a shorter text in a batch costs as much as the longest.
    """
    first = next(iter(lengths.values()))
    alike = [place for place, length in lengths.items() if first / ALIKE <= length <= first * ALIKE]
    return alike[: max(1, AT_ONCE // first)]
