"""Remove what a deleted session held and alone had taught, or what was withdrawn from one: children first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.domain.jobs import Job, armed
from palimpsest.domain.lifecycle import FORGETS
from palimpsest.domain.scope import Scope, SessionScope
from palimpsest.domain.session import Commit, Head
from palimpsest.domain.times import seconds
from palimpsest.errors import CommitLost
from palimpsest.ports.clock import Clock
from palimpsest.ports.queues import JobNotice
from palimpsest.ports.sessions import Jobs, Sessions
from palimpsest.usecases.committing import until_committed
from palimpsest.usecases.forget_session import ForgetSession


@dataclass(frozen=True, slots=True)
class Remove:
    sessions: Sessions
    jobs: Jobs
    clock: Clock
    forget: ForgetSession | None = None  # None: nothing was remembered

    def __call__(self, notice: JobNotice) -> None:
        """Do the job. A session made again under the id is not met: its sequence numbers lie beyond the job's range.

        Safe to repeat: then it may count less. Raises `Unavailable`.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.state == "done":
            return
        if job.state == "failed":  # redriven: the same work as a new job
            begin_again(self.sessions, self.jobs, job, now=seconds(self.clock.now()))
            return
        self.jobs.start(job)
        scope = Scope(job.tenant).session(job.session)
        result = {"forgotten": self.forget(job)} if self.forget is not None and job.told.get(FORGETS) else {}
        removed = self.sessions.remove(scope, first=job.first, last=job.last, whole=job.kind == "delete")
        done = replace(job, state="done", due_at=None, result={"removed": removed, **result})
        if job.kind == "withdraw":
            until_committed(lambda: self._forget_range(scope, done), clock=self.clock)
        else:
            self._finish(done)

    def _forget_range(self, scope: SessionScope, done: Job) -> None:
        """The head need not name the range any more: nothing of it is left to hide."""
        head = self.sessions.open(scope).head
        gone = (done.first, done.last)
        if head is None or gone not in head.withdrawn:
            self._finish(done)
            return
        after = _without(head, gone)
        self.sessions.commit(scope, Commit(before=head, after=after, finished=done))

    def _finish(self, done: Job) -> None:
        try:
            self.jobs.finish(done)
        except CommitLost:
            return  # the other delivery of the same message was faster


def _without(head: Head, gone: tuple[int, int]) -> Head:
    kept = tuple(span for span in head.withdrawn if span != gone)
    return replace(head, withdrawn=kept, version=head.version + 1)


def begin_again(sessions: Sessions, jobs: Jobs, job: Job, *, now: int) -> str:
    """The same removal as a new job, whose id this returns: the old one's message was lost, or it failed.

    Raises `CommitLost`.
    """
    scope = Scope(job.tenant).session(job.session)
    head = sessions.open(scope).head
    again = armed(
        tenant=job.tenant,
        user=job.user,
        kind=job.kind,
        session=job.session,
        first=job.first,
        last=job.last,
        attempt=job.attempt + 1,
        now=now,
    )
    again = replace(again, epoch=job.epoch, told=job.told)
    if head is not None and jobs.get(scope.owner, again.id) is None:
        after = replace(head, version=head.version + 1)
        ended = None if job.has_ended else replace(job, state="failed", error="stuck", due_at=None)
        sessions.commit(scope, Commit(before=head, after=after, jobs=(again,), finished=ended))
    jobs.settle(job, due_at=None)
    return again.id
