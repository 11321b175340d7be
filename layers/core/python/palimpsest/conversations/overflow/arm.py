"""Arm an overflow outside an append: after a commit, by the sweep, or because a caller asked for room."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.history import live, window
from palimpsest.conversations.lifecycle import touched
from palimpsest.conversations.overflow.plan import Armed, arm, evict, fifo, overflows
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope


@dataclass(frozen=True, slots=True)
class Arm:
    sessions: Sessions
    clock: Clock

    def __call__(self, scope: SessionScope, *, at_once: bool = False) -> str | None:
        """Do what the window's overflow asks for, if it passes its trigger; the id of the pending job, if there is one.

        `at_once` does not wait for the back-off after a failure.
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
        """Arm a summary of all but the recent turns, whatever the trigger says; the pending job's id, None = nothing
        to fold.
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
        """Drop the oldest turns at once until the window fits `max_tokens` (default: the session's budget)."""
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


def summarizing(config: Strategy, *, max_tokens: int | None = None) -> Summarize:
    """The configuration that a summary follows: the session's own, or the defaults under its budget."""
    own = config if isinstance(config, Summarize) else Summarize(max_tokens=config.max_tokens, model=config.model)
    return own if max_tokens is None else own.model_copy(update={"max_tokens": max_tokens})
