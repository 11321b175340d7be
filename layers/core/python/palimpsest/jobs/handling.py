"""The handling of queue messages: which handler does a job, and how failed tries are counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from palimpsest.clock import Clock
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import UNHEARD_SECONDS, Job
from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.ports import GivesUp, Hide, Jobs, Tries
from palimpsest.scope import Scope

Step = Callable[[JobNotice], None]


@dataclass(frozen=True, slots=True)
class Handling:
    """The handler of one kind of job. `step` does a step, and `give_up` is called after the last
    attempt at a step has failed.
    """

    step: Step
    give_up: GivesUp


@dataclass(frozen=True, slots=True)
class CountedTries:
    """Counts tries in the stored job."""

    jobs: Jobs
    clock: Clock

    def has_failed(self, notice: JobNotice) -> bool:
        job = self._read(notice)
        return job is not None and job.state == "failed"

    def failed(self, notice: JobNotice) -> int:
        job = self._read(notice)
        return job.tries if job is not None else 0

    def wait(self, notice: JobNotice, *, seconds: int) -> None:
        job = self._read(notice)
        if job is not None and not job.has_ended and job.due_at is not None:
            delivered = self.clock.now() + timedelta(seconds=seconds)
            due_at = int(delivered.timestamp()) + UNHEARD_SECONDS
            self.jobs.settle(replace(job, tries=job.tries + 1), due_at=due_at, state=job.state)

    def _read(self, notice: JobNotice) -> Job | None:
        return self.jobs.get(Scope(notice.tenant), notice.job_id)


@dataclass(frozen=True, slots=True)
class Worker:
    """The way in which a queue function handles a message. It does the `step`, handles a failure of
    the step (`give_up`, `hide`, `tries`), and at the end frees the job's place in the tenant's
    share of the queue.
    """

    step: Step
    give_up: GivesUp
    hide: Hide
    tries: Tries
    free_place: Step


@dataclass(frozen=True, slots=True)
class Router:
    """Routes notices to the handler of their kind. Both methods raise `KeyError` for a kind without
    a handler, so that its message reaches the dead-letter queue.
    """

    handlings: Mapping[JobKind, Handling]

    def step(self, notice: JobNotice) -> None:
        self.handlings[notice.kind].step(notice)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        self.handlings[notice.kind].give_up(notice, error=error)
