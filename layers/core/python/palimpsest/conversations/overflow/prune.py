"""Make room because a caller asks: drop the oldest turns, or have them summarised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.clock import Clock
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.ports import Sessions
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.read import ReadJob
from palimpsest.scope import SessionScope


@dataclass(frozen=True, slots=True)
class Prune:
    sessions: Sessions
    jobs: Jobs
    clock: Clock

    def __call__(
        self,
        scope: SessionScope,
        *,
        strategy: Literal["fifo", "summarize"],
        max_tokens: int | None = None,
        wait: float = 0,
    ) -> Job | None:
        """`fifo` drops the oldest turns until the window fits, at once; `summarize` arms a summary of all but the
        recent turns.

        Returns the job of the summary as it is after at most `wait` seconds; None if there is none to wait for.
        """
        arm = Arm(self.sessions, self.clock)
        if strategy == "fifo":
            arm.drop(scope, max_tokens=max_tokens)
            return None
        return self._awaited(scope, arm.fold(scope, max_tokens=max_tokens), wait)

    def compact(self, scope: SessionScope, *, wait: float) -> Job | None:
        """Arm the overflow if the window passes its trigger and none is pending, and wait for its commit."""
        return self._awaited(scope, Arm(self.sessions, self.clock)(scope), wait)

    def _awaited(self, scope: SessionScope, job_id: str | None, wait: float) -> Job | None:
        if job_id is None:
            return None
        return ReadJob(self.jobs, self.clock)(scope.owner, job_id, wait=wait)
