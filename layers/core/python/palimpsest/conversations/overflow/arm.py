"""Shrink a full window outside an append: start its overflow, do it because a caller asks, or give a job up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.history import live, window
from palimpsest.conversations.lifecycle import touched
from palimpsest.conversations.messages import text_of
from palimpsest.conversations.overflow.plan import Armed, arm, evict, fifo
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import retry_delay
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.jobs.read import ReadJob
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope, UserScope

if TYPE_CHECKING:
    from palimpsest.conversations.overflow.semantic import KeptTurn

WhyNot = Literal["below_trigger", "only_recent_turns", "paused_after_failure", "fits_already"]
"""Why a request made no room: the window is below its trigger, only turns are left that stay, the last overflow failed
a short time ago, or a context fits the budget without it.
"""


Near = Callable[[UserScope, str, str], Mapping[int, float] | None]
"""The similarity (-1..1) of messages of a user's session to a text, by sequence number; None if none can be had."""


@dataclass(frozen=True, slots=True)
class Requested:
    """What a request to make room led to: the id of the job that makes it (None: it is made already), or why none is
    made. `kept` is what a pruning by meaning kept; `has_vectors` is false if it had no vectors to compare.
    """

    job: str | None = None
    why_not: WhyNot | None = None
    kept: tuple[KeptTurn, ...] = ()
    has_vectors: bool = True


@dataclass(frozen=True, slots=True)
class Arm:
    sessions: Sessions
    clock: Clock

    def __call__(self, scope: SessionScope, *, at_once: bool = False, again: bool = False) -> Requested:
        """If the window passes its trigger, evict messages or create the job that does.

        With `at_once`, the pause after a failed overflow is skipped. With `again`, the window is planned for although
        nothing could be evicted when it passed its trigger. Raises `NotFound`, `Unavailable`.
        """
        return until_committed(lambda: self._attempt(scope, at_once=at_once, again=again), clock=self.clock)

    def _attempt(self, scope: SessionScope, *, at_once: bool, again: bool) -> Requested:
        now = self.clock.now()
        head, settings = live(self.sessions.open(scope, settings=True), now=now)
        if head.job is not None:
            return Requested(head.job)
        planned = replace(head, raised=0) if again else head
        if not planned.overflows(max(seconds(now), head.not_before)):
            return Requested(why_not="below_trigger")
        if not (at_once or planned.overflows(seconds(now))):
            return Requested(why_not="paused_after_failure")
        config = parsed(dict(settings.memory))
        held = window(self.sessions, scope, head)
        decided = arm(planned, config, held, scope=scope, now=seconds(now), created_at=stamp(now))
        if decided.overflow is None and again:
            return Requested(why_not="only_recent_turns")
        return self._commit(scope, head, decided)

    def fold(self, scope: SessionScope, *, max_tokens: int | None) -> Requested:
        """Create a job that summarises all but the recent turns, even if the window is not full."""
        return until_committed(lambda: self._fold(scope, max_tokens), clock=self.clock)

    def _fold(self, scope: SessionScope, max_tokens: int | None) -> Requested:
        now = self.clock.now()
        head, settings = live(self.sessions.open(scope, settings=True), now=now)
        if head.job is not None:
            return Requested(head.job)
        config = summarizing(parsed(dict(settings.memory)), max_tokens=max_tokens)
        held = window(self.sessions, scope, head)
        decided = arm(head, config, held, scope=scope, now=seconds(now), created_at=stamp(now))
        return self._commit(scope, head, decided) if decided.jobs else Requested(why_not="only_recent_turns")

    def drop(self, scope: SessionScope, *, max_tokens: int | None) -> Requested:
        """Drop the oldest turns now, until a context fits `max_tokens` (default: the session's budget)."""
        return until_committed(lambda: self._drop(scope, max_tokens), clock=self.clock)

    def _drop(self, scope: SessionScope, max_tokens: int | None) -> Requested:
        now = self.clock.now()
        head, _ = live(self.sessions.open(scope, settings=True), now=now)
        budget = max_tokens or head.max_tokens
        eviction = fifo(head, window(self.sessions, scope, head), budget=budget)
        if eviction is None:
            return Requested(why_not="fits_already" if head.tokens <= budget else "only_recent_turns")
        self._commit(scope, head, evict(head, eviction, method="fifo", created_at=stamp(now)))
        return Requested()

    def keep(self, scope: SessionScope, *, max_tokens: int | None, topic: str | None, near: Near | None) -> Requested:
        """Keep what matters most to the topic (default: the user's newest message) within `max_tokens`."""
        return until_committed(lambda: self._keep(scope, max_tokens, topic, near), clock=self.clock)

    def _keep(self, scope: SessionScope, max_tokens: int | None, topic: str | None, near: Near | None) -> Requested:
        from palimpsest.conversations.overflow.semantic import prune

        now = self.clock.now()
        head, _ = live(self.sessions.open(scope, settings=True), now=now)
        budget = max_tokens or head.max_tokens
        if head.tokens <= budget:
            return Requested(why_not="fits_already")
        pinned = self.sessions.messages_at(scope, [seq for seq, _ in head.pins]) if head.pins else ()
        held = (
            *(message for message in pinned if not head.is_withdrawn(message.seq)),
            *window(self.sessions, scope, head),
        )
        asked = topic or next((text_of(one.chat) for one in reversed(held) if one.role == "user"), "")
        similar = near(scope.owner.user(head.user), scope.session, asked) if near and asked.strip() else None
        pruned = prune(head, held, budget=budget, topic=asked, near=similar or {}, created_at=stamp(now))
        if pruned is None:
            return Requested(why_not="only_recent_turns")
        self._commit(scope, head, Armed(pruned.head, compaction=pruned.compaction))
        return Requested(kept=pruned.kept, has_vectors=similar is not None)

    def _commit(self, scope: SessionScope, before: Head, decided: Armed) -> Requested:
        after = touched(decided.head, now=self.clock.now())
        commit = Commit(before=before, after=after, jobs=decided.jobs, compaction=decided.compaction)
        self.sessions.commit(scope, commit)
        return Requested(after.job)


@dataclass(frozen=True, slots=True)
class Prune:
    """`near` compares meanings; None: there are no vectors."""

    sessions: Sessions
    jobs: Jobs
    clock: Clock
    near: Near | None = None

    def __call__(
        self,
        scope: SessionScope,
        *,
        strategy: Literal["fifo", "summarize", "semantic"],
        max_tokens: int | None = None,
        topic: str | None = None,
    ) -> Requested:
        """With `fifo`, drop the oldest turns now until a context fits `max_tokens`. With `summarize`, create a job that
        summarises all but the recent turns. With `semantic`, keep now what matters most to the topic. Raises
        `NotFound`, `Unavailable`.
        """
        arm = Arm(self.sessions, self.clock)
        if strategy == "semantic":
            return arm.keep(scope, max_tokens=max_tokens, topic=topic, near=self.near)
        return (arm.drop if strategy == "fifo" else arm.fold)(scope, max_tokens=max_tokens)

    def compact(self, scope: SessionScope, *, wait: float) -> WhyNot | None:
        """Make room if the window passes its trigger, and wait at most `wait` seconds for a job that does. Returns why
        nothing was done, if nothing was.
        """
        requested = Arm(self.sessions, self.clock)(scope, again=True)
        if requested.job is not None:
            ReadJob(self.jobs, self.clock)(scope.owner, requested.job, wait=wait)
        return requested.why_not


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
    return own.model_copy(update={"fold_at_least": 1, "max_tokens": max_tokens or own.max_tokens})
