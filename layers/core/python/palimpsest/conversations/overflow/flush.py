"""The flush of a window. Its old turns leave once every storing block has stored them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from palimpsest.clock import Clock, stamp
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.lifecycle import evicted
from palimpsest.conversations.overflow.arm import OverflowJobs
from palimpsest.conversations.payloads import FlushPayload
from palimpsest.conversations.ports import Sessions, Store
from palimpsest.conversations.session import Commit, Compaction
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.retry import until_committed
from palimpsest.scope import Scope

PARKED = "parked"


@dataclass(frozen=True, slots=True)
class FlushWindow:
    """Does a flush job. It waits until every block has stored the old turns, then moves the window
    past them.

    Each call marks the blocks that have stored the turns by then. It is called for the job itself,
    and by `advance_after` after each step of another job that the flush may wait for.
    """

    sessions: Sessions
    jobs: Jobs
    stores: Mapping[BlockType, Store]
    clock: Clock

    @property
    def _overflows(self) -> OverflowJobs:
        return OverflowJobs(self.sessions, self.jobs, self.clock)

    def __call__(self, notice: JobNotice) -> None:
        """Do the part of the job that is possible now. Safe to repeat. Raises `Unavailable`."""
        taken = self._overflows.take_up(notice)
        if taken is not None:
            self._advance(taken[0])

    def advance_after(self, notice: JobNotice) -> None:
        """Continue the session's pending flush. The notice names another job of this session, which
        has just done a step. Raises `Unavailable`.
        """
        other = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if other is None or not other.session:
            return
        scope = Scope(other.tenant).session(other.session)
        head = self.sessions.open(scope).head
        job = self.jobs.get(scope.owner, head.job) if head is not None and head.job else None
        if job is not None and job.kind == "flush" and not job.has_ended:
            self._advance(job)

    def _advance(self, job: Job) -> None:
        """Mark each block that has stored the turns, and commit once all have. If one block's store
        does not answer, the others are still marked, and `Unavailable` is raised.
        """
        unavailable: Unavailable | None = None
        for part in sorted(job.lacking):
            try:
                state = self.stores[part](job)  # type: ignore[index] # parts are named by their blocks
            except Unavailable as error:
                unavailable = error
                continue
            if state == "stored":
                self.jobs.mark(job, part)
            elif state == "failed":
                self._overflows.give_up(JobNotice(job.tenant, job.id, job.kind), error=PARKED)
                return
        if unavailable is not None:
            raise unavailable
        marked = self.jobs.get(Scope(job.tenant), job.id)
        if marked is None or marked.has_ended or marked.lacking:
            return
        if until_committed(lambda: self._commit(marked), clock=self.clock):
            self._overflows.arm(job)

    def _commit(self, job: Job) -> bool:
        """Move the window past the stored messages if the session still waits for this job. Returns
        whether it did. Raises `CommitLost`, also if a block has not stored the messages.
        """
        scope = Scope(job.tenant).session(job.session)
        head = self.sessions.open(scope).head
        if head is None or head.job != job.id:
            self._overflows.discard(job)
            return False
        leaving = job.payload_as(FlushPayload)
        after = evicted(head, through=job.last, tokens=leaving.tokens, messages=leaving.messages)
        compaction = Compaction(
            first=head.window_start,
            last=job.last,
            method="flush",
            created_at=stamp(self.clock.now()),
            tokens_before=head.tokens,
            tokens_after=after.tokens,
            summary_tokens=head.summary_tokens,
            previous=head.summary,
            newest=head.seq,
        )
        result = {"first": compaction.first, "last": compaction.last, "messages": leaving.messages}
        done = replace(job, state="done", due_at=None, result=result)
        after = replace(after, version=head.version + 1)
        self.sessions.commit(
            scope, Commit(head, after, guard="window", compaction=compaction, finished=done)
        )
        return True


def then_flush(step: Callable[..., None], flush: FlushWindow) -> Callable[..., None]:
    """Return a function that does the step and then continues a flush that may wait for it. Safe to
    repeat.
    """

    def step_and_flush(notice: JobNotice, **more: str) -> None:
        step(notice, **more)
        flush.advance_after(notice)

    return step_and_flush
