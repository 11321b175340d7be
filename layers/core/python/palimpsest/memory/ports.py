"""The protocol of the long-term store. Each user has one partition with records, topics, progress
of extraction, and the user's epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.clock import day_of
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job
from palimpsest.memory.burials import Burial
from palimpsest.memory.ended_on import EndTime, named_end
from palimpsest.memory.expiry import Walk, first_expiry
from palimpsest.memory.record import Order, Record, RecordType, Source, UserState
from palimpsest.scope import SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class Pointer:
    """The pointer of a topic. It names the topic's current record, or None if that was deleted or
    has ended. `order` is the order of the topic's last statement.

    `was` is the current record as it was read. `version` is the pointer's version as it was read,
    or 0 if there is no pointer yet. `ended` is the record that was current until the user said that
    it is no longer true. It is None if that record was deleted since, or if the topic has a current
    record. `ended_on` is the time at which it ended, if the user named one: a day, week, month or
    year in ISO 8601 ("2026-05-27", "2026-W22", "2026-05", "2026").
    """

    topic_key: str
    record: str | None
    order: Order
    version: int = 0
    was: str | None = field(default=None, compare=False)
    ended: str | None = None
    ended_on: str | None = None

    @property
    def end(self) -> EndTime | None:
        """Return when the topic's value ended, or None if `ended` is None. This is the time that
        the user named, or else the time at which the user said it.
        """
        if self.ended is None:
            return None
        if self.ended_on is not None:
            return named_end(self.ended_on)
        return EndTime(self.order[0], day_of(self.order[0]))

    @property
    def retracted_at(self) -> int | None:
        """Return when the topic's value ended or was deleted, in epoch milliseconds, or None if the
        topic has a current record.
        """
        if self.record:
            return None
        return self.end.at if self.end else self.order[0]

    @property
    def last(self) -> str | None:
        """Return the current record, or else the record that has ended."""
        return self.record or self.ended


WITHHELD = "withheld."
"""The beginning of the keys in `ChunkLine.dropped` that count withheld parts of messages."""


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """A line of the extraction ledger. It has the result for one chunk, which is the messages
    `first` through `last` of a session.

    received = extracted + skipped + parked. `skipped` counts messages by reason. `dropped` counts,
    by reason, items that the model returned and that the transcript does not support. It also
    counts the parts of messages that were not read because they are no testimony; these reasons
    begin with `WITHHELD`. They have no field of their own, because the release before this one
    could not read it.
    """

    session: str
    first: int
    last: int
    extracted: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    parked: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    records: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a session's extraction: the last extracted message, and the ranges that were
    parked. `waiting` names jobs that arrived before the messages ahead of theirs were extracted.
    The job that extracts those messages starts the waiting jobs.
    """

    session: str
    through: int = 0
    parked: tuple[tuple[int, int], ...] = ()
    waiting: tuple[str, ...] = ()
    version: int = 0  # as read; 0 if nothing is stored yet


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The trace of a removed record: its sources (without quotes), and the last version of its
    search document.
    """

    sources: tuple[Source, ...]
    version: int


@dataclass(frozen=True, slots=True)
class MemoryCommit:
    """One transaction on a user's memory, no larger than `Memories.room` allows. It raises the
    user's version by one if it `changes_memory`.

    The transaction is lost in five cases. The user's epoch is not `epoch`. The id of a new record
    exists. A changed or removed record, a pointer or the progress was written since it was read.
    `job` exists. `finished` has ended. Changed records, pointers and progress hold their new values
    and the version at which they were read. The store raises that version by one.

    `said` holds records that were said again, with the new time and source (`records.said_again`),
    and records that now join a topic. `joined` is how many records had no topic and now join one.
    `removed` holds records as read. A record with a topic is listed once for each time it was said.
    Each removed record leaves a tombstone, until a record with its id is stored again.
    `removed_places` holds places that are removed from a topic while their record stays, because a
    record may have more places than one transaction can remove.

    `line` replaces a stored line that begins at the same message. `call` is stored as
    `KeyedCalls.put` does. `buried` are traces of memories that the user deleted. Each replaces an
    earlier trace with its id.
    """

    epoch: int
    new: Sequence[Record] = ()
    changed: Sequence[Record] = ()
    said: Sequence[Record] = ()
    removed: Sequence[Record] = ()
    removed_places: Sequence[Record] = ()
    pointers: Sequence[Pointer] = ()
    line: ChunkLine | None = None
    progress: Progress | None = None
    job: Job | None = None
    finished: Job | None = None
    call: KeyedCall | None = None
    joined: int = 0
    buried: Sequence[Burial] = ()

    @property
    def changes_memory(self) -> bool:
        """Return whether the commit changes what is remembered. Progress, ledger and jobs alone do
        not.
        """
        kept = (*self.new, *self.changed, *self.said, *self.pointers)
        return bool(kept or self.removed or self.removed_places or self.buried)

    @property
    def gained(self) -> int:
        """Return how many current memories the user gains by the commit. A topic has one current
        memory, or none.
        """
        new = sum(record.topic_key is None for record in self.new)
        removed = len({record.id for record in self.removed if record.topic_key is None})
        topics = sum(
            (pointer.record is not None) - (pointer.was is not None) for pointer in self.pointers
        )
        return new - removed + topics - self.joined

    @property
    def expires_at(self) -> int | None:
        """Return the earliest expiry among new and changed records, in epoch seconds, or None if
        none expires.
        """
        return first_expiry((*self.new, *self.changed))


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of records, and the cursor of the next page (None on the last page)."""

    records: tuple[Record, ...]
    after: str | None


