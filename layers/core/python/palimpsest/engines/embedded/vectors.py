"""Vectors of a few owners in memory, read again when the owner's documents change, and their cosines with a query."""

from __future__ import annotations

import heapq
import importlib
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from cachetools import LRUCache

from palimpsest.engines.embedded.indexes import Shelf
from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.search.ports import Hit

MAX_OWNERS = 8


@dataclass(frozen=True, slots=True)
class _Row:
    document: int
    key: str


@dataclass(frozen=True, slots=True)
class _Loaded:
    changes: int
    rows: Sequence[_Row]
    matrix: Any


class VectorCache:
    """The vectors of the few owners that were asked last. It is safe to use from many threads."""

    def __init__(self, *, dimension: int) -> None:
        self._dimension = dimension
        self._cache: LRUCache[int, _Loaded] = LRUCache(MAX_OWNERS)
        self._lock = threading.Lock()

    def nearest(
        self, connection: sqlite3.Connection, shelf: Shelf, vector: Vector, *, among: frozenset[int] | None, k: int
    ) -> tuple[Hit, ...]:
        loaded = self._of(connection, shelf)
        cosines = _cosines(loaded.matrix, unit(vector), self._dimension)
        best = heapq.nsmallest(
            k,
            (
                (-cosine, row.key)
                for row, cosine in zip(loaded.rows, cosines, strict=True)
                if among is None or row.document in among
            ),
        )
        return tuple(Hit(key, max(-1.0, min(1.0, -score))) for score, key in best)

    def _of(self, connection: sqlite3.Connection, shelf: Shelf) -> _Loaded:
        with self._lock:
            loaded = self._cache.get(shelf.id)
        if loaded is None or loaded.changes != shelf.changes:
            loaded = _load(connection, shelf)
        with self._lock:
            self._cache[shelf.id] = loaded
        return loaded


def _load(connection: sqlite3.Connection, shelf: Shelf) -> _Loaded:
    found = connection.execute(
        "SELECT document, key, vector FROM vectors JOIN documents ON documents.id = document WHERE vectors.shelf = ?",
        (shelf.id,),
    ).fetchall()
    rows = [_Row(row["document"], row["key"]) for row in found]
    return _Loaded(shelf.changes, rows, _matrix(b"".join(row["vector"] for row in found)))


def _matrix(numbers: bytes) -> Any:
    numpy = _numpy()
    return numpy.frombuffer(numbers, numpy.float32) if numpy else array("f", numbers)


def _cosines(matrix: Any, query: list[float], dimension: int) -> Iterable[float]:
    if isinstance(matrix, array):
        return (sum(map(mul, matrix[at : at + dimension], query)) for at in range(0, len(matrix), dimension))
    numpy = _numpy()
    scores: list[float] = (matrix.reshape(-1, dimension) @ numpy.asarray(query, numpy.float32)).tolist()
    return scores


def _numpy() -> Any:
    """None where it is not installed: everything works without it, some hundred times slower."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
