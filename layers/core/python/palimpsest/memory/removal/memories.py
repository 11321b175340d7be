"""Deletes memories by a filter, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest import tracing
from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, on_user
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import PageDone, UserSteps
from palimpsest.memory.burials import States, burials_of, states_nothing
from palimpsest.memory.endings import Superseded, together
from palimpsest.memory.filters import MemoryFilter, StoredFilter
from palimpsest.memory.ports import Expiries, Memories, Pointer
from palimpsest.memory.record import Record
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.drawn import ForgetDrawn
from palimpsest.memory.removal.payloads import ForgetPayload
from palimpsest.memory.removal.sources import Hidden, HidesSources, hides_nothing
from palimpsest.memory.removal.transactions import (
    Removal,
    RemovesExports,
    bury,
    counted,
    no_exports,
    transactions,
)
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, UserScope

PAGE = 25


@dataclass(frozen=True, slots=True)
class Forget:
    memories: Memories
    jobs: Jobs
    clock: Clock

    def __call__(self, scope: UserScope, where: MemoryFilter, *, key: str | None = None) -> str:
        """Start to remove the memories that match now, and return the job's id. Memories that are
        stored later stay. A repeated call with the same `key` starts no other job. Raises
        `Unavailable`.
        """
        now = self.clock.now()
        at = milliseconds(now)
        latest = at if where.created_before is None else min(at, where.created_before)
        stored = StoredFilter.of(scope, replace(where.with_graph(), created_before=latest))
        epoch = self.memories.user(scope).epoch
        payload = stored.payload()
        job = on_user(
            scope,
            kind="forget",
            epoch=epoch,
            key=key or f"{at} {payload}",
            payload=payload,
            now=seconds(now),
        )
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id


@dataclass(frozen=True, slots=True)
class ForgetPages:
    """Does the job that forgets memories. Relationships that were drawn from a forgotten memory
    end.
    """

    memories: Memories
    expiries: Expiries
    steps: UserSteps
    clock: Clock
    remember: Remember
    exports: RemovesExports = no_exports
    hides: HidesSources = hides_nothing
    states: States = states_nothing

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. The last step removes the exports that may hold the forgotten
        memories. Safe to repeat. Raises `Unavailable`.
        """
        self.steps.forget(notice, self._page, at_end=self._without_exports)

    def _without_exports(self, job: Job) -> Mapping[str, int]:
        return counted(self.exports(Scope(job.tenant).user(job.user or "")))

    def _page(self, job: Job, after: str | None) -> PageDone | None:
        scope = Scope(job.tenant).user(job.user or "")
        if self.memories.user(scope).epoch != job.epoch:
            return None
        stored = StoredFilter.of_payload(scope, job.payload_as(ForgetPayload))
        # consistent, which lists by creation are not
        page = self.expiries.records(scope, limit=PAGE, after=after)
        matching = [record.id for record in page.records if stored.matches(record)]
        with tracing.memory("delete_memory", tenant=job.tenant) as span:
            tracing.counted(span, len(matching))
            forgotten, hidden = self._forget(scope, job, matching)
        return PageDone(forgotten, page.after, len(hidden.messages))

    def _forget(self, scope: UserScope, job: Job, ids: Sequence[str]) -> tuple[int, Hidden]:
        """Remove the memories that are still current. Return how many there were, and which words
        were hidden.
        """
        if not ids:
            return 0, Hidden()
        removed = until_committed(lambda: self._attempt(scope, job, ids), clock=self.clock)
        if removed is not None:
            return removed
        half = len(ids) // 2
        first, second = self._forget(scope, job, ids[:half]), self._forget(scope, job, ids[half:])
        return first[0] + second[0], first[1] + second[1]

    def _attempt(self, scope: UserScope, job: Job, ids: Sequence[str]) -> tuple[int, Hidden] | None:
        """Remove the memories in one transaction. Return how many there were, and which words were
        hidden. Return None if they do not fit into one transaction. A single topic may take several
        transactions.
        """
        if self.memories.user(scope).epoch != job.epoch:
            return 0, Hidden()
        records = self.memories.records(scope, ids)
        topics = [record.topic_key for record in records if record.topic_key is not None]
        pointers = self.memories.pointers(scope, topics) if topics else {}
        current = [
            record
            for record in records
            if self._is_current(record, pointers.get(record.topic_key or ""))
        ]
        if not current:
            return 0, Hidden()
        removals = [
            Removal(self._said(scope, record), pointers.get(record.topic_key or ""))
            for record in current
        ]
        statements = [statement for removal in removals for statement in removal.statements]
        buried = burials_of(
            scope, statements, at=milliseconds(self.clock.now()), states=self.states
        )
        commits = list(transactions(removals, epoch=job.epoch, room=self.memories.room))
        if len(commits) > 1 and len(ids) > 1:
            return None
        now = milliseconds(self.clock.now())
        drawn = [_without(record, topics) for record in current]
        ends = self.remember.ending(scope, [Superseded(record, now) for record in drawn])
        bury(self.memories, scope, buried, epoch=job.epoch)
        hidden = self.hides(scope, statements, buried)
        ForgetDrawn(self.memories)(scope, statements, epoch=job.epoch)
        for commit in together(iter(commits), ends, self.memories.room):
            self.memories.commit(scope, commit)
        return len(current), hidden

    def _is_current(self, record: Record, pointer: Pointer | None) -> bool:
        is_alive = record.expires_at is None or record.expires_at > seconds(self.clock.now())
        return is_alive and (
            record.topic_key is None or (pointer is not None and pointer.record == record.id)
        )

    def _said(self, scope: UserScope, record: Record) -> Sequence[Record]:
        """Return all statements of the record's topic, or the record alone if it has no topic."""
        return (
            self.memories.versions(scope, record.topic_key)
            if record.topic_key is not None
            else (record,)
        )


def _without(record: Record, topics: Sequence[str]) -> Record:
    """Return the record without relationships that are removed by the same call."""
    return replace(record, draws=tuple(topic for topic in record.draws if topic not in topics))
