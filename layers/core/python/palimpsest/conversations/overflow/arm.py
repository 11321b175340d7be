"""The use cases that shrink a window outside an append: start its overflow, make room on request,
and give up a failed job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.history import live, window
from palimpsest.conversations.lifecycle import touched
from palimpsest.conversations.message import Message
from palimpsest.conversations.overflow.eviction import Armed, decide, evict, fifo
from palimpsest.conversations.ports import Near, Sessions
from palimpsest.conversations.session import Commit, Head, Settings
from palimpsest.conversations.spoken import spoken_text
from palimpsest.errors import CommitLost, NotFound
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import STUCK, Job
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.requests import ReadJob
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope

if TYPE_CHECKING:
    from palimpsest.conversations.overflow.semantic import KeptTurn

WhyNot = Literal["below_trigger", "only_recent_turns", "paused_after_failure", "fits_already"]
"""The reason why a request made no room. The window may be below its trigger. Only recent turns,
which must stay, may be left. The last overflow may have failed a short time ago. Or a context may
already fit the budget.
"""


PATIENCE, PAUSE = timedelta(seconds=3), 0.5
"""How long a pruning waits for vectors, and the seconds between its checks for them."""
YOUNG = timedelta(minutes=1)
"""The age below which a message without a vector is expected to get one soon. A pruning does not
wait for vectors of older messages.
"""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """The result of a request to make room. `job` is the id of the job that makes room; None if
    room is made already or is not made. `why_not` is the reason why no room is made. `kept` are the
    turns that a pruning by meaning kept. `has_vectors` is false if one of the messages that it
    compared had no vector.
    """

    job: str | None = None
    why_not: WhyNot | None = None
    kept: tuple[KeptTurn, ...] = ()
    has_vectors: bool = True


@dataclass(frozen=True, slots=True)
class Arm:
    sessions: Sessions
    clock: Clock

    def __call__(
        self, scope: SessionScope, *, at_once: bool = False, again: bool = False
    ) -> ArmResult:
        """If the window exceeds its trigger, evict messages or create the job that does.

        With `at_once`, there is no pause after a failed overflow. With `again`, the overflow is
        planned even if an earlier plan could evict nothing. Raises `NotFound`, `Unavailable`.
        """
        return until_committed(
            lambda: self._attempt(scope, at_once=at_once, again=again), clock=self.clock
        )

    def _attempt(self, scope: SessionScope, *, at_once: bool, again: bool) -> ArmResult:
        now = self.clock.now()
        head, settings = live(self.sessions.open(scope, settings=True), now=now)
        if head.job is not None:
            return ArmResult(head.job)
        planned = replace(head, raised=0) if again else head
        if not planned.overflows(max(seconds(now), head.not_before)):
            return ArmResult(why_not="below_trigger")
        if not (at_once or planned.overflows(seconds(now))):
            return ArmResult(why_not="paused_after_failure")
        config = parsed(dict(settings.memory))
        held = window(self.sessions, scope, head)
        decided = decide(
            planned, config, held, scope=scope, now=seconds(now), created_at=stamp(now)
        )
        if decided.overflow is None and again:
            return ArmResult(why_not="only_recent_turns")
        return _committed(self.sessions, scope, head, decided, now=now)


def _committed(
    sessions: Sessions, scope: SessionScope, before: Head, decided: Armed, *, now: datetime
) -> ArmResult:
    after = touched(decided.head, now=now)
    commit = Commit(before=before, after=after, jobs=decided.jobs, compaction=decided.compaction)
    sessions.commit(scope, commit)
    return ArmResult(after.job)


@dataclass(frozen=True, slots=True)
class Prune:
    """Makes room in a window on request. `near` compares meanings; it is None if there are no
    vectors.
    """

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
    ) -> ArmResult:
        """Make room in the window by a strategy.

        With `fifo`, drop the oldest turns now until a context fits `max_tokens` (default: the
        session's budget). With `summarize`, create a job that summarises all but the recent turns,
        even if the window is not full. With `semantic`, keep the recent turns, and the turns that
        matter most to the topic (default: the user's newest message), within `max_tokens`. This
        waits up to three seconds for vectors of messages that were just stored. Raises `NotFound`,
        `Unavailable`.
        """
        until = self.clock.now() + PATIENCE

        def attempt() -> ArmResult:
            now = self.clock.now()
            head, settings = live(self.sessions.open(scope, settings=True), now=now)
            budget = max_tokens or head.max_tokens
            if strategy == "summarize":
                config = summarizing(parsed(dict(settings.memory)), max_tokens=max_tokens)
                return self._fold(scope, head, config, now=now)
            if head.tokens <= budget:
                return ArmResult(why_not="fits_already")
            if strategy == "fifo":
                return self._drop(scope, head, budget, now=now)
            return self._keep(scope, head, budget, topic, until=until)

        return until_committed(attempt, clock=self.clock)

    def _fold(
        self, scope: SessionScope, head: Head, config: Summarize, *, now: datetime
    ) -> ArmResult:
        if head.job is not None:
            return ArmResult(head.job)
        held = window(self.sessions, scope, head)
        decided = decide(head, config, held, scope=scope, now=seconds(now), created_at=stamp(now))
        if not decided.jobs:
            return ArmResult(why_not="only_recent_turns")
        return _committed(self.sessions, scope, head, decided, now=now)

    def _drop(self, scope: SessionScope, head: Head, budget: int, *, now: datetime) -> ArmResult:
        eviction = fifo(head, window(self.sessions, scope, head), budget=budget)
        if eviction is None:
            return ArmResult(why_not="only_recent_turns")
        decided = evict(head, eviction, method="fifo", created_at=stamp(now))
        return _committed(self.sessions, scope, head, decided, now=now)

    def _keep(
        self, scope: SessionScope, head: Head, budget: int, topic: str | None, *, until: datetime
    ) -> ArmResult:
        from palimpsest.conversations.overflow.semantic import contested, prune

        pinned = (
            self.sessions.messages_at(scope, [seq for seq, _ in head.pins]) if head.pins else ()
        )
        held = (
            *(message for message in pinned if not head.is_withdrawn(message.seq)),
            *window(self.sessions, scope, head),
        )
        questions = (spoken_text(message) for message in reversed(held) if message.role == "user")
        question = topic or next(filter(None, questions), "")
        compared = contested(head, held, budget=budget)
        similar = self._similar(scope, head, question, compared, until=until)
        now = self.clock.now()
        pruned = prune(
            head, held, budget=budget, topic=question, near=similar, created_at=stamp(now)
        )
        if pruned is None:
            return ArmResult(why_not="only_recent_turns")
        _committed(
            self.sessions, scope, head, Armed(pruned.head, compaction=pruned.compaction), now=now
        )
        return ArmResult(
            kept=pruned.kept, has_vectors=all(message.seq in similar for message in compared)
        )

    def _similar(
        self,
        scope: SessionScope,
        head: Head,
        topic: str,
        messages: Sequence[Message],
        *,
        until: datetime,
    ) -> Mapping[int, float]:
        """Return the similarity to the topic of each message that has a vector. For messages that
        were just stored, this waits for their vectors until the time `until`.
        """
        if self.near is None or not messages or not topic.strip():
            return {}
        compare = self.near(scope.owner.user(head.user), scope, topic, stored=head.seq - head.base)
        similar = compare(messages) if compare else None
        while compare and similar is not None and self._is_worth_waiting(messages, similar, until):
            self.clock.sleep(PAUSE)
            similar = compare(messages)
        return similar or {}

    def _is_worth_waiting(
        self, messages: Sequence[Message], similar: Mapping[int, float], until: datetime
    ) -> bool:
        """Return whether a message without a vector is so young that it may still get one in
        time.
        """
        now = self.clock.now()
        lacking = [message.created_at for message in messages if message.seq not in similar]
        return now < until and any(
            datetime.fromisoformat(stored) > now - YOUNG for stored in lacking
        )

    def compact(self, scope: SessionScope, *, wait: float) -> WhyNot | None:
        """If the window exceeds its trigger, make room, and wait at most `wait` seconds for the
        job. Returns the reason if no room is made, else None.
        """
        requested = Arm(self.sessions, self.clock)(scope, again=True)
        return self._waited(scope, requested, wait=wait)

    def fold(self, scope: SessionScope, *, budget: int, wait: float) -> WhyNot | None:
        """Create a job that summarises all but the recent turns which fit a context of this budget,
        even if the window is below its trigger. Wait at most `wait` seconds for the job. Returns
        the reason if no job was created, else None.
        """
        requested = self(scope, strategy="summarize", max_tokens=budget)
        return self._waited(scope, requested, wait=wait)

    def _waited(self, scope: SessionScope, requested: ArmResult, *, wait: float) -> WhyNot | None:
        if requested.job is not None:
            ReadJob(self.jobs, self.clock)(scope.owner, requested.job, wait=wait)
        return requested.why_not


@dataclass(frozen=True, slots=True)
class OverflowJobs:
    """The steps that all workers of overflow jobs share: begin a job, give up a job, and restart a
    failed overflow.
    """

    sessions: Sessions
    jobs: Jobs
    clock: Clock

    def take_up(self, notice: JobNotice) -> tuple[Job, Head, Settings] | None:
        """Begin the job, and return it with its session's head and settings. Returns None if there
        is nothing to do: the job does not exist or is done, or its session no longer waits for it.
        A job that had failed is not begun; the overflow of its session is started again instead.
        """
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.state == "done":
            return None
        if job.state == "failed":
            self.arm(job, at_once=True)
            return None
        opened = self.sessions.open(_session(job), settings=True)
        if opened.head is None or opened.settings is None or opened.head.job != job.id:
            self.discard(job)
            return None
        self.jobs.start(job.begun(now=seconds(self.clock.now())))
        return job, opened.head, opened.settings

    def discard(self, job: Job) -> None:
        """End a job for which its session no longer waits."""
        with suppress(CommitLost):
            # another delivery of the same message has ended the job meanwhile
            self.jobs.finish(replace(job, state="done", due_at=None, error="overtaken"))

    def arm(self, job: Job, *, at_once: bool = False) -> str | None:
        """Start the next overflow of the job's session if it is due, and return the id of its
        job.
        """
        with suppress(NotFound):  # the session was deleted meanwhile, so it needs no room
            return Arm(self.sessions, self.clock)(_session(job), at_once=at_once).job
        return None

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        """Mark a job as failed after its last attempt, with this error code. Its session then
        pauses before the next overflow, which the sweep or an append starts. Raises `Unavailable`.
        """
        until_committed(lambda: self._give_up(notice, error), clock=self.clock)

    def _give_up(self, notice: JobNotice, error: str) -> None:
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is None or job.has_ended:
            return
        now = seconds(self.clock.now())
        delay = retry_delay(job.attempt)
        failed = replace(job, state="failed", error=error, due_at=now + delay)
        head = self.sessions.open(_session(job)).head
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
        self.sessions.commit(
            _session(job), Commit(before=head, after=after, guard="window", finished=failed)
        )

    def restart(self, job: Job) -> None:
        """Restart an overflow. A job that is stuck is marked as failed, and restarted after a
        pause. The overflow of a failed job is started again.
        """
        if not job.has_ended:
            self.give_up(JobNotice(job.tenant, job.id, job.kind), error=STUCK)
            return
        self.arm(job)
        self.jobs.settle(job, due_at=None)


def _session(job: Job) -> SessionScope:
    return Scope(job.tenant).session(job.session)


def summarizing(config: Strategy, *, max_tokens: int | None = None) -> Summarize:
    """Return the configuration for a summary: the session's own if its strategy is summarize,
    otherwise the defaults with the session's budget. `max_tokens` overrides the budget.
    """
    own = (
        config
        if isinstance(config, Summarize)
        else Summarize(max_tokens=config.max_tokens, model=config.model)
    )
    return own.model_copy(update={"fold_at_least": 1, "max_tokens": max_tokens or own.max_tokens})
