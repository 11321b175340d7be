"""Who has anything stored in the in-memory stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.sessions import InMemorySessions
from palimpsest.scope import SessionScope, UserScope

S = TypeVar("S", SessionScope, UserScope)


class InMemoryOwners:
    """`Owners` over what the two stores know."""

    def __init__(self, sessions: InMemorySessions, memories: InMemoryMemories) -> None:
        self._sessions = sessions
        self._memories = memories

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        with self._sessions.state.lock:
            partitions = self._sessions.state.partitions.items()
            found = [SessionScope(*names) for names, partition in partitions if partition.settings is not None]
        return _from(after, found)

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        with self._memories.state.lock:
            found = [UserScope(*names) for names, known in self._memories.known.items() if known.is_listed]
        return _from(after, found)


def _from(after: str | None, scopes: Iterable[S]) -> Iterator[tuple[S, str]]:
    for scope in sorted(scopes, key=lambda each: each.partition):
        if after is None or scope.partition > after:
            yield scope, scope.partition
