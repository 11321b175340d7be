"""The long-term store: one partition per user with records, topics, progress of extraction, and the
user's epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job
from palimpsest.memory.burials import Burial
from palimpsest.memory.expiry import Walk, first_expiry
from palimpsest.memory.record import Order, Record, RecordType, Source
from palimpsest.scope import SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class UserState:
    """A user's state. `epoch` counts erasures and is never reset. `version` grows with every
    commit, so that a cached result of another version is known to be stale.
    """

    epoch: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current record of a topic (None: it was deleted or has ended), and the order of the
    topic's last statement. `was` is the current record as read, and `version` the pointer's version
    as read; 0: there is no pointer yet. `ended` is the record that was current until the user said
    that it holds no longer; None if it was deleted since, or if the topic has a current record.
    """

    topic_key: str
    record: str | None
    order: Order
    version: int = 0
    was: str | None = field(default=None, compare=False)
    ended: str | None = None

    @property
    def ended_at(self) -> int | None:
        """When the topic's value ended, in epoch milliseconds; None unless `ended` names one."""
        return None if self.ended is None else self.order[0]

    @property
    def last(self) -> str | None:
        """The current record, or else the one that has ended."""
        return self.record or self.ended


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """A line of the extraction ledger: the result for one chunk, the messages `first` through
    `last` of a session.

    received = extracted + skipped + parked. `skipped` counts messages by reason, `dropped` counts,
    by reason, items that the model returned and that the transcript does not support.
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
    parked. `waiting` names jobs that arrived too early. The job that extracts the messages before
    theirs starts them.
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
    user's version by one.

    The transaction is lost in five cases: the user's epoch is not `epoch`; a new record's id
    exists; a changed or removed record, a pointer or the progress was written since it was read;
    `job` exists; `finished` has ended. Changed records, pointers and progress hold their new values
    and the version at which they were read; the store raises that version by one.

    `said` holds records that were said again, with the new time and source (`records.said_again`),
    and records that join a topic now. `removed` holds records as read; a record with a topic is
    listed once for each time it was said. Each leaves a tombstone, until a record with its id is
    stored again. `removed_places` holds places that are removed from a topic while their record
    stays: one record may have more places than one transaction can remove. `line` replaces a stored
    line that begins at the same message. `call` is stored as `KeyedCalls.put` does. `joined` is how
    many records had no topic and join one. `buried` are traces of memories that the user deleted;
    each replaces an earlier one of its id.
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
    def gained(self) -> int:
        """How many current memories the user gains by the commit. A topic has one current memory,
        or none.
        """
        new = sum(record.topic_key is None for record in self.new)
        removed = len({record.id for record in self.removed if record.topic_key is None})
        topics = sum(
            (pointer.record is not None) - (pointer.was is not None) for pointer in self.pointers
        )
        return new - removed + topics - self.joined

    @property
    def expires_at(self) -> int | None:
        """The earliest expiry among new and changed records, in epoch seconds; None if none
        expires.
        """
        return first_expiry((*self.new, *self.changed))


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of records, and the cursor of the next page; None on the last page."""

    records: tuple[Record, ...]
    after: str | None


