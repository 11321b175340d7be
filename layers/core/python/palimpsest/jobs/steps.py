"""The steps of jobs that work through a list. A step goes through the list page by page, and then
starts the next step or ends the job. This module also gives up failed steps and starts them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, ModelFailed, Unavailable
from palimpsest.jobs.attempts import another_attempt, next_step, retry_delay
from palimpsest.jobs.events import JobNotice, Removed
from palimpsest.jobs.job import ERASED, STUCK, Job, JobState
from palimpsest.jobs.payloads import ListPayload, Payload
from palimpsest.jobs.ports import Jobs, Queues
from palimpsest.scope import Scope, UserScope

STEP = timedelta(seconds=50)
"""After this time a step starts the next one, because the function may run for 90 s."""

# seconds between two looks whether the jobs that a step started have ended, and the number of such
# looks
WAIT, LOOKS = 1, 3

MOST_STEPS = 1_000  # after that the job fails, and is started again later


class PageDone(NamedTuple):
    """The result of one page. `forgotten` is how many entries it removed, and `hidden` in how many
    messages it hid words. `after` is the cursor of the next page (None if this was the last one).
    """

    forgotten: int
    after: str | None
    hidden: int = 0


Page = Callable[[Job, str | None], PageDone | None]
"""Forgets one page of a list, which begins at a cursor. Returns None if the user was erased in the
meantime.
"""

IsOver = Callable[[Job], bool]

Counted = Callable[[Job], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class UserSteps:
    """Runs the steps of a job. Every call is safe to repeat and raises `Unavailable`. `queues` is
    None if there is no index, or if the index is updated without queues.
    """

    jobs: Jobs
    restart: RestartSteps
    clock: Clock
    queues: Queues | None = None

    @property
    def deadline(self) -> datetime:
        """The time at which a step that begins now must stop and start the next one."""
        return self.clock.now() + STEP

    def take_up(self, notice: JobNotice) -> Job | None:
        """Return the job if its step must be done now. Return None if the job is done, if its next
        step exists, or if it failed and was restarted.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.state == "done":
            return None
        if job.state == "failed":  # redriven
            self.restart(job)
            return None
        # An earlier delivery put the next step, and was stopped before it ended this one.
        if self._is_handed_over(job):
            self._rest(job)
            return None
        self.jobs.start(job.begun(now=seconds(self.clock.now())))
        return job

    def forget(
        self,
        notice: JobNotice,
        page: Page,
        *,
        is_over: IsOver = lambda _: True,
        at_end: Counted = lambda _: {},
    ) -> None:
        """Do one step, which removes page after page until the deadline. The job's result counts
        the removed entries as `forgotten`, and the messages in which words were hidden as
        `hidden_messages`.

        After the last page the job ends if `is_over` returns True. Otherwise the next step begins
        with the first page again. If any entry was removed, `at_end` adds to the result. Raises
        `Unavailable` after `MOST_STEPS` steps.
        """
        job = self.take_up(notice)
        if job is None:
            return
        place, until = job.payload_as(ListPayload), self.deadline
        forgotten, hidden, after = place.forgotten, place.hidden, place.after
        while self.clock.now() < until:
            done = page(job, after)
            if done is None:
                self.end(job, _receipt(forgotten, hidden), error=ERASED)
                return
            after = done.after
            forgotten += done.forgotten
            hidden += done.hidden
            if after is None:
                break
        if after is None and self._is_over_soon(job, is_over):
            more = at_end(job) if forgotten else {}
            self.end(job, {**_receipt(forgotten, hidden), **more})
            return
        self.go_on(job, replace(place, after=after, forgotten=forgotten, hidden=hidden))

    def _is_over_soon(self, job: Job, is_over: Callable[[Job], bool]) -> bool:
        for _ in range(LOOKS):
            if is_over(job):
                return True
            self.clock.sleep(WAIT)
        if job.step >= MOST_STEPS:
            raise Unavailable("The jobs that this job started have not ended.")
        return False

    def _is_handed_over(self, job: Job) -> bool:
        return (
            self.jobs.get(Scope(job.tenant), next_step(job, payload=job.payload, now=0).id)
            is not None
        )

    def go_on(self, job: Job, place: Payload, *, result: Mapping[str, int] | None = None) -> None:
        """Start the next step, which continues at `place`. `result` is the result so far. The first
        job of the chain shows it.
        """
        with suppress(CommitLost):  # the other delivery of the same message was faster
            self.jobs.put(next_step(job, payload=place, now=seconds(self.clock.now())))
        if result is not None:
            self._show(job, result)
        self._rest(job if result is None else replace(job, result=result))

    def _show(self, job: Job, result: Mapping[str, int]) -> None:
        root = None if job.parent is None else self.jobs.get(Scope(job.tenant), job.root)
        if root is not None:
            with suppress(CommitLost):  # a later step has ended it
                self.jobs.finish(
                    replace(root, state="running", due_at=None, error=None, result=result)
                )

    def _rest(self, job: Job) -> None:
        """End this step. The first job of the chain stays `running` until the last step ends it."""
        with suppress(CommitLost):
            self.jobs.finish(
                replace(job, state="running" if job.parent is None else "done", due_at=None)
            )

    def end_with_index(self, job: Job, result: Mapping[str, int]) -> None:
        """Leave the end of the job to the indexer, which ends it after removing from the index
        everything that the job removed from the tables. Until then the job is running. If the
        message to the indexer is lost, the sweep starts the job again.
        """
        if self.queues is None:
            self.end(job, result)
            return
        self._show(job, result)
        with suppress(CommitLost):  # another delivery of the same queue message was faster
            begun = job.begun(now=seconds(self.clock.now()))
            self.jobs.finish(replace(begun, result=result))
        self.queues.send_changes([Removed(job.tenant, job.id)])

    def end(
        self,
        job: Job,
        result: Mapping[str, int],
        *,
        error: str | None = None,
        state: JobState = "done",
    ) -> None:
        """End the first job of the chain, then this step. If the function fails in between, the
        step is delivered again and then ends. With the state `failed`, the job waits until somebody
        starts it again.
        """
        root = job if job.parent is None else self.jobs.get(Scope(job.tenant), job.root)
        for step in (root, job):
            if step is not None:
                done = replace(step, state=state, due_at=None, error=error, result=result)
                with suppress(CommitLost):  # the other delivery of the same message was faster
                    self.jobs.finish(done)


