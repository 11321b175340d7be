"""Stores of callers' vectors and of large objects, within one process. These stores fulfil the same
contracts as the table and the bucket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from palimpsest.errors import CommitLost
from palimpsest.scope import UserScope
from palimpsest.vectors.ports import Namespace, StoredVector

from palimpsest_local.stores.kinds import BLOBS
from palimpsest_local.stores.memories import LocalMemories, UserPart
from palimpsest_local.stores.state import State


class LocalVectors:
    """Implements `VectorStore` within one process. It shares users and lock with `memories`."""

    def __init__(self, memories: LocalMemories) -> None:
        self._memories = memories
        self._state = memories.state

    def namespaces(self, scope: UserScope) -> tuple[Namespace, ...]:
        with self._state.lock:
            stored = dict(self._of(scope).era.namespaces)
            return tuple(stored[name] for name in sorted(stored))

    def namespace(self, scope: UserScope, name: str) -> Namespace | None:
        with self._state.lock:
            return self._of(scope).era.namespaces.get(name)

    def vectors(self, scope: UserScope, namespace: Namespace) -> Iterator[StoredVector]:
        here = (namespace.name, namespace.generation)
        with self._state.lock:
            stored = dict(self._of(scope).era_of(namespace.epoch).vectors)
            taken = [stored[place] for place in sorted(stored) if place[:2] == here]
        return iter(taken)

    def existing(
        self, scope: UserScope, namespace: Namespace, ids: Sequence[str]
    ) -> frozenset[str]:
        return frozenset(vector.id for vector in self.vectors(scope, namespace) if vector.id in ids)

    def commit(
        self,
        scope: UserScope,
        namespace: Namespace,
        *,
        put: Sequence[StoredVector] = (),
        removed: Sequence[str] = (),
    ) -> None:
        with self._state.write("commit vectors"):
            known = self._of(scope)
            era = known.era
            before = era.namespaces.get(namespace.name)
            if (
                known.user.epoch != namespace.epoch
                or (before.version if before else 0) != namespace.version
            ):
                raise CommitLost("Another writer changed this first; nothing was written.")
            self._state.users[scope.tenant, scope.user] = True
            era.namespaces[namespace.name] = replace(namespace, version=namespace.version + 1)
            here = (namespace.name, namespace.generation)
            for vector in put:
                metadata = json.loads(json.dumps(vector.metadata))
                era.vectors[(*here, vector.id)] = replace(vector, metadata=metadata)
            for vector_id in removed:
                era.vectors.pop((*here, vector_id), None)

    def clear(self, scope: UserScope, namespace: Namespace) -> None:
        with self._state.write("clear vectors"):
            vectors = self._of(scope).era.vectors
            for place in [
                key
                for key in vectors
                if key[0] == namespace.name and key[1] != namespace.generation
            ]:
                del vectors[place]

    def _of(self, scope: UserScope) -> UserPart:
        return self._memories.part_of(scope)


class LocalBlobs:
    """Implements `Blobs` with a dictionary. Safe for many threads. A test can let it crash before
    or after each write.
    """

    def __init__(self, state: State | None = None) -> None:
        self._state = state or State()

    def put(self, key: str, data: bytes) -> None:
        with self._state.write("put blob"):
            self._state.shelves.shelf(BLOBS)[key] = data

    def get(self, key: str) -> bytes | None:
        with self._state.lock:
            return self._state.shelves.shelf(BLOBS).get(key)

    def keys(self, prefix: str, *, first: str = "") -> Iterator[str]:
        with self._state.lock:
            names = sorted(
                key
                for key in self._state.shelves.shelf(BLOBS)
                if key.startswith(prefix) and key > prefix + first
            )
        yield from names

    def remove(self, keys: Sequence[str]) -> None:
        with self._state.write("remove blobs"):
            for key in keys:
                self._state.shelves.shelf(BLOBS).pop(key, None)

    def link(self, key: str, *, seconds: int) -> str:
        return f"memory:{quote(key)}?seconds={seconds}"
