"""Forget what matches a filter, page by page, by a job: memories, each with all its versions, or whole sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.history import live
from palimpsest.conversations.listing import ListSessions
from palimpsest.conversations.manage import tombstone_session
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Head, Status
from palimpsest.errors import CommitLost, NotFound
from palimpsest.jobs import Job, on_tenant, on_user
from palimpsest.jobs.kinds import ForgetPayload, ForgetSessionsPayload
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory import Record
from palimpsest.memory.endings import Superseded, together
from palimpsest.memory.filters import Filter, StoredFilter
from palimpsest.memory.ports import Expiries, Memories, Pointer
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal import Removal, RemovesExports, counted, no_exports, transactions
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope, UserScope

PAGE = 25


@dataclass(frozen=True, slots=True)
class Forget:
    memories: Memories
    jobs: Jobs
    clock: Clock

    def __call__(self, scope: UserScope, where: Filter, *, key: str | None = None) -> str:
        """Start to remove the memories that match now; return the job's id. Later memories stay. A call with the same
        `key` starts nothing more. Raises `Unavailable`.
        """
        now = self.clock.now()
        at = milliseconds(now)
        latest = at if where.created_before is None else min(at, where.created_before)
        stored = StoredFilter.of(scope, replace(where.with_graph(), created_before=latest))
        epoch = self.memories.user(scope).epoch
        payload = stored.payload()
        job = on_user(
            scope, kind="forget", epoch=epoch, key=key or f"{at} {payload}", payload=payload, now=seconds(now)
        )
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id


@dataclass(frozen=True, slots=True)
class ForgetPages:
    """Relationships that were drawn from what is forgotten end with it."""

    memories: Memories
    expiries: Expiries
    steps: UserSteps
    clock: Clock
    remember: Remember
    exports: RemovesExports = no_exports

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. The last one removes the exports that may hold what is forgotten. Safe to repeat.
        Raises `Unavailable`.
        """
        self.steps.forget(notice, self._page, at_end=self._without_exports)

    def _without_exports(self, job: Job) -> Mapping[str, int]:
        return counted(self.exports(Scope(job.tenant).user(job.user or "")))

    def _page(self, job: Job, after: str | None) -> tuple[int, str | None] | None:
        scope = Scope(job.tenant).user(job.user or "")
        if self.memories.user(scope).epoch != job.epoch:
            return None
        stored = StoredFilter.of_payload(scope, job.payload_as(ForgetPayload))
        page = self.expiries.records(scope, limit=PAGE, after=after)  # consistent, which lists by creation are not
        matching = [record.id for record in page.records if stored.matches(record)]
        return self._forget(scope, job, matching), page.after

    def _forget(self, scope: UserScope, job: Job, ids: Sequence[str]) -> int:
        """Remove those of the memories that are still current; return how many."""
        if not ids:
            return 0
        found = until_committed(lambda: self._attempt(scope, job, ids), clock=self.clock)
        if found is not None:
            return found
        half = len(ids) // 2
        return self._forget(scope, job, ids[:half]) + self._forget(scope, job, ids[half:])

    def _attempt(self, scope: UserScope, job: Job, ids: Sequence[str]) -> int | None:
        """Remove them in one transaction and return how many; None if they do not fit one. A single topic may take
        several.
        """
        if self.memories.user(scope).epoch != job.epoch:
            return 0
        records = self.memories.records(scope, ids)
        topics = [record.topic_key for record in records if record.topic_key is not None]
        pointers = self.memories.pointers(scope, topics) if topics else {}
        current = [record for record in records if self._is_current(record, pointers.get(record.topic_key or ""))]
        if not current:
            return 0
        removals = [Removal(self._said(scope, one), pointers.get(one.topic_key or "")) for one in current]
        commits = list(transactions(removals, epoch=job.epoch, room=self.memories.room))
        if len(commits) > 1 and len(ids) > 1:
            return None
        now = milliseconds(self.clock.now())
        drawn = [_without(record, topics) for record in current]
        ends = self.remember.ending(scope, [Superseded(record, now) for record in drawn])
        for commit in together(iter(commits), ends, self.memories.room):
            self.memories.commit(scope, commit)
        return len(current)

    def _is_current(self, record: Record, pointer: Pointer | None) -> bool:
        is_alive = record.expires_at is None or record.expires_at > seconds(self.clock.now())
        return is_alive and (record.topic_key is None or (pointer is not None and pointer.record == record.id))

    def _said(self, scope: UserScope, record: Record) -> Sequence[Record]:
        """All statements of the record's topic; the record alone if it has no topic."""
        return self.memories.versions(scope, record.topic_key) if record.topic_key is not None else (record,)


def _without(record: Record, topics: Sequence[str]) -> Record:
    """The record without what was drawn from it and goes itself."""
    return replace(record, draws=tuple(topic for topic in record.draws if topic not in topics))


@dataclass(frozen=True, slots=True)
class WhichSessions:
    """Which sessions to delete; None sets no limit. `idle_since`: those without activity since then (epoch
    milliseconds).
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
        """The ids of all sessions that would be deleted now."""
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
        self, scope: Scope, which: WhichSessions, *, keep_memories: bool = False, key: str | None = None
    ) -> str:
        """Start to delete the matching sessions that exist now; return the job's id. A call with the same `key` starts
        nothing more. Raises `Unavailable`.
        """
        now = self.clock.now()
        wanted = ForgetSessionsPayload(**asdict(which), keep_memories=keep_memories, before=milliseconds(now))
        job = on_tenant(scope, kind="forget_sessions", user=which.user, key=key, payload=wanted, now=seconds(now))
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id


@dataclass(frozen=True, slots=True)
class ForgetSessionPages:
    """Does the job that deletes matching sessions: it starts a deletion job for each, and counts them."""

    sessions: Sessions
    steps: UserSteps
    clock: Clock

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat: the count may then be lower. Raises `Unavailable`.

        The job is done once the deletions are: nothing of the sessions, and no memory that goes with them, is left.
        """
        self.steps.forget(notice, self._page, is_over=self._are_deleted)

    def _are_deleted(self, job: Job) -> bool:
        """Whether no matching session that this job lists is still being deleted; the last thing to go is its entry in
        the list.
        """
        scope, wanted, after = Scope(job.tenant), job.payload_as(ForgetSessionsPayload), None
        while True:
            page = self.sessions.listed(scope, user=wanted.user, limit=PAGE, after=after, newest_first=False)
            heads = (self.sessions.open(scope.session(name)).head for name in page.sessions)
            if any(head is not None and head.status == "deleted" for head in heads):
                return False
            after = page.after
            if after is None:
                return True

    def _page(self, job: Job, after: str | None) -> tuple[int, str | None]:
        scope, wanted = Scope(job.tenant), job.payload_as(ForgetSessionsPayload)
        page = self.sessions.listed(scope, user=wanted.user, limit=PAGE, after=after, newest_first=False)
        return sum(self._forget(scope.session(name), wanted) for name in page.sessions), page.after

    def _forget(self, scope: SessionScope, wanted: ForgetSessionsPayload) -> bool:
        return until_committed(lambda: self._attempt(scope, wanted), clock=self.clock)

    def _attempt(self, scope: SessionScope, wanted: ForgetSessionsPayload) -> bool:
        """Start to delete the session if it matches and existed when the job was created; whether it did."""
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