@contextmanager
def counting(jobs: Jobs, job: Job) -> Iterator[None]:
    """If a model call fails in this block, add its usage to the requested job (`job.root`)."""
    try:
        yield
    except ModelFailed as failure:
        if failure.spent:
            jobs.spend(job, failure.spent)
        raise


def no_calls_kept(job: Job, user: UserScope) -> AbstractContextManager[None]:  # noqa: ARG001
    """Keep no model calls. Implements `KeepsCalls`."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class RestartSteps:
    """Starts a step of the family `steps` again. The new job is a step of the same chain. If the
    chain's first job itself has failed, the new job begins a new chain.
    """

    jobs: Jobs
    clock: Clock

    def __call__(self, job: Job) -> str:
        """Start the step again, and return the new job's id. Safe to repeat. Raises `DamagedJob`
        and `Unavailable`.
        """
        parent = None if job.parent is None and job.has_ended else job.root
        new = another_attempt(job, parent=parent, now=seconds(self.clock.now()))
        with suppress(CommitLost):  # the job was already started again
            self.jobs.put(new)
        if job.has_ended:
            self.jobs.settle(job, due_at=None)
        else:
            self._end(job)
        return new.id

    def _end(self, job: Job) -> None:
        """Mark a stuck step as failed. The first job of a chain stays running, because the new job
        does its work.
        """
        ended = replace(job, due_at=None, state="running")
        if job.parent is not None:
            ended = replace(ended, state="failed", error=STUCK)
        with suppress(CommitLost):  # the job ended in the meantime
            self.jobs.finish(ended)


@dataclass(frozen=True, slots=True)
class GiveUpStep:
    """Marks a step as failed after its last attempt. The sweep starts the step again later."""

    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.has_ended:
            return
        due_at = seconds(self.clock.now()) + retry_delay(job.attempt)
        with suppress(CommitLost):
            self.jobs.finish(replace(job, state="failed", error=error, due_at=due_at))


def _receipt(forgotten: int, hidden: int) -> dict[str, int]:
    return {"forgotten": forgotten, **({"hidden_messages": hidden} if hidden else {})}
