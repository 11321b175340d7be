"""Sessions as they are since their users were erased: one that began in an earlier epoch of its user has expired."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from palimpsest.conversations.ports import Opened, Sessions
from palimpsest.memory.ports import Memories
from palimpsest.scope import SessionScope

LONG_AGO = 0  # epoch seconds


def unerased(sessions: Sessions, memories: Memories) -> Sessions:
    """The sessions. Whoever opens an erased one finds what they find once it has expired: it is not there, an append
    begins it again, and that arms the removal of what was before.
    """
    return cast("Sessions", _Unerased(sessions, memories))


class _Unerased:
    """`Sessions` over others, which do everything but `open`."""

    def __init__(self, sessions: Sessions, memories: Memories) -> None:
        self._sessions = sessions
        self._memories = memories

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)

    def open(self, scope: SessionScope, *, settings: bool = False, key: str | None = None) -> Opened:
        """As of `Sessions`, and the user's epoch after it: what was erased before the call is not in its answer."""
        opened = self._sessions.open(scope, settings=settings, key=key)
        head = opened.head
        if head is None or head.status == "deleted":
            return opened
        if head.epoch >= self._memories.user(scope.owner.user(head.user)).epoch:
            return opened
        return replace(opened, head=replace(head, expires_at=LONG_AGO))
