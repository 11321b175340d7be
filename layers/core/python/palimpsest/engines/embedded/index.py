"""`SearchIndex` over one SQLite file: each call reads or writes in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from palimpsest.engines.embedded import searching, writing
from palimpsest.engines.embedded.database import (
    Database,
    add_index,
    all_indexes,
    changed_shelf_of,
    index_read,
    read_newest,
    shelf_of,
)
from palimpsest.errors import Unavailable
from palimpsest.memory.filters import Filter
from palimpsest.models.embedding import check
from palimpsest.models.ports import Space, Vector
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit
from palimpsest.text.analyser import query_terms

BUSY_SECONDS = 5.0


class EmbeddedIndex:
    """Implements `SearchIndex`. Nothing is opened before the first call; the file may be used by several processes.

    `busy_seconds` is how long a write waits for another's.
    """

    def __init__(self, path: Path, *, space: Space | None, busy_seconds: float = BUSY_SECONDS) -> None:
        self._space = space
        self._database = Database(path, busy_seconds=busy_seconds)
        self._vectors = searching.VectorCache(dimension=space.dimension if space else 0)

    @property
    def space(self) -> Space | None:
        return self._space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        for change in changes:
            if isinstance(change, Document) and change.vector is not None:
                check(change.vector, self._space)
        ready = [writing.analysed(change) if isinstance(change, Document) else change for change in changes]
        with self._database.writing() as connection:
            writing.forget_gone(connection)
            if index_read(connection) is None:
                raise Unavailable("There is no search index yet.")
            for index in all_indexes(connection):
                shelf = changed_shelf_of(connection, index, owner)
                for each in ready:
                    writing.apply(connection, index, shelf, each, with_vector=index.space == self._space)
        return ()

    def by_words(self, owner: UserScope, text: str, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        query = query_terms(text)
        with self._database.reading() as connection:
            shelf = shelf_of(connection, index_read(connection), owner)
            return searching.by_words(connection, shelf, query, where=where, k=k) if shelf else ()

    def by_vector(self, owner: UserScope, vector: Vector, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        check(vector, self._space)
        with self._database.reading() as connection:
            index = index_read(connection)
            if index and index.space != self._space:
                raise Unavailable("The search index that is read holds vectors of another model.")
            shelf = shelf_of(connection, index, owner)
            if shelf is None:
                return ()
            return self._vectors.nearest(connection, shelf, vector, where=where, k=k)

    def count(self, owner: UserScope) -> int:
        with self._database.reading() as connection:
            shelf = shelf_of(connection, index_read(connection), owner)
            return searching.count(connection, shelf) if shelf else 0

    def prepare(self, *, afresh: bool = False) -> None:
        self._database.create()
        with self._database.writing() as connection:
            add_index(connection, self._space, afresh=afresh)

    def switch(self) -> None:
        with self._database.writing() as connection:
            read_newest(connection, self._space)

    def indexes(self) -> tuple[str, ...]:
        with self._database.reading() as connection:
            return tuple(index.name for index in all_indexes(connection))

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._database.close()
