"""The rebuilding of the search index as the operator's job: one at a time, step after step, each a job of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from palimpsest.domain.jobs import Job
from palimpsest.domain.scope import OPERATOR, Scope
from palimpsest.domain.times import seconds
from palimpsest.domain.user_jobs import on_user, root_of
from palimpsest.errors import CommitLost, NotFound
from palimpsest.ports.clock import Clock
from palimpsest.ports.queues import JobNotice
from palimpsest.ports.sessions import Jobs
from palimpsest.usecases.mend_user_jobs import GiveUpUserJob, MendUserJob
from palimpsest.usecases.reindex import Reindex, Reindexing
from palimpsest.usecases.user_steps import UserSteps

OWNER = Scope(OPERATOR).user("reindex")
STEP = timedelta(seconds=30)
"""After this long a step hands over to the next; one more page at worst fits into the function's 90 s beside it."""
SETTLING = 5.0
"""Seconds. What was written just before the new index was made is in the old one alone, and is found by the lists of
owners, which follow the tables a moment later.
"""


@dataclass(frozen=True, slots=True)
class StartReindex:
    jobs: Jobs
    clock: Clock

    def __call__(self) -> tuple[Job, bool]:
        """The reindexing that goes on now, and whether this call began it. Raises `Unavailable`.

        Of two calls at once one begins it: the new job's id follows from the one before. One that failed, and that the
        sweep would begin again later, begins again now.
        """
        newest = next(iter(self.jobs.listed(OWNER, limit=1)[0]), None)
        if newest is not None and newest.state == "failed":
            return self.look(MendUserJob(self.jobs, self.clock)(newest)), True
        if newest is not None and newest.state != "done":
            return newest, False
        key = "" if newest is None else newest.id
        told = Reindexing().as_json()
        job = on_user(OWNER, kind="reindex", epoch=0, key=key, told=told, now=seconds(self.clock.now()))
        try:
            self.jobs.put(job)
        except CommitLost:
            return self.look(job.id), False
        return job, True

    def look(self, job_id: str) -> Job:
        """Raises `NotFound` (`job_not_found`), `Unavailable`."""
        job = self.jobs.get(OWNER.owner, job_id)
        if job is None:
            raise NotFound("There is no such job.", code="job_not_found")
        return job


@dataclass(frozen=True, slots=True)
class ReindexStep:
    """`model` names what vectors are made by now: a reindexing that was begun for another one begins anew."""

    reindex: Reindex
    jobs: Jobs
    steps: UserSteps
    clock: Clock
    model: str

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat. Raises `Unavailable`, `ModelFailed`."""
        job = self.steps.taken_up(notice)
        if job is None:
            return
        state, until = self._state(job), self.clock.now() + STEP
        while not state.is_done and self.clock.now() < until:
            if self._is_over(job):
                break
            is_new = state.phase == "prepare"
            state = self.reindex(state)
            if is_new:
                self.clock.sleep(SETTLING)
        counts = {"indexed": state.indexed, "left_out": state.left_out}
        if state.is_done or self._is_over(job):
            self.steps.end(job, counts)
        else:
            self.steps.go_on(job, {**state.as_json(), "model": self.model}, result=counts)

    def _state(self, job: Job) -> Reindexing:
        if job.told.get("model", self.model) != self.model:
            return Reindexing()
        return Reindexing.of_json({name: value for name, value in job.told.items() if name not in ("step", "model")})

    def _is_over(self, job: Job) -> bool:
        """Whether another chain of steps was faster, which the sweep began as this one seemed to be stuck. Then nothing
        may be switched any more: the next reindexing may have begun.
        """
        root = self.jobs.get(OWNER.owner, root_of(job))
        return root is None or root.has_ended


@dataclass(frozen=True, slots=True)
class GiveUpReindexStep:
    """After its last receive a step has failed; the sweep begins it again later, and until then the job that was asked
    for says what it waits for.
    """

    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        GiveUpUserJob(self.jobs, self.clock)(notice, error=error)
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        root = None if job is None or job.parent is None else self.jobs.get(OWNER.owner, job.parent)
        if root is not None:
            with suppress(CommitLost):  # it has ended
                self.jobs.finish(replace(root, state="running", due_at=None, error=error))
