"""The search index: a disposable projection of the tables that answers with keys, never with texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from palimpsest.models.ports import Space, Vector

DocumentKind = Literal["fact", "event", "instruction", "task", "message", "session"]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose documents: every call is bound to one tenant and one user of it."""

    tenant: str
    user: str


@dataclass(frozen=True, slots=True)
class Document:
    """What is searchable of one item. `key` names the item in its owner's partition (a record's id; `session/seq`).

    `text` is what words are matched against: content with speaker and date; its beginning counts (32,768 characters).
    Times are whole numbers of one unit, the records' epoch milliseconds. `metadata` holds `key=value` terms. `version`
    is external and grows with every write of the same key. `vector` lies in the space of the index it is written
    through.
    """

    key: str
    kind: DocumentKind
    text: str
    version: int
    created_at: int
    vector: Vector | None = None
    subject: str | None = None
    topic_key: str | None = None
    session: str | None = None
    agent: str | None = None
    importance: float = 0.0
    expires_at: int | None = None
    metadata: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Gone:
    """The document of an item that is there no more; a late write with a lower version must not bring it back."""

    key: str
    version: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Typed values only; an empty field does not filter, and all that is said must hold. Values match exactly, limits
    are inclusive; of `topic_keys` any must match, of `metadata` all. Expired is what expires at the moment or before.
    """

    kinds: frozenset[DocumentKind] = frozenset()
    min_importance: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    subject: str | None = None
    session: str | None = None
    agent: str | None = None
    topic_keys: frozenset[str] = frozenset()
    metadata: Sequence[str] = ()
    not_expired_at: int | None = None


ANYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` grows with the match and compares only within one call: BM25 for words, cosine similarity (-1..1) for
    vectors. Equal scores come in the order of their keys.
    """

    key: str
    kind: DocumentKind
    score: float


class OwnedIndex(Protocol):
    """One owner's part of the index: there is no call without the owner, and no other owner's document in any answer.

    Reads see a write after at most a second or so. Everything raises `Unavailable` if the engine can't answer in time
    or has no index yet; an error is never an empty answer, and part of an answer is never given for the whole.
    """

    def write(self, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        """Apply each change, to every index of the family, unless that version or a higher one is there (then it counts
        as done; what is gone is remembered for 10 minutes). Returns the keys that were not written everywhere; the
        others were. Where the change with a vector meets an index of another space, only its words are stored there.

        Raises `ValueError` for a vector that is not of the space, before anything is written.
        """

    def by_words(self, text: str, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        """Best matches of the words of `text`, best first. Any text may come: it is never a query language, and what
        holds no word finds nothing.
        """

    def by_vector(self, vector: Vector, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        """The k nearest among the documents that pass the filter (it is applied while searching), nearest first.

        Raises `ValueError` if the vector is not of this space, and `Unavailable` while another space is the one that is
        read: vectors of two models are never compared.
        """

    def count(self) -> int:
        """Documents that can be found."""

    def forget(self) -> int:
        """Delete all of the owner's documents from every index of the family; how many there were in the one that is
        read. A write that was under way may come after it: whoever writes reads the table first.
        """


class SearchIndex(Protocol):
    """A family of indexes, each of one space, of which one is read. This object writes to all of them, and takes
    vectors of its own space alone.
    """

    @property
    def space(self) -> Space | None:
        """None: words only."""

    def of(self, owner: Owner) -> OwnedIndex:
        """The part of one owner."""

    def prepare(self, *, afresh: bool = False) -> None:
        """Make an index of this space if there is none, and have it read if none is. `afresh`: an empty one also beside
        one that is read, unless such a one is there already. Safe to repeat and to do at once from several places.
        """

    def switch(self) -> None:
        """Have the newest index of this space read by everyone, and drop all others. Raises `NotFound` without one."""

    def indexes(self) -> tuple[str, ...]:
        """The names of the family's indexes, the one that is read first."""
