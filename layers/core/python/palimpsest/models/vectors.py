"""Vectors: checks, packing, and the nearest of many."""

from __future__ import annotations

import base64
import importlib
import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any

from palimpsest.models.ports import Space, Vector

MOST_NUMBERS = 400_000
"""The most numbers of one product. OpenBLAS computes a product of this size on one thread. On a
busy machine, several threads would wait for each other, twenty times as long as the product takes.
"""


def unit(vector: Vector) -> list[float]:
    """Return the vector scaled to length 1. Raises `ValueError` if it has no direction, because its
    numbers are all zero or not finite.
    """
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise ValueError("A vector must be finite and not zero.")
    return [value / length for value in vector]


def packed(vector: Vector) -> str:
    """Return the vector as text, with its numbers in single precision."""
    return base64.b64encode(array("f", vector).tobytes()).decode()


def unpacked(text: str) -> Vector:
    values = array("f")
    values.frombytes(base64.b64decode(text))
    return values.tolist()


def check_vector(vector: Vector, space: Space | None) -> None:
    """Raise `ValueError` if the vector does not belong to the space. For an index without vectors,
    `space` is None.
    """
    if space is None:
        raise ValueError("This index holds no vectors.")
    if len(vector) != space.dimension:
        raise ValueError(f"A vector of {space.dimension} numbers is needed, not of {len(vector)}.")
    unit(vector)


class Matrix:
    """Vectors of length 1, stored one after another in `numbers`, in single precision. Without
    numpy, it is some hundred times slower.
    """

    def __init__(self, numbers: bytes, *, dimension: int) -> None:
        numpy = self._numpy = _numpy()
        self._numbers: Any = (
            numpy.frombuffer(numbers, numpy.float32) if numpy else array("f", numbers)
        )
        self._dimension = dimension

    def nearest(
        self, query: Sequence[float], *, among: Sequence[int] | None, k: int
    ) -> Iterable[tuple[float, int]]:
        """Return the cosine and index of at least the k nearest vectors. The result also includes
        all vectors that are as near as the last of these.
        """
        numpy, dimension = self._numpy, self._dimension
        if numpy is None:
            places = range(len(self._numbers) // dimension) if among is None else among
            return (
                (sum(map(mul, self._numbers[at * dimension : (at + 1) * dimension], query)), at)
                for at in places
            )
        rows, step = self._numbers.reshape(-1, dimension), MOST_NUMBERS // dimension
        wanted, scores = numpy.asarray(query, numpy.float32), numpy.empty(len(rows), numpy.float32)
        for at in range(0, len(rows), step):
            numpy.dot(rows[at : at + step], wanted, out=scores[at : at + step])
        places = numpy.arange(len(scores)) if among is None else numpy.asarray(among, numpy.intp)
        scores = scores[places]
        if len(places) > k:
            near = scores >= numpy.partition(scores, -k)[-k]
            scores, places = scores[near], places[near]
        return zip(scores.tolist(), places.tolist(), strict=True)


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
