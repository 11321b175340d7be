"""Try a failed job again, at a caller's word: as a new job, each kind in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palimpsest.domain.jobs import Job, JobKind
from palimpsest.domain.scope import Scope
from palimpsest.errors import Conflict, NotFound
from palimpsest.ports.clock import Clock
from palimpsest.ports.sessions import Jobs
from palimpsest.usecases.committing import until_committed

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
