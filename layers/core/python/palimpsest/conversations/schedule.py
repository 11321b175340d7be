"""The rule for when the next extraction of a session is due."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.conversations.lifecycle import armed_extraction, buffered_turns
from palimpsest.conversations.session import Head
from palimpsest.jobs.attempts import newest_attempt
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import SessionScope

OUTAGES = frozenset({"model_unavailable", "unavailable", "contention"})
"""Errors that would also make the next extraction fail. Any other error may be caused by the
messages themselves.
"""


@dataclass(frozen=True, slots=True)
class ExtractionSchedule:
    """Decides when the next extraction job of a session is created."""

    jobs: Jobs

    def armed(
        self, head: Head, scope: SessionScope, *, now: int, always: bool = False
    ) -> tuple[Head, tuple[Job, ...]]:
        """Return the next extraction job and the head that records it. The caller commits both
        together. If no job is due, or if nothing is left to extract, return the unchanged head and
        no job.

        With `always`, the job is created whether or not it is due. `now` is in epoch seconds.
        Raises `Unavailable`.
        """
        if not (always or self._is_due(head, scope)):
            return head, ()
        return armed_extraction(head, scope, now=now)

    def _is_due(self, head: Head, scope: SessionScope) -> bool:
        """Return whether enough turns wait, and no earlier extraction of the session is running or
        waiting for a model that is unavailable. So only one job of a session calls such a model at
        a time, however many messages arrive meanwhile.
        """
        if not 0 < head.extract_turns <= buffered_turns(head):
            return False
        last = self.jobs.get(scope.owner, head.extract_job) if head.extract_job else None
        if last is not None and last.state == "failed" and last.error in OUTAGES:
            # The first attempt stays failed. Only the newest one shows whether the outage lasts.
            last = newest_attempt(last, lambda name: self.jobs.get(scope.owner, name))
            if last.error in OUTAGES and last.due_at is not None:
                return False
        return last is None or last.has_ended
