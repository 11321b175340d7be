"""Which users have something remembered that may have expired, and how far their records were looked through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from palimpsest.domain.expiry import Walk
from palimpsest.domain.scope import UserScope
from palimpsest.ports.memories import Page


class Expiries(Protocol):
    """Beside `Memories`, over the same store: whatever is committed there with an expiry is noted in the user's walk,
    in the same transaction. Reads are strongly consistent, except `due`. Every call raises `Unavailable` if the store
    can't answer.
    """

    def due(self, *, now: int, limit: int) -> Iterator[UserScope]:
        """Users whose walk has come due at `now`, up to `limit` of each shard, oldest first; eventually consistent."""

    def walk(self, scope: UserScope) -> Walk | None:
        """None for a user of whom nothing can expire: also right after an erasure."""

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        """Raises `CommitLost` unless the walk is still as it was `before`, and in the user's epoch."""

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> Page:
        """Records by id, current or not, expired or not. A page may be short although there are more."""
