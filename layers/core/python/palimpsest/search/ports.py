"""The search index as a port: search by words, search by vector, write documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.memory.filters import MemoryFilter, MemoryType
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import check_vector
from palimpsest.scope import UserScope

ANYTHING = MemoryFilter()


@dataclass(frozen=True, slots=True)
class Document:
    """The searchable document of one item. `key` names the item among its owner's: a record's id,
    or `session/seq`.

    Searches by words look in `text`: the content with speaker and date, of which the first 32,768
    characters count. `created_at` is in epoch milliseconds. `subject` is folded, as one of
    `MemoryFilter.subjects`. `metadata` holds the terms that `MemoryFilter.tests` test. `version`
    comes from the item and grows with every write of the same key. `vector` lies in the space of
    the index that it is written to.
    """

    key: str
    kind: MemoryType
    text: str
    version: int
    created_at: int
    vector: Vector | None = None
    subject: str | None = None
    session: str | None = None
    agent: str | None = None
    importance: float = 0.0
    metadata: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Gone:
    """The removal of an item's document. A late write with a lower version does not restore the
    document.
    """

    key: str
    version: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found. `score` grows with the match and compares only within one call:
    BM25 for words, cosine similarity (-1 to 1) for vectors. Equal scores come in the order of their
    keys.
    """

    key: str
    score: float


def check_vectors(changes: Sequence[Document | Gone], space: Space | None) -> None:
    """Raise `ValueError` for a document's vector that is not of the space."""
    for change in changes:
        if isinstance(change, Document) and change.vector is not None:
            check_vector(change.vector, space)


class Words(Protocol):
    """Search by words among the documents of one owner.

    A call sees a write after about a second at most. Before the first index was made, when nothing
    was ever written, it finds nothing. It raises `Unavailable` if the engine can't answer in time,
    so an error never looks like an empty or a complete answer.
    """

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        """The k best matches of the words of `text`, best first. Any text is allowed, because it is
        never parsed as a query. A text without words finds nothing.
        """


class Vectors(Protocol):
    """Search by vector among the documents of one owner; delay and errors as for `Words`."""

    @property
    def space(self) -> Space | None:
        """The space of the vectors; None: there are none."""

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        """The k nearest among the documents that pass the filter (it holds while searching),
        nearest first.

        Raises `ValueError` if the vector is not of this space, and `Unavailable` while the index
        that is read is of another space: vectors of two models are never compared.
        """


class SearchIndex(Words, Vectors, Protocol):
    """An index that holds the documents of all owners and can be searched both ways.

    It is a family of indexes, each of one space, of which one is read. This object writes to all of
    them, and takes vectors of its own space alone. Every call raises `Unavailable` if the engine
    can't answer.
    """

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        """Apply each change to every index of the family, unless that version or a higher one is
        there: then it counts as written. The version of what is gone is remembered for 10 minutes.
        An index of another space stores the words of a document without its vector.

        Returns the keys that could not be written everywhere; the others were. Raises `Unavailable`
        before the first index was made, and `ValueError` for a vector that is not of the space,
        before anything is written.
        """

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        """The keys of the owner's documents after `after`, in order. It sees every write that came
        before.
        """

    def count(self, owner: UserScope) -> int:
        """How many documents of the owner can be found."""

    def prepare(self, *, afresh: bool = False) -> None:
        """Make an index of this space if there is none, and have it read if none is. With `afresh`
        also make an empty one beside the one that is read, unless there is one already. Safe to
        repeat, also at once from several places.
        """

    def switch(self) -> None:
        """From now on, read the newest index of this space, and drop all others. Raises `NotFound`
        if there is none.
        """

    def indexes(self) -> tuple[str, ...]:
        """The names of the family's indexes, the one that is read first."""
