"""The use cases that list sessions and jobs page by page, also by filters that no index supports,
and that count and limit sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from cachetools import LRUCache

from palimpsest import parallel
from palimpsest.clock import Clock, seconds
from palimpsest.conversations.history import live
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head, LiveSession, Status
from palimpsest.errors import FieldError, LimitReached, NotFound, Unprocessable
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import Scope, UserScope

PAGE = 100
PAGES_PER_LIST = 5  # a filter that matches nothing must not read all sessions

Row = TypeVar("Row")


def filled(
    page: Callable[..., tuple[Sequence[Row], str | None]], *, limit: int, after: str | None
) -> tuple[tuple[Row, ...], str | None]:
    """Read up to five pages, until there are `limit` rows. Returns the rows and the cursor of the
    next page (None for the last page). `page` takes `limit` and `after`; it returns the rows that
    pass its filters, and the cursor.
    """
    filled_rows: list[Row] = []
    for _ in range(PAGES_PER_LIST):
        rows, after = page(limit=limit - len(filled_rows), after=after)
        filled_rows += rows
        if after is None or len(filled_rows) >= limit:
            break
    return tuple(filled_rows), after


@dataclass(frozen=True, slots=True)
class Activity:
    """The numbers of a user's active and ended sessions. `last` is the time of the last write to
    any of them, in epoch milliseconds; None without sessions.
    """

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
        where: Callable[[LiveSession], bool] = lambda _: True,
        limit: int,
        after: str | None,
        newest_first: bool,
    ) -> tuple[tuple[LiveSession, ...], str | None]:
        """Return a page of live sessions that pass `where`, and the cursor of the next page (None
        for the last page). A page may be short although more follow, because the filters are
        applied after reading.
        """

        def page(*, limit: int, after: str | None) -> tuple[list[LiveSession], str | None]:
            listed = self.sessions.listed(
                scope,
                user=user,
                since=since,
                until=until,
                limit=limit,
                after=after,
                newest_first=newest_first,
            )
            opened = self.opened(scope, listed.sessions)
            mine = [
                session
                for session in opened
                if agent in (None, session.head.agent) and status in (None, session.head.status)
            ]
            return list(filter(where, mine)), listed.after

        return filled(page, limit=limit, after=after)

    def opened(self, scope: Scope, ids: Sequence[str]) -> list[LiveSession]:
        """Read the sessions with these ids, in this order. Deleted and expired sessions are left
        out.
        """
        now = self.clock.now()

        def opened(session_id: str) -> LiveSession | None:
            session = scope.session(session_id)
            try:
                return LiveSession(
                    session_id, *live(self.sessions.open(session, settings=True), now=now)
                )
            except NotFound:
                return None  # the index is updated a moment after the table

        return [session for session in parallel.run_each(opened, ids) if session is not None]

    def activity(self, scope: UserScope) -> Activity:
        """Return the number of the user's sessions and the time of their last write. This reads all
        of them. Raises `Unavailable`.
        """
        heads: list[Head] = []
        after: str | None = None
        while True:
            page = self.sessions.listed(scope.owner, user=scope.user, limit=PAGE, after=after)
            heads += [session.head for session in self.opened(scope.owner, page.sessions)]
            after = page.after
            if after is None:
                break
        active = sum(head.status == "active" for head in heads)
        return Activity(
            active, len(heads) - active, max((head.updated_at for head in heads), default=None)
        )


@dataclass(frozen=True, slots=True)
class ListJobs:
    """Lists jobs. `shown` returns a job as callers see it. A failed job may be shown as done,
    because a later job may have done its work.
    """

    sessions: Sessions
    jobs: Jobs
    shown: Callable[[Job], Job]

    def __call__(
        self,
        scope: Scope,
        *,
        user: str | None = None,
        session: str | None = None,
        state: JobState | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> tuple[tuple[Job, ...], str | None]:
        """Return a page of jobs, ordered by creation, and the cursor of the next page (None for the
        last page). A page may be short although more follow, because the filters are applied after
        reading.

        With `session`, the jobs of its user are searched; that also works after the session was
        deleted. Without user and session, `state` must be "failed"; the failed jobs of the whole
        tenant are then listed. Raises `Unprocessable` for another state.
        """
        if session is not None:
            head = self.sessions.open(scope.session(session)).head
            if head is None or user not in (None, head.user):
                return (), None
            user = head.user
        if user is None and state != "failed":
            error = FieldError("user_id", "is required, unless session_id or state=failed is given")
            raise Unprocessable(
                "Name a user or a session, or ask for failed jobs.", errors=(error,)
            )
        read = (
            partial(self.jobs.failed, scope)
            if user is None
            else partial(self.jobs.listed, scope.user(user))
        )

        def page(*, limit: int, after: str | None) -> tuple[list[Job], str | None]:
            jobs, following = read(limit=limit, after=after, newest_first=newest_first)
            mine = [self.shown(job) for job in jobs if session in (None, job.session)]
            return [job for job in mine if state in (None, job.state)], following

        return filled(page, limit=limit, after=after)


KNOWN_SECONDS = 60  # counting reads the whole list of a tenant
MOST_KNOWN = 1_000  # tenants whose sessions a process has counted
NEAR = 0.9
"""The share of the limit above which sessions are counted for each new session. Below it, they are
counted once a minute.
"""


@dataclass(frozen=True, slots=True)
class SessionLimit:
    """The tenant's limit of sessions. Sessions that begin at the same moment may exceed it, because
    the list of sessions is updated a moment after the table.
    """

    sessions: Sessions
    clock: Clock
    _known: LRUCache[Scope, tuple[int, int]] = field(default_factory=lambda: LRUCache(MOST_KNOWN))

    def check(self, scope: Scope, *, most: int | None) -> None:
        """Raise `LimitReached` (`session_limit`) if the tenant may not begin another session. A
        deleted session counts until its data is removed.
        """
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
