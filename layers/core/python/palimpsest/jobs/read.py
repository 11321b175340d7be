"""Read a job and wait for its end if the caller asks for that; count what its failed model calls have used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from palimpsest.clock import Clock
from palimpsest.errors import ModelFailed, NotFound
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
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
