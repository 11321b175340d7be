"""Keeps each tenant to its share of a queue. Only a few of its jobs are in the queue at a time, and
its other jobs wait in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from palimpsest.clock import EPOCH, Clock
from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.kinds import KINDS, Queue
from palimpsest.jobs.ports import Jobs, Queues, Shares, Waiting
from palimpsest.scope import Scope

OPERATORS: Queue = "reindex"
"""The operator's queue. No tenant has jobs in it."""
HEALED = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class FairQueues:
    """`Queues` in which a tenant has at most `most` jobs in one queue at a time. Its other jobs
    wait in the table. When a job is done, the oldest waiting job takes its place. A queue then
    holds few messages of each tenant, and a tenant's backlog delays nobody else.

    With `heals`, this also frees the places of jobs that ended but did not leave, because their
    worker was killed at that moment. The sweep sets `heals`, because it looks at every job that
    waits for long. It checks a tenant's places in one queue once in `HEALED`, not for each waiting
    job.
    """

    queues: Queues
    shares: Shares
    jobs: Jobs
    most: int
    clock: Clock
    heals: bool = False
    healed: dict[tuple[str, Queue], datetime] = field(default_factory=dict)

    def send(self, notices: Sequence[JobNotice]) -> None:
        for notice in notices:
            if self._may_be_sent(notice):
                self.queues.send([notice])

    def send_changes(self, changes: Sequence[Changed]) -> None:
        self.queues.send_changes(changes)

    def send_events(self, events: Sequence[Happened]) -> None:
        self.queues.send_events(events)

    def park(self, record: str) -> None:
        self.queues.park(record)

    def free_place(self, notice: JobNotice) -> None:
        """Free the job's place, and send as many of the oldest waiting jobs as there is room for.
        Call this when the job's message need not be delivered again. Safe to repeat. Raises
        `Unavailable`.
        """
        scope, queue = Scope(notice.tenant), KINDS[notice.kind].queue
        if queue == OPERATORS:
            return
        # First leave, then read who waits. A job that begins to wait looks for a place again
        # afterwards, so one of the two always sees the other (docs/adr/0059).
        self.shares.leave(scope, queue, notice.job_id)
        for waiting in self.shares.waiting(scope, queue):
            job = self.jobs.get(scope, waiting.job_id)
            if job is not None and not job.has_ended:
                if not self.shares.enter(scope, queue, job.id, most=self.most):
                    return
                self.queues.send([JobNotice(job.tenant, job.id, job.kind, job.trace)])
            self.shares.call(scope, queue, waiting)

    def _may_be_sent(self, notice: JobNotice) -> bool:
        """Return whether the job has a place in the queue. If it has none and has not ended, it is
        added to the waiting jobs.

        Then it tries once more to get a place. Another job may have left in the meantime, without
        seeing that this job waits.
        """
        scope, queue = Scope(notice.tenant), KINDS[notice.kind].queue
        if queue == OPERATORS:
            return True
        has_place = self.shares.enter(scope, queue, notice.job_id, most=self.most)
        if has_place and not self.heals:
            return True  # the job is new and never waited
        job = self.jobs.get(scope, notice.job_id)
        if job is None or job.has_ended:
            return has_place
        if not has_place:
            self.shares.wait(scope, queue, job.id, since=job.created_at)
            if self.heals and self._is_time_to_heal(scope, queue):
                self._heal(scope, queue)
            has_place = self.shares.enter(scope, queue, job.id, most=self.most)
        if has_place:
            self.shares.call(scope, queue, Waiting(job.id, job.created_at))
        return has_place

    def _is_time_to_heal(self, scope: Scope, queue: Queue) -> bool:
        now, place = self.clock.now(), (scope.tenant, queue)
        if now - self.healed.get(place, EPOCH) < HEALED:
            return False
        self.healed[place] = now
        return True

    def _heal(self, scope: Scope, queue: Queue) -> None:
        for name in self.shares.under_way(scope, queue):
            if _is_over(self.jobs.get(scope, name)):
                self.shares.leave(scope, queue, name)


def _is_over(job: Job | None) -> bool:
    """Return whether the job needs no message here, because it has ended, other jobs do its work,
    or only a newer release can do it.
    """
    return job is None or job.has_ended or job.due_at is None or job.is_newer
