"""The scheduled round: what has expired is deleted, what is stuck or has failed is armed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.manage import bury
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.overflow.summarize import GiveUp
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import CommitLost, NotFound
from palimpsest.jobs.job import Job, JobKind
from palimpsest.jobs.ports import Due, JobNotice, Jobs
from palimpsest.memory.removal.expire import Expire
from palimpsest.memory.removal.session import begin_again
from palimpsest.scope import Scope, SessionScope

PER_SHARD = 25

Mend = Callable[[Job], object]
"""What is done with a job that is due. May raise `CommitLost`."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """`mends` says what is done with jobs of long-term memory."""

    sessions: Sessions
    jobs: Jobs
    clock: Clock
    mends: Mapping[JobKind, Mend] = field(default_factory=dict)
    expire: Expire | None = None

    def __call__(self) -> int:
        """Look at everything that has come due, at most 25 of each shard; returns how many were looked at, with the
        memories after the sessions.

        One that another writer is busy with stays due and is looked at in the next round.
        """
        looked_at = 0
        for due in self.jobs.due(now=seconds(self.clock.now()), limit=PER_SHARD):
            looked_at += 1
            try:
                self._look(due)
            except CommitLost:
                continue
        return looked_at + (self.expire() if self.expire is not None else 0)

    def _look(self, due: Due) -> None:
        scope = Scope(due.tenant)
        if due.session_id is not None:
            self._retain(scope.session(due.session_id))
            return
        job = self.jobs.get(scope, due.job_id or "")
        if job is None or job.due_at is None or job.due_at > seconds(self.clock.now()):
            return  # the index follows the table a moment later
        if job.kind in self.mends:
            self.mends[job.kind](job)
        elif job.kind in ("summarize", "flush"):
            self._mend_overflow(job)
        else:
            begin_again(self.sessions, self.jobs, job, now=seconds(self.clock.now()))

    def _retain(self, scope: SessionScope) -> None:
        """Delete a session that has expired; look again later at one that was active meanwhile."""
        now = self.clock.now()
        opened = self.sessions.open(scope, settings=True)
        head, settings = opened.head, opened.settings
        if head is None or settings is None or head.status == "deleted" or settings.base != head.base:
            return  # its deletion is under way and removes the settings
        if head.is_gone(seconds(now)):
            bury(self.sessions, scope, head, now=now)
        else:
            self.sessions.reschedule(scope, base=head.base, due_at=head.expires_at)

    def _mend_overflow(self, job: Job) -> None:
        """A stuck job fails, and is armed again when its wait is over; a failed one is armed again now."""
        if not job.has_ended:
            GiveUp(self.sessions, self.jobs, self.clock)(JobNotice(job.tenant, job.id, job.kind), error="stuck")
            return
        with suppress(NotFound):  # deleted meanwhile: nothing to make room in
            Arm(self.sessions, self.clock)(Scope(job.tenant).session(job.session))
        self.jobs.settle(job, due_at=None)
