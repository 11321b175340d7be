"""What a conversation asks of long-term memory: the epoch that it begins in, and when its next extraction is due."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.extraction_jobs import OUTAGES, again, armed_extraction, buffered_turns
from palimpsest.domain.jobs import Job
from palimpsest.domain.scope import SessionScope, UserScope
from palimpsest.domain.session import Head
from palimpsest.ports.memories import Memories
from palimpsest.ports.sessions import Jobs


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