class Memories(Protocol):
    """The store of long-term memory.

    Reads are strongly consistent, except `listed` and `users`. They return only data of the user's
    present epoch: data that was erased before the call began is never in its answer. Every call
    raises `Unavailable` if the store can't answer.
    """

    def user(self, scope: UserScope) -> UserState:
        """The user's epoch and version; both are 0 for an unknown user."""

    def current(self, scope: UserScope) -> int:
        """How many current memories the user has: the sum of `gained` of all commits."""

    def erase(self, scope: UserScope, *, epoch: int, job: Job) -> None:
        """Raise the user's epoch from `epoch` by one and store the job, in one transaction. From
        then on no call reads or changes the older data. Raises `CommitLost` if the epoch is another
        one, or if the job exists.
        """

    def room(self, commit: MemoryCommit) -> int:
        """How many more items fit one transaction with this commit; negative if the commit itself
        is too large.

        Each of these is one item: a record, each time that it was said, the tombstone of a removed
        record, a burial, a pointer, a line, progress, a job, a keyed call.
        """

    def commit(self, scope: UserScope, commit: MemoryCommit) -> None:
        """Write all of it or nothing. Raises `CommitLost`, `TooLarge`, and `ValueError` if `room`
        is negative.
        """

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        """The records with these ids (at most 100) that exist, in the order of the ids."""

    def tombstones(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, Tombstone]:
        """The tombstones of those ids (at most 100) whose record was removed and does not exist
        again.
        """

    def burials(self, scope: UserScope) -> tuple[Burial, ...]:
        """The traces of all memories that the user deleted."""

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        """The pointers of these topics (at most 100) that exist, each with its record in `was`
        too.
        """

    def topics(self, scope: UserScope, *, prefix: str) -> tuple[Pointer, ...]:
        """The pointers that name a current record, of all topics whose keys begin with `prefix`, by
        key.
        """

    def topics_after(
        self, scope: UserScope, after: str, *, limit: int
    ) -> tuple[tuple[Pointer, ...], str | None]:
        """The pointers that name a current record, among the first `limit` topics whose keys come
        after `after`, by key. Also the key of the last topic that was read (None: there are no
        more).
        """

    def versions(self, scope: UserScope, topic_key: str) -> tuple[Record, ...]:
        """The statements of a topic, oldest first. Each record is listed once for every time it was
        said, with that time and source.
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
        """Records by creation. If `types` is empty, all are listed except entities and
        relationships, which have a list of their own. `types` may only name types of one of the two
        lists. Eventually consistent. A page may be short or empty although there are more, because
        a call reads at most a thousand records. Raises `BadRequest` (`invalid_cursor`) for an
        `after` that was not handed out for this user.
        """

    def progress(self, scope: UserScope, session: str) -> Progress:
        """How far a session has been extracted."""

    def lines(
        self, scope: UserScope, session: str, *, first: int, last: int
    ) -> tuple[ChunkLine, ...]:
        """Ledger lines of chunks that begin within first..last, in order."""

    def mark_indexed(self, scope: UserScope, record: Record) -> None:
        """Mark the record as indexed if it is still at this version; does nothing otherwise."""

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        """Count a use of each record (at most 100), apart from the record itself. `now` in epoch
        seconds.
        """

    def uses(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """How often each record (at most 100) was used, and when last (epoch seconds)."""

    def users(
        self, tenant: str, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        """The tenant's users by id, and the cursor of the next page. A user is listed after a first
        commit or session, until an erasure. Eventually consistent. Raises `BadRequest`
        (`invalid_cursor`).
        """

    def wipe(self, scope: UserScope, *, below_epoch: int, limit: int | None = None) -> int:
        """Delete all data of epochs below `below_epoch`, page by page; return how many items were
        deleted. The user's epoch itself stays. With a `limit`, the call stops soon after that many
        items. When it returns 0, all older data is deleted.
        """


@dataclass(frozen=True, slots=True)
class Reminder:
    """When the sweep next visits a record that the index has not confirmed, and when it first
    visited it (None: not yet). Both are epoch seconds.
    """

    due_at: int = 0
    since: int | None = None


class Expiries(Protocol):
    """Expiries in the same store as `Memories`. A commit of records that expire also updates the
    user's walk, in the same transaction. It also gives each record whose index state is pending a
    new `Reminder`, which `mark_indexed` removes. Reads are strongly consistent, except `due`. Every
    call raises `Unavailable` if the store can't answer.
    """

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        """Users whose walk has come due at `now`, and records (by user and id) whose reminder has:
        up to `limit` of each shard, oldest first; eventually consistent.
        """

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        """The record's reminder; None if the index has confirmed the record, or the record is
        gone.
        """

    def remind(
        self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None
    ) -> None:
        """Replace a record's reminder; None removes it. Raises `CommitLost` unless it is as it was
        `before`.
        """

    def walk(self, scope: UserScope) -> Walk | None:
        """The user's walk; None if nothing of the user can expire, and right after an erasure."""

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        """Replace the user's walk. Raises `CommitLost` unless it is still as it was `before`, and
        of the present epoch.
        """

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> RecordPage:
        """Records by id, current or not, expired or not. A page may be short although there are
        more.
        """


class Owners(Protocol):
    """Lists all sessions and all users of all tenants. Each list has an order of its own, which
    never changes, and is read page by page while the caller iterates. Every entry comes with a
    cursor after which a later call continues, even if that entry was removed; a job can hold it
    (`jobs.payloads.Place`). An entry that exists throughout is listed exactly once; a change of the
    last moments may be missing. Every call raises `Unavailable`.
    """

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        """All sessions that `Sessions.listed` can list."""

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        """All users that `Memories.users` can list."""
