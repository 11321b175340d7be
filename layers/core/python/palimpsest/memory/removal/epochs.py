"""Hides the sessions of erased users. A session that began in an earlier epoch of its user is read
as expired.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from cachetools import LRUCache

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import Listed, Opened, PartsOfSessions, Sessions
from palimpsest.conversations.session import Commit, Compaction, Head, Settings
from palimpsest.scope import Scope, SessionScope, UserScope

LONG_AGO = 0  # epoch seconds
REMEMBERED = 10_000  # sessions whose user a process remembers


class EpochGuard:
    """`Sessions` over another store of sessions. Only `open` and `parts` do more than the
    store does.

    A session of an erased user looks as if it had expired. Callers do not find it, and the next
    append creates it anew and starts the removal of the old data.

    The user's epoch is read together with the session, so the user must be known first. Either the
    caller names the user, or this guard remembers the user of the last read. If the session turns
    out to belong to another user, that user's epoch is read too. Safe for many threads.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._users: LRUCache[SessionScope, str] = LRUCache(REMEMBERED)
        self._lock = threading.Lock()

    def open(
        self,
        scope: SessionScope,
        *,
        settings: bool = False,
        key: str | None = None,
        user: str | None = None,
    ) -> Opened:
        """Open the session as in `Sessions`, but return a session from an earlier epoch of its user
        as expired. If the scope names another user than the session's, return nothing.
        """
        named = user or scope.user or self._user_of(scope)
        opened = self._sessions.open(scope, settings=settings, key=key, user=named)
        head = opened.head
        if head is not None and scope.user not in (None, head.user):
            return Opened(None)
        if head is None or head.status == "deleted":
            return opened
        self._remember(scope, head.user)
        if head.user == named:
            return replace(opened, head=_shown(head, epoch=opened.epoch))
        epoch = self._sessions.epoch(scope.owner.user(head.user))
        return replace(opened, head=_shown(head, epoch=epoch), user_version=None)

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
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        page: int | None = None,
    ) -> Iterator[Message]:
        return self._sessions.messages(
            scope, first=first, last=last, newest_first=newest_first, page=page
        )

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        return self._sessions.messages_at(scope, seqs)

    def parts(self, scope: UserScope, seqs: Mapping[str, Collection[int]]) -> PartsOfSessions:
        read = self._sessions.parts(scope, seqs)
        shown = {
            name: replace(part, head=_shown(part.head, epoch=read.epoch))
            for name, part in read.sessions.items()
            if part.head is not None and part.head.user == scope.user
        }
        return replace(read, sessions={**read.sessions, **shown})

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        return self._sessions.compaction(scope, last)

    def compactions(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> tuple[Compaction, ...]:
        return self._sessions.compactions(
            scope, first=first, last=last, newest_first=newest_first, limit=limit
        )

    def listed(
        self,
        scope: Scope,
        *,
        user: str | None,
        since: str | None = None,
        until: str | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> Listed:
        within: dict[str, str | None] = {"since": since, "until": until}
        return self._sessions.listed(
            scope, user=user, **within, limit=limit, after=after, newest_first=newest_first
        )

    def count(self, scope: Scope, *, most: int) -> int:
        return self._sessions.count(scope, most=most)

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        return self._sessions.remove(scope, first=first, last=last, whole=whole)

    def reschedule(self, scope: SessionScope, settings: Settings, *, due_at: int | None) -> None:
        self._sessions.reschedule(scope, settings, due_at=due_at)


def _shown(head: Head, *, epoch: int) -> Head:
    """Return the head, which has expired if the session began in an earlier epoch of its user."""
    return head if head.epoch >= epoch else replace(head, expires_at=LONG_AGO)
