"""Jobs on all of a user's memory that failed or got stuck: the same step begins again as a new job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, Conflict, NotFound
from palimpsest.jobs.job import STUCK, Job, JobKind, again, retry_delay, root_of
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.retry import until_committed
from palimpsest.scope import Scope


@dataclass(frozen=True, slots=True)
class MendUserJob:
    """Of a job that got stuck the new one is a step. One that failed has ended: the new one stands for itself, unless
    it was itself a step.
    """

    jobs: Jobs
    clock: Clock

    def __call__(self, job: Job) -> str:
        """Begin again; the new job's id. Safe to repeat."""
        new = again(job, now=seconds(self.clock.now()))
        if job.parent is not None or not job.has_ended:
            new = replace(new, parent=root_of(job))
        with suppress(CommitLost):  # it has begun again already
            self.jobs.put(new)
        if job.has_ended:
            self.jobs.settle(job, due_at=None)
        else:
            self._over(job)
        return new.id

    def _over(self, job: Job) -> None:
        """What was asked for runs on; a step has failed."""
        ended = replace(job, due_at=None, state="running")
        if job.parent is not None:
            ended = replace(ended, state="failed", error=STUCK)
        with suppress(CommitLost):  # it ended meanwhile
            self.jobs.finish(ended)


@dataclass(frozen=True, slots=True)
class GiveUpUserJob:
    """After its last receive a job has failed; the sweep is to begin it again later."""

    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.has_ended:
            return
        due_at = seconds(self.clock.now()) + retry_delay(job.attempt)
        with suppress(CommitLost):
            self.jobs.finish(replace(job, state="failed", error=error, due_at=due_at))


Again = Callable[[Job], str | None]
"""Begins a job again and tells the new job's id; None, or `NotFound`, if there is nothing left to do."""


@dataclass(frozen=True, slots=True)
class RetryJob:
    jobs: Jobs
    ways: Mapping[JobKind, Again]
    clock: Clock

    def __call__(self, scope: Scope, job_id: str) -> str:
        """The id of the job that tries again.

        Raises `NotFound` (`job_not_found`), `Conflict` (`job_not_failed`, `nothing_to_retry`), `Unavailable`.
        """
        job = self.jobs.get(scope, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        if job.state != "failed":
            raise Conflict("Only a failed job can be tried again.", code="job_not_failed")
        new_id = until_committed(lambda: self._again(job), clock=self.clock)
        if new_id is None:
            raise Conflict("Nothing is left of this job to be done.", code="nothing_to_retry")
        return new_id

    def _again(self, job: Job) -> str | None:
        again = self.ways.get(job.kind)
        try:
            return None if again is None else again(job)
        except NotFound:
            return None  # deleted meanwhile
