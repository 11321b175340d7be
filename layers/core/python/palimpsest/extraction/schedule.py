"""Starts the job that extracts a session's messages, when a caller asks for it or after the job
before has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.history import live
from palimpsest.conversations.lifecycle import buffered_turns
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.conversations.session import Commit, Head
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope

MAX_BUFFER_TURNS = 5


@dataclass(frozen=True, slots=True)
class Requested:
    """The result of a request to extract: the job that extracts the newest messages (None: there
    never were any), and whether this call created it (`armed`).
    """

    job_id: str | None
    armed: bool


@dataclass(frozen=True, slots=True)
class RequestExtraction:
    sessions: Sessions
    schedule: ExtractionSchedule
    clock: Clock

    def __call__(
        self, scope: SessionScope, *, if_needed: bool = False, max_buffer_turns: int | None = None
    ) -> Requested:
        """Create a job for the messages that no job covers, if there are any. With `if_needed`,
        create it only if at least `max_buffer_turns` whole turns wait (default: the session's own
        number). Raises `NotFound`, `Unavailable`.
        """

        def attempt() -> Requested:
            head, _ = live(self.sessions.open(scope, settings=True), now=self.clock.now())
            enough = max_buffer_turns or head.extract_turns or MAX_BUFFER_TURNS
            return self._arm(scope, head, always=not if_needed or buffered_turns(head) >= enough)

        return until_committed(attempt, clock=self.clock)

    def arm_next(self, scope: SessionScope) -> None:
        """After a job has ended, create the next one if the session's configuration asks for it."""

        def attempt() -> None:
            head = self.sessions.open(scope).head
            if head is not None and not head.is_gone(seconds(self.clock.now())):
                self._arm(scope, head, always=False)

        until_committed(attempt, clock=self.clock)

    def _arm(self, scope: SessionScope, head: Head, *, always: bool) -> Requested:
        after, jobs = self.schedule.armed(head, scope, now=seconds(self.clock.now()), always=always)
        if not jobs:
            return Requested(head.extract_job, armed=False)
        self.sessions.commit(
            scope, Commit(before=head, after=replace(after, version=head.version + 1), jobs=jobs)
        )
        return Requested(jobs[0].id, armed=True)
