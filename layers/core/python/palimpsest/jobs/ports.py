"""The queues between the streams and the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.job import Job
from palimpsest.jobs.kinds import JobKind
from palimpsest.scope import Scope, UserScope


@dataclass(frozen=True, slots=True)
class JobNotice:
    """What travels: names, never text."""

    tenant: str
    job_id: str
    kind: JobKind


@dataclass(frozen=True, slots=True)
class RecordChanged:
    """A record was written, changed or removed: its search document may be out of date."""

    tenant: str
    user: str
    record_id: str


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """A message was appended or removed. Whose it is says its session's head, also after the session was deleted."""

    tenant: str
    session: str
    seq: int


Changed = RecordChanged | MessageChanged


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stream record that cannot be read. `name` is JSON with its event id and the keys of its item, and no text."""

    name: str


StreamRecord = JobNotice | Changed | Unreadable
"""What one record of a table's stream tells of."""


class Queues(Protocol):
    def send(self, notices: Sequence[JobNotice]) -> None:
        """Hand each notice to the queue of its kind, at least once. Raises `Unavailable` if any could not be sent."""

    def send_changes(self, changes: Sequence[Changed]) -> None:
        """Hand each to the queue of what brings the search index up to date, at least once and in any order: they name
        what changed, and the reader looks up what it is now. Raises `Unavailable` if any could not be sent.
        """

    def park(self, record: str) -> None:
        """Set a stream record aside that can't be read: its event id and keys only. Raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Due:
    """What has come due: a job (`job_id`) or the settings of a session (`session_id`)."""

    tenant: str
    job_id: str | None
    session_id: str | None


class Jobs(Protocol):
    """Jobs are put with what caused them, by the stores' commits; here they are read and moved on. Errors as for
    `Sessions`.
    """

    def put(self, job: Job) -> None:
        """Put a job that nothing else is written with. Raises `CommitLost` if its id exists."""

    def get(self, scope: Scope, job_id: str) -> Job | None:
        """The job, read strongly."""

    def listed(
        self, scope: UserScope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        """A user's jobs by creation, without the steps they take, and where the next page goes on. Eventually
        consistent. Raises `BadRequest` (`invalid_cursor`).
        """

    def start(self, job: Job) -> None:
        """Mark a pending job as running; does nothing in any other state."""

    def mark(self, job: Job, part: str) -> None:
        """Add a part to what the job has stored; does nothing if it has ended."""

    def finish(self, job: Job) -> None:
        """Replace state, due_at, error, result and usage of a job that has not ended. Raises `CommitLost` if it has
        ended, or lacks a part that is `needed`.
        """

    def settle(self, job: Job, *, due_at: int | None) -> None:
        """Change when the sweep looks at a job again; None = never."""

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        """What has come due at `now`, at most `limit` of each shard, oldest first. Eventually consistent."""
