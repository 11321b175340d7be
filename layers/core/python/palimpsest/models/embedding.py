"""What embedders and indexes share: checks of vectors, the nearest of many, and an embedder that repeats no text."""

from __future__ import annotations

import base64
import hashlib
import importlib
import math
import threading
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any

from cachetools import LRUCache

from palimpsest.models import Embedder, Space, Vector

MAX_VECTORS = 512
MOST_NUMBERS = 400_000
"""Of one product: OpenBLAS computes it on one thread. On a busy machine several wait for each other, twenty times as
long as the product takes.
"""


def unit(vector: Vector) -> list[float]:
    """The vector at length 1. Raises `ValueError` if it has no direction: all zero, or not finite."""
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise ValueError("A vector must be finite and not zero.")
    return [value / length for value in vector]


def packed(vector: Vector) -> str:
    """The vector as text, its numbers in single precision."""
    return base64.b64encode(array("f", vector).tobytes()).decode()


def unpacked(text: str) -> Vector:
    values = array("f")
    values.frombytes(base64.b64decode(text))
    return values.tolist()


def check(vector: Vector, space: Space | None) -> None:
    """Raise `ValueError` if the vector is not one of the space; `None` is the space of an index without vectors."""
    if space is None:
        raise ValueError("This index holds no vectors.")
    if len(vector) != space.dimension:
        raise ValueError(f"A vector of {space.dimension} numbers is needed, not of {len(vector)}.")
    unit(vector)


class Matrix:
    """Vectors of length 1, one after another as `numbers` in single precision; some hundred times slower where numpy is
    not installed.
    """

    def __init__(self, numbers: bytes, *, dimension: int) -> None:
        numpy = self._numpy = _numpy()
        self._numbers: Any = numpy.frombuffer(numbers, numpy.float32) if numpy else array("f", numbers)
        self._dimension = dimension

    def nearest(self, query: Sequence[float], *, among: Sequence[int] | None, k: int) -> Iterable[tuple[float, int]]:
        """The cosine and place of the k nearest at least: also of all that are as near as the last of them."""
        numpy, dimension = self._numpy, self._dimension
        if numpy is None:
            places = range(len(self._numbers) // dimension) if among is None else among
            return ((sum(map(mul, self._numbers[at * dimension : (at + 1) * dimension], query)), at) for at in places)
        rows, step = self._numbers.reshape(-1, dimension), MOST_NUMBERS // dimension
        wanted, scores = numpy.asarray(query, numpy.float32), numpy.empty(len(rows), numpy.float32)
        for at in range(0, len(rows), step):
            numpy.dot(rows[at : at + step], wanted, out=scores[at : at + step])
        found = numpy.arange(len(scores)) if among is None else numpy.asarray(among, numpy.intp)
        scores = scores[found]
        if len(found) > k:
            near = scores >= numpy.partition(scores, -k)[-k]
            scores, found = scores[near], found[near]
        return zip(scores.tolist(), found.tolist(), strict=True)


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


class CachingEmbedder:
    """Implements `Embedder` over another one: as long as the process lives, the same text is embedded once.

    `kept` is how many vectors are cached: those that were used last.

    The cache holds the SHA-256 of each text, never the text. It is safe to use from many threads.
    """

    def __init__(self, embedder: Embedder, *, kept: int = MAX_VECTORS) -> None:
        self._embedder = embedder
        self._cache: LRUCache[tuple[bool, bytes], Vector] = LRUCache(kept)
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        return self._embedder.space

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        keys = [(as_questions, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()) for text in texts]
        with self._lock:
            found = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors = self._embedder.embed(list(missing.values()), as_questions=as_questions)
            made = dict(zip(missing, vectors, strict=True))
            with self._lock:
                self._cache.update(made)
            found |= made
        return [found[key] for key in keys]
