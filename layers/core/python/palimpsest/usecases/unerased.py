"""Sessions as they are since their users were erased: one that began in an earlier epoch of its user has expired."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.domain.scope import SessionScope
from palimpsest.ports.memories import Memories
from palimpsest.ports.sessions import Opened, Sessions

LONG_AGO = 0  # epoch seconds


class Unerased:
    """`Sessions` over others. So whoever opens an erased session finds what they find once it has expired: it is not
    there, an append begins it again, and that arms the removal of what was before.
    """

    def __init__(self, sessions: Sessions, memories: Memories) -> None:
        self._sessions = sessions
        self._memories = memories
        self.commit = sessions.commit
        self.messages = sessions.messages
        self.messages_at = sessions.messages_at
        self.compaction = sessions.compaction
        self.compactions = sessions.compactions
        self.listed = sessions.listed
        self.remove = sessions.remove
        self.reschedule = sessions.reschedule

    def open(self, scope: SessionScope, *, settings: bool = False, key: str | None = None) -> Opened:
        """As of `Sessions`, and the user's epoch after it: what was erased before the call is not in its answer."""
        opened = self._sessions.open(scope, settings=settings, key=key)
        head = opened.head
        if head is None or head.status == "deleted":
            return opened
        if head.epoch >= self._memories.user(scope.owner.user(head.user)).epoch:
            return opened
        return replace(opened, head=replace(head, expires_at=LONG_AGO))