class Memories(Protocol):
    """The store of long-term memory.

    Reads are strongly consistent, except `listed` and `users`. They return only data of the user's
    present epoch. Data that was erased before the call began is never returned. Every method raises
    `Unavailable` if the store can't answer.
    """

    def user(self, scope: UserScope) -> UserState:
        """Return the user's epoch and version. Both are 0 for an unknown user."""

    def current(self, scope: UserScope) -> int:
        """Return how many current memories the user has. That is the sum of `gained` over all
        commits.
        """

    def erase(self, scope: UserScope, *, epoch: int, job: Job) -> None:
        """Raise the user's epoch from `epoch` by one and store the job, in one transaction. From
        then on no call reads or changes the older data. Raises `CommitLost` if the user's epoch is
        not `epoch`, or if the job exists.
        """

    def room(self, commit: MemoryCommit) -> int:
        """Return how many more items fit into one transaction with this commit. The result is
        negative if the commit itself is too large.

        Each of these is one item: a record, each time that it was said, the tombstone of a removed
        record, a burial, a pointer, a line, progress, a job, a keyed call.
        """

    def commit(self, scope: UserScope, commit: MemoryCommit) -> None:
        """Write the whole commit or nothing. Raises `CommitLost`, `TooLarge`, and `ValueError` if
        `room` is negative.
        """

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Return the existing records with these ids (at most 100), in the order of the ids."""

    def tombstones(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, Tombstone]:
        """Return the tombstones of these ids (at most 100). An id has a tombstone if its record was
        removed and was not stored again.
        """

    def burials(self, scope: UserScope) -> tuple[Burial, ...]:
        """Return the traces of all memories that the user deleted."""

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        """Return the existing pointers of these topics (at most 100), each with its current record
        in `was`.
        """

    def topics(self, scope: UserScope, *, prefix: str) -> tuple[Pointer, ...]:
        """Return, by key, the pointers of all topics whose keys begin with `prefix` and which have
        a current record.
        """

    def topics_after(
        self, scope: UserScope, after: str, *, limit: int
    ) -> tuple[tuple[Pointer, ...], str | None]:
        """Return the pointers with a current record among the first `limit` topics whose keys come
        after `after`, by key. Also return the key of the last topic that was read (None: there are
        no more).
        """

    def versions(self, scope: UserScope, topic_key: str) -> tuple[Record, ...]:
        """Return the statements of a topic, oldest first. Each record is listed once for every time
        it was said, with that time and source.
        """

    def listed(
        self,
        scope: UserScope,
        *,
        types: frozenset[RecordType] = frozenset(),
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> RecordPage:
        """Return a page of records by creation. If `types` is empty, all are listed except entities
        and relationships, which have a list of their own. `types` may only name types of one of the
        two lists.

        The read is eventually consistent. A page may be short or empty although there are more,
        because a call reads at most a thousand records. Raises `BadRequest` (`invalid_cursor`) if
        `after` is not a cursor that was returned for this user.
        """

    def progress(self, scope: UserScope, session: str) -> Progress:
        """Return how far a session has been extracted."""

    def lines(
        self, scope: UserScope, session: str, *, first: int, last: int
    ) -> tuple[ChunkLine, ...]:
        """Return the ledger lines of chunks that begin within first..last, in order."""

    def mark_indexed(self, scope: UserScope, record: Record) -> None:
        """Mark the record as indexed if its stored version is that of `record`. Does nothing
        otherwise.
        """

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        """Count a use of each record (at most 100). The records themselves are not changed. `now`
        is in epoch seconds.
        """

    def uses(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Return how often each record (at most 100) was used, and when last (epoch seconds)."""

    def users(
        self, tenant: str, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        """Return the tenant's users by id, and the cursor of the next page. A user is listed after
        a first commit or session, until an erasure. The read is eventually consistent. Raises
        `BadRequest` (`invalid_cursor`).
        """

    def wipe(self, scope: UserScope, *, below_epoch: int, limit: int | None = None) -> int:
        """Delete all data of epochs below `below_epoch`, page by page, and return how many items
        were deleted. The user's epoch itself stays. With a `limit`, the call stops soon after that
        many items. When it returns 0, all older data is deleted.
        """


@dataclass(frozen=True, slots=True)
class Reminder:
    """The times for a record that the index has not confirmed: when the sweep next visits it, and
    when it first visited it (None: not yet). Both are epoch seconds.
    """

    due_at: int = 0
    since: int | None = None


class Expiries(Protocol):
    """The expiries of records, in the same store as `Memories`.

    A commit of records that expire also updates the user's walk, in the same transaction. It also
    gives each record with the index state `pending` a new `Reminder`, which `mark_indexed` removes.
    Reads are strongly consistent, except `due`. Every method raises `Unavailable` if the store
    can't answer.
    """

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        """Yield the users whose walk is due at `now`, and the records (by user and id) whose
        reminder is due. It yields up to `limit` of each shard, oldest first. The read is eventually
        consistent.
        """

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        """Return the record's reminder, or None if the index has confirmed the record or the record
        is gone.
        """

    def remind(
        self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None
    ) -> None:
        """Replace a record's reminder with `to`. None removes it. Raises `CommitLost` if the stored
        reminder differs from `before`.
        """

    def walk(self, scope: UserScope) -> Walk | None:
        """Return the user's walk. It is None if nothing of the user can expire, and right after an
        erasure.
        """

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        """Replace the user's walk with `to`. Raises `CommitLost` if the stored walk differs from
        `before` or is of another epoch.
        """

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> RecordPage:
        """Return records by id, whether or not they are current or expired. A page may be short
        although there are more.
        """


class Owners(Protocol):
    """Lists all sessions and all users of all tenants.

    Each list has a fixed order of its own, and is read page by page while the caller iterates.
    Every entry comes with a cursor. A later call continues after the cursor, even if that entry was
    removed. A job can hold a cursor (`jobs.payloads.Place`). An entry that exists throughout is
    listed exactly once. A change of the last moments may be missing. Every method raises
    `Unavailable`.
    """

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        """Yield all sessions that `Sessions.listed` can list."""

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        """Yield all users that `Memories.users` can list."""
