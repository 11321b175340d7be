"""The stores and queues of jobs, and the bus that events are published to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.kinds import Queue
from palimpsest.scope import Scope, UserScope


class Queues(Protocol):
    def send(self, notices: Sequence[JobNotice]) -> None:
        """Send each notice to the queue of its kind, at least once. Raises `Unavailable` if any
        could not be sent.
        """

    def send_changes(self, changes: Sequence[Changed]) -> None:
        """Send each change to the queue of the indexer, at least once and in any order. A change
        only names what changed; the indexer reads its present state. Raises `Unavailable` if any
        could not be sent.
        """

    def send_events(self, events: Sequence[Happened]) -> None:
        """Send each event that the bus did not take to a queue of its own, from which it is
        published later, at least once. Raises `Unavailable` if any could not be sent.
        """

    def park(self, record: str) -> None:
        """Send a stream record that can't be read (event id and keys only) to the parked queue.
        Raises `Unavailable`.
        """


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits for a place in its queue. `since` is its creation (epoch seconds)."""

    job_id: str
    since: int


class Shares(Protocol):
    """For each tenant and queue: the jobs under way, whose messages are in the queue, and the
    waiting jobs. Every read is strongly consistent, every call is safe to repeat, and raises
    `Unavailable`.
    """

    def enter(self, scope: Scope, queue: Queue, job_id: str, *, most: int) -> bool:
        """Count the job as under way, and return True, also if it was under way already. Return
        False if `most` others are under way.
        """

    def leave(self, scope: Scope, queue: Queue, job_id: str) -> None:
        """Count the job as not under way any more."""

    def under_way(self, scope: Scope, queue: Queue) -> frozenset[str]:
        """The ids of the jobs that are under way."""

    def wait(self, scope: Scope, queue: Queue, job_id: str, *, since: int) -> None:
        """Add the job to the waiting jobs. It stays there until `call`, even if it enters."""

    def waiting(self, scope: Scope, queue: Queue) -> Iterator[Waiting]:
        """The waiting jobs, oldest first. They are read page by page while the caller iterates."""

    def call(self, scope: Scope, queue: Queue, waiting: Waiting) -> None:
        """Remove the job from the waiting jobs."""


class EventBus(Protocol):
    def publish(self, events: Sequence[Happened]) -> None:
        """Publish up to 10 events, each at least once. Raises `Unavailable` if any could not be
        published.
        """


@dataclass(frozen=True, slots=True)
class Due:
    """A due item: a job (`job_id`) or the settings of a session (`session_id`)."""

    tenant: str
    job_id: str | None
    session_id: str | None


class Jobs(Protocol):
    """The store of jobs. Most jobs are stored by the commit that caused them; here they are read
    and updated. Errors as for `Sessions`.
    """

    def put(self, job: Job) -> None:
        """Store a job on its own. Raises `CommitLost` if its id exists."""

    def get(self, scope: Scope, job_id: str) -> Job | None:
        """The job, by a strongly consistent read; None if there is none."""

    def listed(
        self, scope: UserScope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        """A user's jobs by creation, without their steps, and the cursor of the next page.
        Eventually consistent. Raises `BadRequest` (`invalid_cursor`).
        """

    def failed(
        self, scope: Scope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        """The tenant's jobs that have failed, steps included. Order, pages and errors are as for
        `listed`.
        """

    def start(self, job: Job) -> None:
        """Mark the job as running, to be looked at when this one is due. Does nothing if the stored
        job has ended, or rests because other jobs do its work.
        """

    def mark(self, job: Job, part: str) -> None:
        """Add a part to the stored job. Does nothing if it has ended."""

    def spend(self, job: Job, used: Mapping[str, int]) -> None:
        """Add, once, to the usage of failed model calls in the requested job (`job.root`). Does
        nothing if that job is gone.
        """

    def finish(self, job: Job) -> None:
        """Replace state, due_at, error, result and usage of a job that has not ended. Raises
        `CommitLost` if it has ended, or lacks a part that is `needed`.
        """

    def settle(self, job: Job, *, due_at: int | None, state: JobState | None = None) -> None:
        """Change when the sweep looks at a job again; None = never. `lost` becomes that of this
        job. With `state`, only while the job is in it.
        """

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        """The items that are due at `now`, at most `limit` of each shard, oldest first. Eventually
        consistent.
        """
