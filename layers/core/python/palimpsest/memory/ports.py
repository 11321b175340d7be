"""The long-term store: one partition per user with records, topics, progress of extraction, and the user's epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.jobs.job import Job
from palimpsest.memory.expiry import Walk, first_expiry
from palimpsest.memory.records import Order, Record, RecordType, Source
from palimpsest.scope import SessionScope, UserScope


@dataclass(frozen=True, slots=True)
class User:
    """`epoch` counts erasures, for ever. `version` grows with every commit: what was derived at another is stale."""

    epoch: int = 0
    version: int = 0


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which record of a topic is current (None: that one was deleted), and the order of what was said of it last."""

    topic_key: str
    record: str | None
    order: Order
    version: int = 0  # as read; 0 = there is none yet


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """What became of the messages `first` through `last` of a session: the ledger of extraction, one line a chunk.

    received = extracted + skipped + parked. `skipped` counts messages by reason, `dropped` counts items that the model
    named and that did not hold against the transcript.
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
    """How far a session has been extracted: through which message, and which ranges were parked on the way.

    `waiting` names jobs that came before their turn; whoever extracts what is before them wakes them.
    """

    session: str
    through: int = 0
    parked: tuple[tuple[int, int], ...] = ()
    waiting: tuple[str, ...] = ()
    version: int = 0  # as read; 0 = there is none yet


@dataclass(frozen=True, slots=True)
class Mark:
    """What stays of a removed record: where it came from (no quote), and the version its search document ends with."""

    sources: tuple[Source, ...]
    version: int


@dataclass(frozen=True, slots=True)
class MemoryCommit:
    """One transaction, no larger than `Memories.room` allows; it raises the user's version.

    It is lost if the user's epoch is not `epoch`, if a new record's id exists, if a changed or removed record, a
    pointer or the progress is not at the version it was read at, if the job exists, or if the finished one has ended.
    Changed records, pointers and progress are given as they shall be, with the version they were read at; their
    versions grow by one.

    `said` are records that were said again, each under the time and source of that (`domain.records.said_again`), and
    records that come into a topic now. `removed` are records as read, one of a topic once for each time it was said;
    each leaves a mark, which counts until there is a record under the id again. `unsaid` are times that a record was
    said, to be removed from its topic while the record stays: for one that was said too often to go at once. `line`
    takes the place of one that began at the same message.
    """

    epoch: int
    new: Sequence[Record] = ()
    changed: Sequence[Record] = ()
    said: Sequence[Record] = ()
    removed: Sequence[Record] = ()
    unsaid: Sequence[Record] = ()
    pointers: Sequence[Pointer] = ()
    line: ChunkLine | None = None
    progress: Progress | None = None
    job: Job | None = None
    finished: Job | None = None

    @property
    def expires_at(self) -> int | None:
        """The earliest expiry that it writes."""
        return first_expiry((*self.new, *self.changed))


@dataclass(frozen=True, slots=True)
class Page:
    """Records of a list, and where the next page goes on (None = the end)."""

    records: tuple[Record, ...]
    after: str | None


class Memories(Protocol):
    """Reads are strongly consistent except `listed` and `users`, and show only what is of the user's present epoch:
    what was erased before a call began is not in its answer. Every call raises `Unavailable` if the store can't answer.
    """

    def user(self, scope: UserScope) -> User:
        """The user's epoch and version; zeros for one who is not known."""

    def erase(self, scope: UserScope, *, epoch: int, job: Job) -> None:
        """Raise the epoch from `epoch` by one and put the job, in one transaction: nothing that was there is read or
        changed from now on. Raises `CommitLost` if the epoch is another, or the job exists.
        """

    def room(self, commit: MemoryCommit) -> int:
        """How many more items could be written in one transaction with this commit. Negative: the commit is too large.

        A record, each time that it was said, the mark of a removed one, a pointer, a line, progress, a job: each is an
        item.
        """

    def commit(self, scope: UserScope, commit: MemoryCommit) -> None:
        """Write all of it or nothing. Raises `CommitLost`, `TooLarge`, and `ValueError` if `room` is negative."""

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Those that exist, in the order asked for (at most 100 different ones)."""

    def removed(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, Mark]:
        """Those ids (at most 100) under which a record was removed, and is not there again."""

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        """The pointers of these topics (at most 100) that exist."""

    def versions(self, scope: UserScope, topic_key: str) -> tuple[Record, ...]:
        """What was said of a topic, in order: each record once for every time, under the time and source of that."""

    def listed(
        self,
        scope: UserScope,
        *,
        types: frozenset[RecordType] = frozenset(),
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> Page:
        """Records by creation; `types` empty = all. Eventually consistent.

        A page may be short, or empty, although there are more: a call looks at a thousand records at most. Raises
        `BadRequest` (`invalid_cursor`) for an `after` that was not handed out for this user.
        """

    def progress(self, scope: UserScope, session: str) -> Progress:
        """Where the extraction of a session stands."""

    def lines(self, scope: UserScope, session: str, *, first: int, last: int) -> tuple[ChunkLine, ...]:
        """Ledger lines of chunks that begin within first..last, in order."""

    def indexed(self, scope: UserScope, record: Record) -> None:
        """Mark the record as indexed if it is still at this version; does nothing otherwise."""

    def used(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        """Count a use of each record (at most 100), apart from the record itself. `now` in epoch seconds."""

    def uses(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """How often each record (at most 100) was used, and when last (epoch seconds)."""

    def users(self, tenant: str, *, limit: int, after: str | None = None) -> tuple[tuple[str, ...], str | None]:
        """Those users of a tenant for whom something was committed since they were last erased, by id, and where the
        next page goes on. Eventually consistent. Raises `BadRequest` (`invalid_cursor`).
        """

    def wipe(self, scope: UserScope, *, below_epoch: int, limit: int | None = None) -> int:
        """Delete everything of epochs below, page by page, but not the epoch itself; returns how many items went.

        With a `limit` it stops soon after so many went: nothing is left once it returns 0.
        """


class Expiries(Protocol):
    """Beside `Memories`, over the same store: whatever is committed there with an expiry is noted in the user's walk,
    in the same transaction. Reads are strongly consistent, except `due`. Every call raises `Unavailable` if the store
    can't answer.
    """

    def due(self, *, now: int, limit: int) -> Iterator[UserScope]:
        """Users whose walk has come due at `now`, up to `limit` of each shard, oldest first; eventually consistent."""

    def walk(self, scope: UserScope) -> Walk | None:
        """None for a user of whom nothing can expire: also right after an erasure."""

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        """Raises `CommitLost` unless the walk is still as it was `before`, and in the user's epoch."""

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> Page:
        """Records by id, current or not, expired or not. A page may be short although there are more."""


class Owners(Protocol):
    """Each list is in an order of the store's own, which stays. With every one comes the place at which a later call
    goes on after it, also if it is gone by then. Read page by page as the caller goes on. What is there throughout is
    told exactly once; a change of the last moments may be missing. Every call raises `Unavailable`.
    """

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        """Sessions that can be listed."""

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        """Users of whom something was committed to long-term memory since they were last erased."""
