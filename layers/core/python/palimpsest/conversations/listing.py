"""List sessions: page by page, by their ids, and in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palimpsest import parallel
from palimpsest.clock import Clock
from palimpsest.conversations.history import PAGES_PER_LIST, live
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head, Session, Status
from palimpsest.errors import NotFound
from palimpsest.scope import Scope, UserScope

PAGE = 100


@dataclass(frozen=True, slots=True)
class Activity:
    """A user's sessions in numbers. `last` is the last write to one in epoch milliseconds, None without sessions."""

    active: int
    ended: int
    last: int | None


@dataclass(frozen=True, slots=True)
class ListSessions:
    sessions: Sessions
    clock: Clock

    def __call__(
        self,
        scope: Scope,
        *,
        user: str | None,
        agent: str | None,
        status: Status | None,
        since: str | None = None,
        until: str | None = None,
        where: Callable[[Session], bool] = lambda _: True,
        limit: int,
        after: str | None,
        newest_first: bool,
    ) -> tuple[tuple[Session, ...], str | None]:
        """A page of live sessions that pass `where`, and the cursor of the next page (None: this is the last one).

        A page may be short although more follow: the filters are applied after reading.
        """
        found: list[Session] = []
        for _ in range(PAGES_PER_LIST):
            page = self.sessions.listed(
                scope,
                user=user,
                since=since,
                until=until,
                limit=limit - len(found),
                after=after,
                newest_first=newest_first,
            )
            found += [
                session
                for session in self.opened(scope, page.sessions)
                if agent in (None, session.head.agent) and status in (None, session.head.status) and where(session)
            ]
            after = page.after
            if after is None or len(found) >= limit:
                break
        return tuple(found), after

    def opened(self, scope: Scope, ids: Sequence[str]) -> list[Session]:
        """Read the sessions with these ids, in this order; those that are deleted or expired are left out."""
        now = self.clock.now()

        def opened(session_id: str) -> Session | None:
            one = scope.session(session_id)
            try:
                return Session(session_id, *live(self.sessions.open(one, settings=True), now=now))
            except NotFound:
                return None  # the index follows the table a moment later

        return [session for session in parallel.each(opened, ids) if session is not None]

    def activity(self, scope: UserScope) -> Activity:
        """How many sessions the user has, and when one was last written to. Reads all of them. Raises `Unavailable`."""
        found: list[Head] = []
        after: str | None = None
        while True:
            page = self.sessions.listed(scope.owner, user=scope.user, limit=PAGE, after=after)
            found += [session.head for session in self.opened(scope.owner, page.sessions)]
            after = page.after
            if after is None:
                break
        active = sum(head.status == "active" for head in found)
        return Activity(active, len(found) - active, max((head.updated_at for head in found), default=None))
