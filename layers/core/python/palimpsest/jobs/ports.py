"""The ports of job stores, queues, the bus to which events are published, and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.kinds import Queue
from palimpsest.scope import Scope, UserScope

KeepsCalls = Callable[[Job, UserScope], AbstractContextManager[None]]
"""Keeps the model calls of a block as calls of the job, which works on data of the user."""


class Queues(Protocol):
    def send(self, notices: Sequence[JobNotice]) -> None:
        """Send each notice to the queue of its kind, at least once. Raises `Unavailable` if any
        could not be sent.
        """

    def send_changes(self, changes: Sequence[Changed]) -> None:
        """Send each change to the indexer's queue, at least once and in any order. A change only
        names the changed item, because the indexer reads the item's present state. Raises
        `Unavailable` if any change could not be sent.
        """

    def send_events(self, events: Sequence[Happened]) -> None:
        """Send events that the bus refused to a queue of their own, at least once. They are
        published from that queue later. Raises `Unavailable` if any event could not be sent.
        """

    def park(self, record: str) -> None:
        """Send an unreadable stream record to the parked queue, with its event id and keys only.
        Raises `Unavailable`.
        """


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits for a place in its queue. `since` is when it was created (epoch seconds)."""

    job_id: str
    since: int


class Shares(Protocol):
    """The jobs of each tenant and queue: the jobs under way, whose messages are in the queue, and
    the waiting jobs. Every read is strongly consistent. Every call is safe to repeat and raises
    `Unavailable`.
    """

    def enter(self, scope: Scope, queue: Queue, job_id: str, *, most: int) -> bool:
        """Count the job as under way and return True, also if it was under way before. Return False
        if `most` other jobs are under way.
        """

    def leave(self, scope: Scope, queue: Queue, job_id: str) -> None:
        """Count the job as no longer under way."""

    def under_way(self, scope: Scope, queue: Queue) -> frozenset[str]:
        """The ids of the jobs that are under way."""

    def wait(self, scope: Scope, queue: Queue, job_id: str, *, since: int) -> None:
        """Add the job to the waiting jobs. It stays among them until `call`, even if it enters the
        queue before.
        """

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
    """An item that is due: a job (`job_id`) or the settings of a session (`session_id`)."""

    tenant: str
    job_id: str | None
    session_id: str | None


class Jobs(Protocol):
    """The store of jobs. Most jobs are stored by the commit that caused them. This store reads and
    updates them. Its errors are those of `Sessions`.
    """

    def put(self, job: Job) -> None:
        """Store a job outside any other commit. Raises `CommitLost` if its id exists."""

    def get(self, scope: Scope, job_id: str) -> Job | None:
        """Return the job, or None if there is none. The read is strongly consistent."""

    def listed(
        self, scope: UserScope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        """Return a user's jobs by creation, without their steps, and the cursor of the next page.
        The read is eventually consistent. Raises `BadRequest` (`invalid_cursor`).
        """

    def failed(
        self, scope: Scope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        """Return the tenant's jobs that have failed, including steps. Order, pages and errors are
        those of `listed`.
        """

    def start(self, job: Job) -> None:
        """Mark the stored job as running, with the `due_at` of `job`. Does nothing if the stored
        job has ended, or rests because other jobs do its work.
        """

    def mark(self, job: Job, part: str) -> None:
        """Add a stored part to the job. Does nothing if the stored job has ended."""

    def spend(self, job: Job, used: Mapping[str, int]) -> None:
        """Add the usage of failed model calls to the requested job (`job.root`). The usage is added
        only once. Does nothing if the requested job is gone.
        """

    def finish(self, job: Job) -> None:
        """Replace `state`, `due_at`, `error`, `result` and `usage` of a stored job that has not
        ended. Raises `CommitLost` if the stored job has ended, or lacks a part that is `needed`.
        """

    def settle(self, job: Job, *, due_at: int | None, state: JobState | None = None) -> None:
        """Change when the sweep looks at the job again (None: never), and set `lost` and `tries` as
        in `job`. With `state`, change it only while the stored job is in that state.
        """

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        """Yield the items that are due at `now`, oldest first, at most `limit` of each shard. Each
        minute begins at another shard. The read is eventually consistent.
        """


class GivesUp(Protocol):
    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Mark the job as failed, with the error code `error`."""


class Hide(Protocol):
    def __call__(self, *receipt_handles: str, seconds: int) -> None:
        """Make the queue deliver the messages again after `seconds`. Raises `Unavailable`."""


class Tries(Protocol):
    """The failed tries at a job, which the job itself counts. A queue can't count them, because it
    also counts deliveries to functions that were throttled and never ran. Every call raises
    `Unavailable`.
    """

    def has_failed(self, notice: JobNotice) -> bool:
        """Return whether the job was given up."""

    def failed(self, notice: JobNotice) -> int:
        """Return how many tries at the job have failed before this one."""

    def wait(self, notice: JobNotice, *, seconds: int) -> None:
        """Count a failed try. Keep the sweep from sending the job's message again for `seconds`,
        because the queue itself delivers it again after that time.
        """
