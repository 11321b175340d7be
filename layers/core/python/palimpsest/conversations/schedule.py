"""When the messages of a session are given to the next extraction."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.conversations.buffer import OUTAGES, armed_extraction, buffered_turns
from palimpsest.conversations.session import Head
from palimpsest.jobs.job import Job, another_attempt
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import SessionScope


@dataclass(frozen=True, slots=True)
class ExtractionSchedule:
    """Decides when the messages of a session are given to the next extraction."""

    jobs: Jobs

    def armed(self, head: Head, scope: SessionScope, *, now: int, always: bool = False) -> tuple[Head, tuple[Job, ...]]:
        """The head and the job of the next extraction, for one transaction; the head as it is and no job if none is due
        by the session's own rule (or there is nothing to extract).

        `always` arms it whether or not it is due. `now` is epoch seconds. Raises `Unavailable`.
        """
        if not (always or self._is_due(head, scope, now)):
            return head, ()
        armed = armed_extraction(head, tenant=scope.tenant, session=scope.session, now=now)
        return (head, ()) if armed is None else (armed[0], (armed[1],))

    def _is_due(self, head: Head, scope: SessionScope, now: int) -> bool:
        """Whether enough turns wait, and no extraction before them is under way or waits for a model that is down. So
        such a model is asked by one job at a time, however many messages come meanwhile.
        """
        if not 0 < head.extract_turns <= buffered_turns(head):
            return False
        last = self.jobs.get(scope.owner, head.extract_job) if head.extract_job else None
        while last is not None and last.state == "failed" and last.error in OUTAGES:
            if last.due_at is not None:
                return False
            last = self.jobs.get(scope.owner, another_attempt(last, now=now).id)
        return last is None or last.has_ended
