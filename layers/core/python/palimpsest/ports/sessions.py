"""The conversation store: heads, settings, messages, compactions and keys of one session, and the jobs beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.domain.jobs import Job
from palimpsest.domain.messages import Message
from palimpsest.domain.scope import Scope, SessionScope, UserScope
from palimpsest.domain.session import Commit, Compaction, Head, IdempotencyKey, Settings


@dataclass(frozen=True, slots=True)
class Opened:
    """What one read of a session gave."""

    head: Head | None
    settings: Settings | None = None
    key: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of session ids; `after` is where the next page goes on, None at the end."""

    sessions: tuple[str, ...]
    after: str | None


class Sessions(Protocol):
    """Every read is strongly consistent, except `listed`. Every call raises `Unavailable` if the store can't answer
    after bounded retries; a store error is never an empty answer. Tombstones are returned as they are: the caller
    decides.
    """

    def open(self, scope: SessionScope, *, settings: bool = False, key: str | None = None) -> Opened:
        """The head, and what else is asked for, in one round trip (not one snapshot)."""

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        """Write all of it, once, or nothing. Raises `CommitLost` if a guard fails or another transaction is under way.

        `Unavailable` leaves open whether it was written; the same append with its key then tells.
        """

    def messages(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, page: int | None = None
    ) -> Iterator[Message]:
        """Messages with first <= seq <= last in order of seq, read page by page (at most `page` at a time) as the
        caller goes on: a caller that stops early reads no further. Gaps are where messages were withdrawn.
        """

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        """The messages with these sequence numbers (at most 100) that exist, in order of seq."""

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        """The compaction that reaches through `last`."""

    def compactions(
        self, scope: SessionScope, *, first: int, last: int, newest_first: bool = False, limit: int | None = None
    ) -> tuple[Compaction, ...]:
        """Compactions with first <= their `last` <= last."""

    def listed(
        self, scope: Scope, *, user: str | None, limit: int, after: str | None = None, newest_first: bool = True
    ) -> Listed:
        """Session ids of a tenant (of one user: by creation; of all: by user, then creation). Eventually consistent.

        Raises `BadRequest` (`invalid_cursor`) for an `after` that it did not hand out or that belongs to another
        tenant or user.
        """

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        """Delete messages and compactions with first <= seq <= last, page by page; safe to repeat; returns how many
        went.

        With `whole` also keys and settings of a life of the session that ended at or before `last`; the head stays.
        """

    def reschedule(self, scope: SessionScope, *, base: int, due_at: int | None) -> None:
        """Set when the sweep next looks at the settings of that life of the session; does nothing if they are gone."""


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
