"""Sessions of erased users are gone: one that began in an earlier epoch of its user opens as one that has expired."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachetools import LRUCache

from palimpsest.conversations.messages import Message
from palimpsest.conversations.ports import Listed, Opened, Sessions
from palimpsest.conversations.session import Commit, Compaction, Head
from palimpsest.scope import Scope, SessionScope, UserScope

LONG_AGO = 0  # epoch seconds
REMEMBERED = 10_000  # sessions of which a process remembers whose they are


class EpochGuard:
    """`Sessions` over another store of them. Only `open` does more than the store does.

    Whoever opens a session of an erased user finds what they would find after its expiry: it is not there, and the next
    append begins it again, which starts the removal of what was before.

    The user's epoch is read together with the session. That needs the user's name before the session is read: the
    caller gives it, or it is remembered from the last time. If it turns out to be another one, the epoch is read once
    more. Safe to use from many threads.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._users: LRUCache[SessionScope, str] = LRUCache(REMEMBERED)
        self._lock = threading.Lock()

    def open(
        self, scope: SessionScope, *, settings: bool = False, key: str | None = None, user: str | None = None
    ) -> Opened:
        """As in `Sessions`. What was erased before the call is not in its answer."""
        named = user or self._user_of(scope)
        opened = self._sessions.open(scope, settings=settings, key=key, user=named)
        head = opened.head
        if head is None or head.status == "deleted":
            return opened
        self._remember(scope, head.user)
        epoch = opened.epoch if head.user == named else self._sessions.epoch(scope.owner.user(head.user))
        return opened if head.epoch >= epoch else replace(opened, head=_expired(head))

    def _user_of(self, scope: SessionScope) -> str | None:
        with self._lock:
            return self._users.get(scope)

    def _remember(self, scope: SessionScope, user: str) -> None:
        with self._lock:
            self._users[scope] = user

    def epoch(self, scope: UserScope) -> int:
        return self._sessions.epoch(scope)

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        self._sessions.commit(scope, commit)

    def messages(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, page: int | None = None
    ) -> Iterator[Message]:
        return self._sessions.messages(scope, first=first, last=last, newest_first=newest_first, page=page)

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        return self._sessions.messages_at(scope, seqs)

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        return self._sessions.compaction(scope, last)

    def compactions(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, limit: int | None = None
    ) -> tuple[Compaction, ...]:
        return self._sessions.compactions(scope, first=first, last=last, newest_first=newest_first, limit=limit)

    def listed(
        self, scope: Scope, *, user: str | None, limit: int, after: str | None = None, newest_first: bool = True
    ) -> Listed:
        return self._sessions.listed(scope, user=user, limit=limit, after=after, newest_first=newest_first)

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        return self._sessions.remove(scope, first=first, last=last, whole=whole)

    def reschedule(self, scope: SessionScope, *, base: int, due_at: int | None) -> None:
        self._sessions.reschedule(scope, base=base, due_at=due_at)


def _expired(head: Head) -> Head:
    return replace(head, expires_at=LONG_AGO)
