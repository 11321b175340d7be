"""Shrink a full window outside an append: start its overflow, do it because a caller asks, or give a job up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.history import live, window
from palimpsest.conversations.lifecycle import touched
from palimpsest.conversations.overflow.plan import Armed, arm, evict, fifo, overflows
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job, retry_delay
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.jobs.read import ReadJob
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope


@dataclass(frozen=True, slots=True)
class Arm:
    sessions: Sessions
    clock: Clock

    def __call__(self, scope: SessionScope, *, at_once: bool = False) -> str | None:
        """If the window passes its trigger, evict messages or create the job that does; return the pending job's id.

        With `at_once`, the pause after a failed overflow is skipped. Raises `NotFound`, `Unavailable`.
        """
        return until_committed(lambda: self._attempt(scope, at_once=at_once), clock=self.clock)

    def _attempt(self, scope: SessionScope, *, at_once: bool) -> str | None:
        now = self.clock.now()
        head, settings = live(self.sessions.open(scope, settings=True), now=now)
        if not overflows(head, now=max(seconds(now), head.not_before if at_once else 0)):
            return head.job
        config = parsed(dict(settings.memory))
        held = window(self.sessions, scope, head)
        decided = arm(head, config, held, scope=scope, now=seconds(now), created_at=stamp(now))
        return self._commit(scope, head, decided)

    def fold(self, scope: SessionScope, *, max_tokens: int | None) -> str | None:
        """Create a job that summarises all but the recent turns, even if the window is not full; return the pending
        job's id, or None if nothing can be summarised.
        """
        return until_committed(lambda: self._fold(scope, max_tokens), clock=self.clock)

    def _fold(self, scope: SessionScope, max_tokens: int | None) -> str | None:
        now = self.clock.now()
        head, settings = live(self.sessions.open(scope, settings=True), now=now)
        if head.job is not None:
            return head.job
        config = summarizing(parsed(dict(settings.memory)), max_tokens=max_tokens)
        held = window(self.sessions, scope, head)
        decided = arm(head, config, held, scope=scope, now=seconds(now), created_at=stamp(now))
        return None if not decided.jobs else self._commit(scope, head, decided)

    def drop(self, scope: SessionScope, *, max_tokens: int | None) -> None:
        """Drop the oldest turns now, until a context fits `max_tokens` (default: the session's budget)."""
        until_committed(lambda: self._drop(scope, max_tokens), clock=self.clock)

    def _drop(self, scope: SessionScope, max_tokens: int | None) -> None:
        now = self.clock.now()
        head, _ = live(self.sessions.open(scope, settings=True), now=now)
        eviction = fifo(head, window(self.sessions, scope, head), budget=max_tokens or head.max_tokens)
        if eviction is not None:
            self._commit(scope, head, evict(head, eviction, method="fifo", created_at=stamp(now)))

    def _commit(self, scope: SessionScope, before: Head, decided: Armed) -> str | None:
        after = touched(decided.head, now=self.clock.now())
        commit = Commit(before=before, after=after, jobs=decided.jobs, compaction=decided.compaction)
        self.sessions.commit(scope, commit)
        return after.job


@dataclass(frozen=True, slots=True)
class Prune:
    sessions: Sessions
    jobs: Jobs
    clock: Clock

    def __call__(
        self, scope: SessionScope, *, strategy: Literal["fifo", "summarize"], max_tokens: int | None = None
    ) -> str | None:
        """With `fifo`, drop the oldest turns now until a context fits `max_tokens`. With `summarize`, create a job that
        summarises all but the recent turns.

        Returns that job's id; None if there is none. Raises `NotFound`, `Unavailable`.
        """
        arm = Arm(self.sessions, self.clock)
        if strategy == "fifo":
            arm.drop(scope, max_tokens=max_tokens)
            return None
        return arm.fold(scope, max_tokens=max_tokens)

    def compact(self, scope: SessionScope, *, wait: float) -> Job | None:
        """Start the overflow if the window passes its trigger; return its job after at most `wait` seconds, or None."""
        job_id = Arm(self.sessions, self.clock)(scope)
        return None if job_id is None else ReadJob(self.jobs, self.clock)(scope.owner, job_id, wait=wait)


@dataclass(frozen=True, slots=True)
class GiveUpOverflow:
    """Mark an overflow job as failed after its last attempt; the sweep starts the overflow again later."""

    sessions: Sessions
    jobs: Jobs
    clock: Clock

    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Fail the job with this error code, and let its session wait before the next overflow. Raises
        `Unavailable`.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.has_ended:
            return
        now = seconds(self.clock.now())
        delay = retry_delay(job.attempt)
        failed = replace(job, state="failed", error=error, due_at=now + delay)
        scope = Scope(job.tenant).session(job.session)
        head = self.sessions.open(scope).head
        try:
            if head is None or head.job != job.id:
                self.jobs.finish(failed)
                return
            after = replace(
                head,
                job=None,
                compaction="failed",
                attempts=job.attempt + 1,
                not_before=now + delay,
                version=head.version + 1,
            )
            self.sessions.commit(scope, Commit(before=head, after=after, guard="window", finished=failed))
        except CommitLost:
            return  # overtaken: the session moved on, or the other delivery has ended the job


def summarizing(config: Strategy, *, max_tokens: int | None = None) -> Summarize:
    """The configuration for a summary: the session's own, or the defaults with its budget (or with `max_tokens`)."""
    own = config if isinstance(config, Summarize) else Summarize(max_tokens=config.max_tokens, model=config.model)
    return own if max_tokens is None else own.model_copy(update={"max_tokens": max_tokens})
