"""How many sessions a tenant may have at a time, if it has set a limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from cachetools import LRUCache

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import LimitReached
from palimpsest.scope import Scope

KNOWN_SECONDS = 60
MOST_KNOWN = 1_000  # tenants whose sessions a process has counted
NEAR = 0.9
"""From this share of the limit on, sessions are counted for each one that begins; below it once a minute."""


@dataclass(frozen=True, slots=True)
class SessionLimit:
    """Sessions that begin at the same moment may pass the limit by their number: the list follows the table."""

    sessions: Sessions
    clock: Clock
    _known: LRUCache[Scope, tuple[int, int]] = field(default_factory=lambda: LRUCache(MOST_KNOWN))

    def check(self, scope: Scope, *, most: int | None) -> None:
        """Raise `LimitReached` (`session_limit`) if no session may begin. A deleted one counts until it is removed."""
        if most is None:
            return
        now = seconds(self.clock.now())
        count, counted_at = self._known.get(scope, (most, 0))
        if count >= NEAR * most or now - counted_at >= KNOWN_SECONDS:
            count, counted_at = self.sessions.count(scope, most=most), now
        if count >= most:
            detail = f"The tenant may have {most} sessions: delete some, or wait until they expire."
            raise LimitReached(detail, code="session_limit", limit="sessions", most=most)
        self._known[scope] = (count + 1, counted_at)
