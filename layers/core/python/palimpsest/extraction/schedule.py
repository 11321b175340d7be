"""What a conversation asks of long-term memory: the epoch that it begins in, and when its next extraction is due."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.buffer import armed_extraction, buffered_turns
from palimpsest.conversations.history import live
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit, Head
from palimpsest.extraction.jobs import OUTAGES, again
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Memories
from palimpsest.retry import until_committed
from palimpsest.scope import SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class LongTerm:
    memories: Memories
    jobs: Jobs

    def epoch(self, scope: UserScope) -> int:
        return self.memories.user(scope).epoch

    def armed(self, head: Head, scope: SessionScope, *, now: int, always: bool = False) -> tuple[Head, tuple[Job, ...]]:
        """The head with what nobody extracts yet given to a job, and the job, for one transaction: by the session's own
        rule, or `always`.
        """
        if not (always or self._is_due(head, scope, now)):
            return head, ()
        armed = armed_extraction(head, tenant=scope.tenant, session=scope.session, now=now)
        return (head, ()) if armed is None else (armed[0], (armed[1],))

    def _is_due(self, head: Head, scope: SessionScope, now: int) -> bool:
        """Whether enough turns wait, and no extraction before them is under way or waits for a model that is down. So
        such a model is asked by one job at a time, however much is said meanwhile.
        """
        if not 0 < head.extract_turns <= buffered_turns(head):
            return False
        last = self.jobs.get(scope.owner, head.extract_job) if head.extract_job else None
        while last is not None and last.state == "failed" and last.error in OUTAGES:
            if last.due_at is not None:
                return False
            last = self.jobs.get(scope.owner, again(last, first=last.first, now=now).id)
        return last is None or last.has_ended


MAX_BUFFER_TURNS = 5


@dataclass(frozen=True, slots=True)
class Requested:
    """The job that extracts what was said last (None: nothing was ever to be extracted); `armed`: it is a new one."""

    job_id: str | None
    armed: bool


@dataclass(frozen=True, slots=True)
class RequestExtraction:
    sessions: Sessions
    long_term: LongTerm
    clock: Clock

    def __call__(
        self, scope: SessionScope, *, if_needed: bool = False, max_buffer_turns: int | None = None
    ) -> Requested:
        """Arm a job over the messages after the last armed one, if there are any. With `if_needed` only if at least
        `max_buffer_turns` whole turns wait (default: the session's own number).

        Raises `NotFound`, `Unavailable`.
        """

        def attempt() -> Requested:
            head, _ = live(self.sessions.open(scope, settings=True), now=self.clock.now())
            enough = max_buffer_turns or head.extract_turns or MAX_BUFFER_TURNS
            return self._arm(scope, head, always=not if_needed or buffered_turns(head) >= enough)

        return until_committed(attempt, clock=self.clock)

    def due(self, scope: SessionScope) -> None:
        """After a job's end: arm the next one if the session's rule asks for it."""

        def attempt() -> None:
            head = self.sessions.open(scope).head
            if head is not None and not head.is_gone(seconds(self.clock.now())):
                self._arm(scope, head, always=False)

        until_committed(attempt, clock=self.clock)

    def _arm(self, scope: SessionScope, head: Head, *, always: bool) -> Requested:
        after, jobs = self.long_term.armed(head, scope, now=seconds(self.clock.now()), always=always)
        if not jobs:
            return Requested(head.extract_job, armed=False)
        self.sessions.commit(scope, Commit(before=head, after=replace(after, version=head.version + 1), jobs=jobs))
        return Requested(jobs[0].id, armed=True)
