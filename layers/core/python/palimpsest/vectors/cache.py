"""The cache of vectors in this process, which saves a search from reading them again."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence

from cachetools import LRUCache

from palimpsest.models.vectors import unit
from palimpsest.scope import UserScope
from palimpsest.vectors.ports import Namespace, StoredVector, VectorStore

MAX_CACHED = 8_000_000  # numbers in a process: 32 MB

Directions = Sequence[tuple[StoredVector, Sequence[float]]]


class VectorCache:
    """The vectors of the namespaces that were searched last. Each namespace is cached at one
    version. Safe to use from many threads.
    """

    def __init__(self) -> None:
        self._cache: LRUCache[tuple[UserScope, str], tuple[Namespace, Directions]] = LRUCache(
            MAX_CACHED, getsizeof=lambda cached: 1 + cached[0].count * cached[0].dimension
        )
        self._lock = threading.Lock()

    def of(self, store: VectorStore, scope: UserScope, namespace: Namespace) -> Directions:
        """Return each vector of the namespace with its direction, which is the vector scaled to
        length 1.
        """
        with self._lock:
            cached = self._cache.get((scope, namespace.name))
        if cached is not None and cached[0] == namespace:
            return cached[1]
        vectors = tuple(
            (vector, array("f", unit(vector.values))) for vector in store.vectors(scope, namespace)
        )
        with self._lock:
            if (namespace.count + 1) * namespace.dimension < MAX_CACHED:
                self._cache[scope, namespace.name] = (namespace, vectors)
        return vectors
