"""The port of the search index: search by words, search by vector, and writing of documents."""

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
    """The searchable document of one item. `key` identifies the item among the items of its owner:
    a record's id or, for a message, `session/seq`.

    Searches by words look in `text`: the content with speaker and date, of which the first 32,768
    characters count. `created_at` is in epoch milliseconds. `subject` is folded, like those of
    `MemoryFilter.subjects`. `metadata` has the terms that `MemoryFilter.tests` test. `version`
    comes from the item and grows with every write of the same key. `vector` belongs to the space of
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
    """The removal of an item's document. A later write with a lower version does not restore the
    document.
    """

    key: str
    version: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found. `score` is higher for a better match: BM25 for words, cosine
    similarity (-1 to 1) for vectors. Scores of different calls can't be compared. Hits with equal
    scores are ordered by key.
    """

    key: str
    score: float


def check_vectors(changes: Sequence[Document | Gone], space: Space | None) -> None:
    """Raise `ValueError` if a document's vector does not belong to the space."""
    for change in changes:
        if isinstance(change, Document) and change.vector is not None:
            check_vector(change.vector, space)


class Words(Protocol):
    """Searches by words among the documents of one owner.

    A call sees a write after at most about a second. It finds nothing before the first index was
    made, when nothing was ever written. It raises `Unavailable` if the engine can't answer in time,
    so an error never looks like an empty or complete answer.
    """

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        """Return the k best matches of the words of `text`, best first. Any text is allowed,
        because it is never parsed as a query. A text without words finds nothing.
        """


class Vectors(Protocol):
    """Searches by vector among the documents of one owner. Delay and errors are as for `Words`."""

    @property
    def space(self) -> Space | None:
        """The space of the vectors; None if the index has no vectors."""

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        """Return the k nearest documents that pass the filter, nearest first. The filter is applied
        during the search, not to its result.

        Raises `ValueError` if the vector does not belong to this space. Raises `Unavailable` while
        the index that is read has another space, because vectors of two models are never compared.
        """


class SearchIndex(Words, Vectors, Protocol):
    """An index of the documents of all owners, searched by words and by vector.

    It consists of a family of indexes, each for one space. Searches read one of them. This object
    writes to all of them, and accepts only vectors of its own space. Every call raises
    `Unavailable` if the engine can't answer.
    """

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        """Apply each change to every index of the family. If an index already has that version or a
        higher one, the change counts as written. The version of a removed document is remembered
        for 10 minutes. An index of another space stores the words of a document without its vector.

        Returns the keys that could not be written to every index; all others were. Raises
        `Unavailable` before the first index was made, and `ValueError` for a vector of another
        space before anything is written.
        """

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        """Return the keys of the owner's documents after `after`, in order. All earlier writes are
        visible.
        """

    def count(self, owner: UserScope) -> int:
        """Return the number of the owner's documents that can be found."""

    def prepare(self, *, afresh: bool = False) -> None:
        """Make an index of this space if there is none. If no index is read, searches read this one
        from now on. With `afresh`, also make an empty index beside the current one, unless there is
        one already. Safe to repeat, even from several places at once.
        """

    def switch(self) -> None:
        """Read the newest index of this space from now on, and drop all others. Raises `NotFound`
        if there is no index of this space.
        """

    def indexes(self) -> tuple[str, ...]:
        """Return the names of the family's indexes; the index that is read comes first."""
