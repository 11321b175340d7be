"""The scheduled sweep. It deletes expired sessions and memories, starts lost, stuck and failed jobs
again, and creates the extraction jobs of idle sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.lifecycle import armed_extraction
from palimpsest.conversations.manage import tombstone_session
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.errors import CommitLost, DamagedJob, Unavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import NEWER_SECONDS, Job
from palimpsest.jobs.kinds import KINDS, Family
from palimpsest.jobs.ports import Due, Jobs, Queues
from palimpsest.jobs.requests import Restart
from palimpsest.memory.removal.expire import Expire
from palimpsest.scope import Scope, SessionScope
from palimpsest.usage import Usages

PER_SHARD = 25
PATIENCE = 40.0
"""The seconds for visits of sessions and jobs, and the seconds for visits of memories. The function
has 90, and a visit takes some seconds if a table refuses calls.
"""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The scheduled sweep. `restarts` has, for each family of jobs, the function that starts a job
    again. `queues` is None if jobs are done without queues. `timer` returns seconds.
    """

    sessions: Sessions
    jobs: Jobs
    clock: Clock
    restarts: Mapping[Family, Restart]
    expire: Expire
    queues: Queues | None
    usages: Usages
    timer: Callable[[], float] = monotonic

    def __call__(self) -> int:
        """Visit the sessions and jobs that are due, at most 25 of each shard, and then the
        memories. Return how many were visited. The rest is left to the next sweep, which begins at
        another shard.

        If another writer changes one of them at the same time, the next sweep visits it again. A
        store that does not answer delays no other visit. `Unavailable` is raised for it after all
        visits.
        """
        looked_at, unavailable = 0, None
        until = self.timer() + PATIENCE
        for due in self.jobs.due(now=seconds(self.clock.now()), limit=PER_SHARD):
            if self.timer() >= until:
                break
            looked_at += 1
            try:
                self._look(due)
            except CommitLost:
                continue
            except Unavailable as error:
                unavailable = error
        until = self.timer() + PATIENCE
        looked_at += self.expire(has_time=lambda: self.timer() < until)
        if unavailable is not None:
            raise unavailable
        return looked_at

    def _look(self, due: Due) -> None:
        scope = Scope(due.tenant)
        if due.session_id is not None:
            self._visit(scope.session(due.session_id))
            return
        job, now = self.jobs.get(scope, due.job_id or ""), seconds(self.clock.now())
        if job is None or job.due_at is None or job.due_at > now:
            return  # the index follows the table a moment later
        try:
            if job.is_newer:
                self.jobs.settle(job, due_at=now + NEWER_SECONDS)
            elif not job.has_ended and now < job.overdue_at:
                self._wait_for(job, now=now)
            else:
                self.restarts[KINDS[job.kind].family](job)
        except DamagedJob as error:
            self._set_aside(job, error.code)

    def _wait_for(self, job: Job, *, now: int) -> None:
        """Send a job's message again, because no worker has begun the job or its worker is gone.
        The first message may be lost, or hidden for minutes. A second message does no harm.
        """
        looked_at = job.looked_at(now=now)
        if self.queues is None:
            looked_at = replace(job, due_at=job.overdue_at)
        elif job.is_unheard:
            self.queues.send([JobNotice(job.tenant, job.id, job.kind, job.trace)])
        self.jobs.settle(looked_at, due_at=looked_at.due_at, state=job.state)

    def _set_aside(self, job: Job, error: str) -> None:
        """Mark a job that can't be read as failed for good, so that no sweep visits it again."""
        if not job.has_ended:
            self.jobs.finish(replace(job, state="failed", error=error, due_at=None))
        self.jobs.settle(job, due_at=None)

    def _visit(self, scope: SessionScope) -> None:
        """Delete the session if it has expired. Extract its remaining messages if it is idle. Then
        schedule the next visit.
        """
        now = self.clock.now()
        opened = self.sessions.open(scope, settings=True)
        head, settings = opened.head, opened.settings
        if (
            head is None
            or settings is None
            or head.status == "deleted"
            or settings.base != head.base
        ):
            return  # its deletion is under way and removes the settings
        if (tally := head.tally(scope)) is not None:
            self.usages.reach(tally)  # the stream's record of the newest message may have been lost
        if head.is_gone(seconds(now)):
            tombstone_session(self.sessions, scope, head, now=now)
            return
        if head.idle_at is not None and head.idle_at <= seconds(now):
            head = self._extract(scope, head, now=seconds(now))
        self.sessions.reschedule(scope, settings, due_at=head.next_visit)

    def _extract(self, scope: SessionScope, before: Head, *, now: int) -> Head:
        """Create the job that extracts the waiting messages, and return the new head. The time
        until the session expires does not start again.
        """
        after, jobs = armed_extraction(before, scope, now=now)
        after = replace(after, version=before.version + 1)
        self.sessions.commit(scope, Commit(before=before, after=after, jobs=jobs))
        return after
