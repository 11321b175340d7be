"""List the jobs of a user, or of one session: what was asked for, and what happened by itself."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.conversations.ports import Sessions
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import Scope

PAGES_PER_LIST = 5


@dataclass(frozen=True, slots=True)
class ListJobs:
    sessions: Sessions
    jobs: Jobs

    def __call__(
        self,
        scope: Scope,
        *,
        user: str | None = None,
        session: str | None = None,
        state: JobState | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> tuple[tuple[Job, ...], str | None]:
        """A page of jobs by creation, and where the next begins. A page may be short while filters leave things out.

        A session's jobs are found among its user's, also after it was deleted. Raises `Unprocessable` if neither is
        named.
        """
        if session is not None:
            head = self.sessions.open(scope.session(session)).head
            if head is None or user not in (None, head.user):
                return (), None
            user = head.user
        if user is None:
            error = FieldError("user_id", "is required, or session_id")
            raise Unprocessable("Name a user or a session.", errors=(error,))
        found: list[Job] = []
        for _ in range(PAGES_PER_LIST):
            page, after = self.jobs.listed(
                scope.user(user), limit=limit - len(found), after=after, newest_first=newest_first
            )
            found += [job for job in page if session in (None, job.session) and state in (None, job.state)]
            if after is None or len(found) >= limit:
                break
        return tuple(found), after
