"""Removes the data of messages that were deleted with their session, or withdrawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palimpsest.clock import Clock
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.session import Commit
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.removal.memories_of_session import ForgetMemoriesOfSession
from palimpsest.memory.removal.transactions import RemovesExports, counted, no_exports
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, SessionScope


@dataclass(frozen=True, slots=True)
class RemoveFromSession:
    sessions: Sessions
    steps: UserSteps
    clock: Clock
    forget: ForgetMemoriesOfSession
    contents: Contents
    exports: RemovesExports = no_exports

    def __call__(self, notice: JobNotice) -> None:
        """Do a removal job. Memories that were made only from withdrawn messages are removed too. A
        later session with the same id is not changed, because its sequence numbers are above the
        job's range.

        Safe to repeat, but then the count may be lower. Raises `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        scope = Scope(job.tenant).session(job.session)
        is_withdrawn = job.kind == "withdraw"
        # Release 0.1.0 kept the memories of withdrawn messages, and would take `forgets` in the
        # payload of such a job for the whole session.
        forgets = is_withdrawn or job.payload_as(RemovalPayload).forgets
        result = {"forgotten": self.forget(job)} if forgets else {}
        result["removed"] = self.sessions.remove(
            scope, first=job.first, last=job.last, whole=job.kind == "delete"
        )
        self.contents.remove(scope, first=job.first, last=job.last)
        if is_withdrawn:
            until_committed(
                lambda: self._forget_range(scope, (job.first, job.last)), clock=self.clock
            )
        if job.user is not None and not self._had_expired(scope, job):
            result |= counted(self.exports(scope.owner.user(job.user)))
        self.steps.end(job, result)

    def _had_expired(self, scope: SessionScope, job: Job) -> bool:
        """Return whether the session is removed because it expired. Exports that were made before
        then keep its data.
        """
        head = self.sessions.open(scope).head
        is_of_job = head is not None and head.status == "deleted" and head.seq == job.last
        return is_of_job and head is not None and head.is_over(head.updated_second)

    def _forget_range(self, scope: SessionScope, gone: tuple[int, int]) -> None:
        """Remove the range from the head. Its messages are removed, so they need not be hidden."""
        head = self.sessions.open(scope).head
        if head is not None and gone in head.withdrawn:
            rest = tuple(span for span in head.withdrawn if span != gone)
            self.sessions.commit(
                scope,
                Commit(before=head, after=replace(head, withdrawn=rest, version=head.version + 1)),
            )
