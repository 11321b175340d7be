"""The use cases on jobs that callers request: wait for the end of a job, and start a failed job
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from palimpsest.clock import Clock
from palimpsest.errors import Conflict, DamagedJob, NotFound
from palimpsest.jobs.job import Job
from palimpsest.jobs.kinds import KINDS, Family
from palimpsest.jobs.ports import Jobs
from palimpsest.retry import until_committed
from palimpsest.scope import Scope

FIRST_LOOK = 0.1  # seconds

LONGEST_LOOK = 1.0  # a caller hears of the end within this time


@dataclass(frozen=True, slots=True)
class ReadJob:
    jobs: Jobs
    clock: Clock

    def __call__(self, scope: Scope, job_id: str, *, wait: float = 0) -> Job:
        """Return the job once it has ended, or in its present state after `wait` seconds. Raises
        `NotFound` (`job_not_found`).
        """
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


Restart = Callable[[Job], str | None]
"""Starts a failed or stuck job again and returns the new job's id. If nothing is left to do, it
returns None or raises `NotFound` or `DamagedJob`.
"""


@dataclass(frozen=True, slots=True)
class RetryJob:
    jobs: Jobs
    restarts: Mapping[Family, Restart]
    clock: Clock

    def __call__(self, scope: Scope, job_id: str) -> str:
        """Start a failed job again, and return the new job's id.

        Raises `NotFound` (`job_not_found`), `Conflict` (`job_not_failed`, `nothing_to_retry`) and
        `Unavailable`.
        """
        job = self.jobs.get(scope, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        if job.state != "failed":
            raise Conflict("Only a failed job can be tried again.", code="job_not_failed")
        new_id = until_committed(lambda: self._restart(job), clock=self.clock)
        if new_id is None:
            raise Conflict("This job has no work left.", code="nothing_to_retry")
        return new_id

    def _restart(self, job: Job) -> str | None:
        restart = self.restarts.get(KINDS[job.kind].family) if job.kind in KINDS else None
        try:
            return None if restart is None else restart(job)
        except (NotFound, DamagedJob):  # the job was deleted, or can't be read
            return None
