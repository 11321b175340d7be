"""Read a job, wait for its end if the caller asks for that, and start failed or stuck jobs again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, Conflict, DamagedJob, ModelFailed, NotFound
from palimpsest.jobs.job import STUCK, Job, another_attempt, retry_delay
from palimpsest.jobs.kinds import KINDS, Family
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.retry import until_committed
from palimpsest.scope import Scope

FIRST_LOOK = 0.1  # seconds
LONGEST_LOOK = 1.0


@contextmanager
def counting(jobs: Jobs, job: Job) -> Iterator[None]:
    """Add what model calls used that fail here to the job that was asked for."""
    try:
        yield
    except ModelFailed as failure:
        if failure.spent:
            jobs.spend(job, failure.spent)
        raise


@dataclass(frozen=True, slots=True)
class ReadJob:
    jobs: Jobs
    clock: Clock

    def __call__(self, scope: Scope, job_id: str, *, wait: float = 0) -> Job:
        """The job once it has ended, or as it is after `wait` seconds. Raises `NotFound` (`job_not_found`)."""
        deadline = self.clock.now() + timedelta(seconds=wait)
        pause = FIRST_LOOK
        while True:
            job = self.jobs.get(scope, job_id)
            if job is None:
                raise NotFound("There is no such job.", code="job_not_found")
            left = (deadline - self.clock.now()).total_seconds()
            if job.has_ended or left <= 0:
                return job
            self.clock.sleep(min(pause, left))
            pause = min(LONGEST_LOOK, pause * 1.5)


@dataclass(frozen=True, slots=True)
class RestartSteps:
    """Starts a step of the family `steps` again. The new job is a step of the same chain; but if the chain's first job
    has failed itself, the new job begins a chain of its own.
    """

    jobs: Jobs
    clock: Clock

    def __call__(self, job: Job) -> str:
        """The new job's id. Safe to repeat. Raises `DamagedJob`, `Unavailable`."""
        parent = None if job.parent is None and job.has_ended else job.root
        new = another_attempt(job, parent=parent, now=seconds(self.clock.now()))
        with suppress(CommitLost):  # it was started again already
            self.jobs.put(new)
        if job.has_ended:
            self.jobs.settle(job, due_at=None)
        else:
            self._end(job)
        return new.id

    def _end(self, job: Job) -> None:
        """Mark a stuck step as failed. The first job of a chain stays running, as the new job does its work."""
        ended = replace(job, due_at=None, state="running")
        if job.parent is not None:
            ended = replace(ended, state="failed", error=STUCK)
        with suppress(CommitLost):  # it ended meanwhile
            self.jobs.finish(ended)


@dataclass(frozen=True, slots=True)
class GiveUpStep:
    """Marks a step as failed after its last attempt; the sweep starts it again later."""

    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.has_ended:
            return
        due_at = seconds(self.clock.now()) + retry_delay(job.attempt)
        with suppress(CommitLost):
            self.jobs.finish(replace(job, state="failed", error=error, due_at=due_at))


Restart = Callable[[Job], str | None]
"""Starts a failed or stuck job again and returns the new job's id; None, `NotFound` or `DamagedJob` if nothing is left
to do.
"""


@dataclass(frozen=True, slots=True)
class RetryJob:
    jobs: Jobs
    restarts: Mapping[Family, Restart]
    clock: Clock

    def __call__(self, scope: Scope, job_id: str) -> str:
        """Start a failed job again, and return the new job's id.

        Raises `NotFound` (`job_not_found`), `Conflict` (`job_not_failed`, `nothing_to_retry`), `Unavailable`.
        """
        job = self.jobs.get(scope, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        if job.state != "failed":
            raise Conflict("Only a failed job can be tried again.", code="job_not_failed")
        new_id = until_committed(lambda: self._restarted(job), clock=self.clock)
        if new_id is None:
            raise Conflict("Nothing is left of this job to be done.", code="nothing_to_retry")
        return new_id

    def _restarted(self, job: Job) -> str | None:
        restart = self.restarts.get(KINDS[job.kind].family) if job.kind in KINDS else None
        try:
            return None if restart is None else restart(job)
        except (NotFound, DamagedJob):  # deleted meanwhile, or not to be read
            return None
