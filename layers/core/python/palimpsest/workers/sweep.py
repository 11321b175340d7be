"""The scheduled sweep: delete expired sessions and memories, and start lost, stuck or failed jobs again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.manage import tombstone_session
from palimpsest.conversations.overflow.arm import Arm, GiveUpOverflow
from palimpsest.conversations.ports import Sessions
from palimpsest.errors import CommitLost, DamagedJob, NotFound
from palimpsest.jobs.job import STUCK, Job
from palimpsest.jobs.kinds import KINDS, Family
from palimpsest.jobs.ports import Due, JobNotice, Jobs, Queues
from palimpsest.memory.removal.expire import Expire
from palimpsest.memory.removal.one_session import begin_again
from palimpsest.scope import Scope, SessionScope
from palimpsest.usage.ports import Usages

PER_SHARD = 25

Restart = Callable[[Job], object]
"""Starts a job again that has come due, if anything is left to do. Raises `CommitLost`, `DamagedJob`."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """`restarts` holds what starts jobs of long-term memory again, by family. `queues` is None where jobs are done
    without queues.
    """

    sessions: Sessions
    jobs: Jobs
    clock: Clock
    restarts: Mapping[Family, Restart] = field(default_factory=dict)
    expire: Expire | None = None
    queues: Queues | None = None
    usages: Usages | None = None

    def __call__(self) -> int:
        """Visit sessions and jobs that have come due, at most 25 of each shard, then memories; return how many were
        visited.

        If another writer changes one at the same time, the next sweep visits it again. Raises `Unavailable`.
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
        job, now = self.jobs.get(scope, due.job_id or ""), seconds(self.clock.now())
        if job is None or job.due_at is None or job.due_at > now:
            return  # the index follows the table a moment later
        try:
            if job.kind in KINDS and not job.has_ended and now < job.overdue_at:
                self._wait_for(job, now=now)
            else:
                self._restart(job)
        except DamagedJob as error:
            self._set_aside(job, error.code)

    def _wait_for(self, job: Job, *, now: int) -> None:
        """Send the message of a job that no worker has begun again: its first one may be lost. Two do no harm."""
        if job.state == "pending" and self.queues is not None:
            self.queues.send([JobNotice(job.tenant, job.id, job.kind)])
        self.jobs.settle(job, due_at=job.next_look(now=now), state=job.state)

    def _restart(self, job: Job) -> None:
        match KINDS[job.kind].family if job.kind in KINDS else None:
            case None:
                raise DamagedJob("The kind of the job is not known.")
            case "overflow":
                self._restart_overflow(job)
            case "removal":
                begin_again(self.sessions, self.jobs, job, now=seconds(self.clock.now()))
            case family:
                self.restarts[family](job)

    def _set_aside(self, job: Job, error: str) -> None:
        """Fail a job that can't be read, for good: no sweep visits it again."""
        if not job.has_ended:
            self.jobs.finish(replace(job, state="failed", error=error, due_at=None))
        self.jobs.settle(job, due_at=None)

    def _retain(self, scope: SessionScope) -> None:
        """Delete the session if it has expired; if it was active meanwhile, schedule the next visit."""
        now = self.clock.now()
        opened = self.sessions.open(scope, settings=True)
        head, settings = opened.head, opened.settings
        if head is None or settings is None or head.status == "deleted" or settings.base != head.base:
            return  # its deletion is under way and removes the settings
        if self.usages is not None and (tally := head.tally(scope)) is not None:
            self.usages.reach(tally)  # the stream's record of the newest message may have been lost
        if head.is_gone(seconds(now)):
            tombstone_session(self.sessions, scope, head, now=now)
        else:
            self.sessions.reschedule(scope, settings, due_at=head.expires_at)

    def _restart_overflow(self, job: Job) -> None:
        """Fail a stuck job, so that a later sweep starts it again after a pause; start a failed job again now."""
        if not job.has_ended:
            GiveUpOverflow(self.sessions, self.jobs, self.clock)(JobNotice(job.tenant, job.id, job.kind), error=STUCK)
            return
        with suppress(NotFound):  # deleted meanwhile: nothing to make room in
            Arm(self.sessions, self.clock)(Scope(job.tenant).session(job.session))
        self.jobs.settle(job, due_at=None)
