"""Erase a user: nothing of them is seen from the answer on; a job removes it, store by store and page by page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.domain.erasure import Erased
from palimpsest.domain.jobs import Job
from palimpsest.domain.scope import Scope, SessionScope, UserScope
from palimpsest.domain.times import seconds
from palimpsest.domain.user_jobs import on_user
from palimpsest.ports.clock import Clock
from palimpsest.ports.memories import Memories
from palimpsest.ports.queues import JobNotice
from palimpsest.ports.sessions import Sessions
from palimpsest.usecases.committing import until_committed
from palimpsest.usecases.manage_sessions import bury
from palimpsest.usecases.user_steps import UserSteps

SESSIONS_AT_ONCE = 10
ITEMS_AT_ONCE = 500  # of long-term memory


@dataclass(frozen=True, slots=True)
class Erase:
    memories: Memories
    clock: Clock

    def __call__(self, scope: UserScope) -> str:
        """Begin the user's next epoch; the id of the job that removes what was before it. Raises `Unavailable`."""
        return until_committed(lambda: self._attempt(scope), clock=self.clock)

    def _attempt(self, scope: UserScope) -> str:
        epoch = self.memories.user(scope).epoch
        job = on_user(scope, kind="erase", epoch=epoch + 1, told={}, now=seconds(self.clock.now()))
        self.memories.erase(scope, epoch=epoch, job=job)
        return job.id


@dataclass(frozen=True, slots=True)
class ErasePages:
    """The job's epoch is the one that the user began with it: whatever is of an earlier one goes, whoever wrote it."""

    sessions: Sessions
    memories: Memories
    steps: UserSteps
    clock: Clock

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat: then it may count less, and leaves no less. Raises `Unavailable`."""
        job = self.steps.taken_up(notice)
        if job is None:
            return
        scope, erased = Scope(job.tenant).user(job.user or ""), Erased.read(job.told)
        until = self.steps.deadline
        while self.clock.now() < until:
            erased = self._page(scope, job, erased)
            if erased.stage == "over":
                self.steps.end(job, erased.result)
                return
        self.steps.go_on(job, erased.told(), result=erased.result)

    def _page(self, scope: UserScope, job: Job, erased: Erased) -> Erased:
        if erased.stage != "memories":
            return self._some_sessions(scope, job, erased)
        gone = self.memories.wipe(scope, below_epoch=job.epoch, limit=ITEMS_AT_ONCE)
        return replace(erased, memories=erased.memories + gone) if gone else erased.moved_on()

    def _some_sessions(self, scope: UserScope, job: Job, erased: Erased) -> Erased:
        page = self.sessions.listed(
            scope.owner, user=scope.user, limit=SESSIONS_AT_ONCE, after=erased.after, newest_first=False
        )
        gone = sum(self._remove(scope.owner.session(name), job) for name in page.sessions)
        erased = replace(erased, sessions=erased.sessions + gone, after=page.after)
        return erased if page.after is not None else erased.moved_on()

    def _remove(self, scope: SessionScope, job: Job) -> bool:
        """Delete a session of an earlier epoch, and what is left of one; whether anything was there."""
        buried = until_committed(lambda: self._bury(scope, job), clock=self.clock)
        head = self.sessions.open(scope).head
        if head is None:
            return False
        last = head.seq if head.status == "deleted" else head.base
        removed = self.sessions.remove(scope, first=0, last=last, whole=True)
        return buried or removed > 0

    def _bury(self, scope: SessionScope, job: Job) -> bool:
        head = self.sessions.open(scope).head
        if head is None or head.status == "deleted" or head.user != job.user or head.epoch >= job.epoch:
            return False
        bury(self.sessions, scope, head, now=self.clock.now())
        return True
