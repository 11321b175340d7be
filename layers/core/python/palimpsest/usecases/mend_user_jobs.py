"""Jobs on all of a user's memory that failed or got stuck: the same step begins again as a new job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.domain.jobs import Job, retry_delay
from palimpsest.domain.scope import Scope
from palimpsest.domain.times import seconds
from palimpsest.domain.user_jobs import STUCK, again, root_of
from palimpsest.errors import CommitLost
from palimpsest.ports.clock import Clock
from palimpsest.ports.queues import JobNotice
from palimpsest.ports.sessions import Jobs


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
