"""Deletes sessions by a filter, each by a job of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.history import live
from palimpsest.conversations.listing import ListSessions
from palimpsest.conversations.manage import tombstone_session
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head, Status
from palimpsest.errors import CommitLost, NotFound
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import PageDone, UserSteps
from palimpsest.memory.removal.memories import PAGE
from palimpsest.memory.removal.payloads import ForgetSessionsPayload
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope


@dataclass(frozen=True, slots=True)
class WhichSessions:
    """The filter for sessions to delete. None sets no condition. `idle_since` selects sessions
    without activity since then (epoch milliseconds).
    """

    user: str | None = None
    agent: str | None = None
    status: Status | None = None
    idle_since: int | None = None

    def matches(self, head: Head) -> bool:
        return (
            self.user in (None, head.user)
            and self.agent in (None, head.agent)
            and self.status in (None, head.status)
            and (self.idle_since is None or head.updated_at < self.idle_since)
        )


@dataclass(frozen=True, slots=True)
class ForgetSessions:
    listed: ListSessions
    jobs: Jobs
    clock: Clock

    def matching(self, scope: Scope, which: WhichSessions) -> tuple[str, ...]:
        """Return the ids of all sessions that would be deleted now."""
        return tuple(self._matching(scope, which))

    def _matching(self, scope: Scope, which: WhichSessions) -> Iterator[str]:
        after = None
        while True:
            page, after = self.listed(
                scope,
                user=which.user,
                agent=which.agent,
                status=which.status,
                where=lambda session: which.matches(session.head),
                limit=PAGE,
                after=after,
                newest_first=False,
            )
            yield from (session.id for session in page)
            if after is None:
                return

    def __call__(
        self,
        scope: Scope,
        which: WhichSessions,
        *,
        keep_memories: bool = False,
        key: str | None = None,
    ) -> str:
        """Start to delete the matching sessions that exist now, and return the job's id. A repeated
        call with the same `key` starts no other job. Raises `Unavailable`.
        """
        now = self.clock.now()
        wanted = ForgetSessionsPayload(
            **asdict(which), keep_memories=keep_memories, before=milliseconds(now)
        )
        job = on_tenant(
            scope,
            kind="forget_sessions",
            user=which.user,
            key=key,
            payload=wanted,
            now=seconds(now),
        )
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id


@dataclass(frozen=True, slots=True)
class ForgetSessionPages:
    """Does the job that deletes matching sessions. It starts a deletion job for each session, and
    counts the sessions.
    """

    sessions: Sessions
    steps: UserSteps
    clock: Clock

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat, but then the count may be lower. Raises
        `Unavailable`.

        The job is done once all deletions are done. Then the data of the sessions is removed, and
        so are the memories that are deleted with them.
        """
        self.steps.forget(notice, self._page, is_over=self._are_deleted)

    def _are_deleted(self, job: Job) -> bool:
        """Return whether all matching sessions that this job lists are deleted. The last part of a
        session that is deleted is its entry in the list.
        """
        scope, wanted, after = Scope(job.tenant), job.payload_as(ForgetSessionsPayload), None
        while True:
            page = self.sessions.listed(
                scope, user=wanted.user, limit=PAGE, after=after, newest_first=False
            )
            heads = (self.sessions.open(scope.session(name)).head for name in page.sessions)
            if any(head is not None and head.status == "deleted" for head in heads):
                return False
            after = page.after
            if after is None:
                return True

    def _page(self, job: Job, after: str | None) -> PageDone:
        scope, wanted = Scope(job.tenant), job.payload_as(ForgetSessionsPayload)
        page = self.sessions.listed(
            scope, user=wanted.user, limit=PAGE, after=after, newest_first=False
        )
        forgotten = sum(self._forget(scope.session(name), wanted) for name in page.sessions)
        return PageDone(forgotten, page.after)

    def _forget(self, scope: SessionScope, wanted: ForgetSessionsPayload) -> bool:
        return until_committed(lambda: self._attempt(scope, wanted), clock=self.clock)

    def _attempt(self, scope: SessionScope, wanted: ForgetSessionsPayload) -> bool:
        """Start to delete the session if it matches and existed when the job was created. Return
        whether it did.
        """
        now = self.clock.now()
        try:
            head, settings = live(self.sessions.open(scope, settings=True), now=now)
        except NotFound:
            return False
        had_begun = milliseconds(datetime.fromisoformat(settings.created_at)) <= wanted.before
        which = WhichSessions(wanted.user, wanted.agent, wanted.status, wanted.idle_since)
        if not (had_begun and which.matches(head)):
            return False
        tombstone_session(self.sessions, scope, head, now=now, forgets=not wanted.keep_memories)
        return True
