"""The search index in one SQLite file, for one machine and several processes at once. Each call is
one transaction.

The documents of each owner are searched separately. Words are found by exact BM25 as Lucene scores
it, and vectors by exact cosine.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from palimpsest.errors import Unavailable
from palimpsest.memory.conditions import TermTest
from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import Matrix, check_vector, unit
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, check_vectors
from palimpsest.text.analyser import QueryTerms, TermGroup, asked, query_terms
from palimpsest.text.bm25 import Matches, Posting, scored

from palimpsest_local.embedded import writing
from palimpsest_local.embedded.database import (
    Database,
    OwnerShelf,
    add_index,
    all_indexes,
    changed_shelf_of,
    index_read,
    read_newest,
    shelf_of,
)
from palimpsest_local.embedded.writing import PART_SIGN

MAX_OWNERS = 8  # owners whose vectors are held in memory
BUSY_SECONDS = 5.0
FIRST = 500  # documents that the file is asked for first; the rest only if these are too few
_POSTINGS = "SELECT document, times, length FROM postings WHERE shelf = ? AND term = ?"
_THERE = """
SELECT id, key FROM documents WHERE id IN (SELECT value FROM json_each(:ids)) AND {conditions}
"""
_KNOWN = """
SELECT id, term, (
    SELECT count(*) FROM postings WHERE shelf = :shelf AND postings.term = terms.id
) AS documents
FROM terms WHERE in_index = :index AND term IN (SELECT value FROM json_each(:terms))
"""
_PASSING = "SELECT id FROM documents WHERE shelf = :shelf AND gone_at IS NULL AND {conditions}"


class EmbeddedIndex:
    """Implements `SearchIndex`. The file is opened at the first call. Several processes may use it.

    `busy_seconds` is how long a write waits for another process's write.
    """

    def __init__(
        self, path: Path, *, space: Space | None, busy_seconds: float = BUSY_SECONDS
    ) -> None:
        self._space = space
        self._database = Database(path, busy_seconds=busy_seconds)
        self._vectors = _VectorCache(dimension=space.dimension if space else 0)

    @property
    def space(self) -> Space | None:
        return self._space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        check_vectors(changes, self._space)
        ready = [
            writing.analysed(change) if isinstance(change, Document) else change
            for change in changes
        ]
        with self._database.writing() as connection:
            writing.forget_gone(connection)
            if index_read(connection) is None:
                raise Unavailable("There is no search index yet.")
            for index in all_indexes(connection):
                shelf = changed_shelf_of(connection, index, owner)
                for change in ready:
                    writing.apply(
                        connection, index, shelf, change, with_vector=index.space == self._space
                    )
        return ()

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        query = query_terms(text)
        with self._database.reading() as connection:
            shelf = shelf_of(connection, index_read(connection), owner)
            return _by_words(connection, shelf, query, where=where, k=k) if shelf else ()

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        check_vector(vector, self._space)
        with self._database.reading() as connection:
            index = index_read(connection)
            if index and index.space != self._space:
                raise Unavailable("The search index has vectors of another embedding model.")
            shelf = shelf_of(connection, index, owner)
            if shelf is None:
                return ()
            return self._vectors.nearest(connection, shelf, vector, where=where, k=k)

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        with self._database.reading() as connection:
            shelf = shelf_of(connection, index_read(connection), owner)
            return _keys(connection, shelf, after, limit) if shelf else ()

    def count(self, owner: UserScope) -> int:
        with self._database.reading() as connection:
            shelf = shelf_of(connection, index_read(connection), owner)
            return _count(connection, shelf) if shelf else 0

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
        """Close the file. The next call opens it again."""
        self._database.close()


def _by_words(
    connection: sqlite3.Connection,
    shelf: OwnerShelf,
    query: QueryTerms,
    *,
    where: MemoryFilter,
    k: int,
) -> tuple[Hit, ...]:
    """Return the best documents that pass the filter. First the file is asked about the documents
    with the highest scores. It is asked about others only if one of them may still be among the
    best.
    """
    scores = scored(_matches(connection, shelf, list(asked(query))))
    ordered = sorted(scores, key=scores.__getitem__, reverse=True)
    conditions, values = _conditions(where)
    best: list[tuple[float, str]] = []
    for part in (ordered[:FIRST], ordered[FIRST:]):
        if not part or (len(best) == k and scores[part[0]] < -best[-1][0]):
            break
        rows = connection.execute(
            _THERE.format(conditions=conditions), {**values, "ids": json.dumps(part)}
        )
        hits = [(-scores[row["id"]], row["key"]) for row in rows]
        best = heapq.nsmallest(k, [*best, *hits])
    return tuple(Hit(key, -score) for score, key in best)


def _keys(
    connection: sqlite3.Connection, shelf: OwnerShelf, after: str, limit: int
) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT key FROM documents WHERE shelf = ? AND gone_at IS NULL AND key > ? "
        "ORDER BY key LIMIT ?",
        (shelf.id, after, limit),
    )
    return tuple(row["key"] for row in rows)


def _count(connection: sqlite3.Connection, shelf: OwnerShelf) -> int:
    row = connection.execute(
        "SELECT count(*) FROM documents WHERE shelf = ? AND gone_at IS NULL", (shelf.id,)
    )
    return int(row.fetchone()[0])


def _matches(
    connection: sqlite3.Connection, shelf: OwnerShelf, groups: Sequence[TermGroup]
) -> Iterator[Matches]:
    """Yield, for each group of terms, the documents of the owner that match it."""
    every = [_stored(group, term) for group in groups for term in group.terms]
    known = _known(connection, shelf, every)
    cursor = connection.cursor()
    cursor.row_factory = None  # tuples, of which there may be many
    for group in groups:
        field = shelf.words if group.is_word else shelf.parts
        terms = []
        lengths: set[int] = set()
        for term in group.terms:
            identity, documents = known.get(_stored(group, term), (0, 0))
            if not documents:
                continue
            postings: list[Posting] = cursor.execute(_POSTINGS, (shelf.id, identity)).fetchall()
            lengths |= {length for _, _, length in postings}
            terms.append((group.share * field.weight(documents), postings))
        yield Matches(terms, field.costs(lengths), group.needed)


def _stored(group: TermGroup, term: str) -> str:
    return term if group.is_word else PART_SIGN + term


def _known(
    connection: sqlite3.Connection, shelf: OwnerShelf, terms: list[str]
) -> dict[str, tuple[int, int]]:
    """Return, for each term that the index has, its id and how many of the owner's documents have
    it.
    """
    rows = connection.execute(
        _KNOWN, {"index": shelf.index, "shelf": shelf.id, "terms": json.dumps(terms)}
    )
    return {row["term"]: (row["id"], row["documents"]) for row in rows}


_ANY_OF = "(SELECT value FROM json_each(:{name}))"
_RULES = {
    "types": "kind IN " + _ANY_OF,
    "min_importance": "importance >= :{name}",
    "created_after": "created_at >= :{name}",
    "created_before": "created_at <= :{name}",
    "subjects": "subject IN " + _ANY_OF,
    "session": "session = :{name}",
    "agent": "agent = :{name}",
}


def _conditions(where: MemoryFilter) -> tuple[str, dict[str, Any]]:
    """Return the filter as SQL with placeholders, and the values for these. The SQL is `true` if
    the filter has no condition.
    """
    stated = {
        name: value
        for name in _RULES
        if (value := getattr(where, name)) not in (None, frozenset(), ())
    }
    values = {
        name: value if isinstance(value, str | int | float) else json.dumps(list(value))
        for name, value in stated.items()
    }
    rules = [_RULES[name].format(name=name) for name in stated]
    for number, test in enumerate(where.tests):
        rule, more = _test(test, f"test{number}")
        rules.append(rule)
        values |= more
    return " AND ".join(rules) or "true", values


def _test(test: TermTest, name: str) -> tuple[str, dict[str, Any]]:
    """Return a test of a document's terms as SQL, and its values under names that begin with
    `name`.
    """
    rules, values = (
        [f"value IN {_ANY_OF.format(name=name)}"],
        {name: json.dumps(sorted(test.any_of))},
    )
    for number, (low, high) in enumerate(test.ranges):
        rules.append(f"(value >= :{name}low{number} AND value < :{name}high{number})")
        values |= {f"{name}low{number}": low, f"{name}high{number}": high}
    exists = f"EXISTS (SELECT value FROM json_each(metadata) WHERE {' OR '.join(rules)})"  # noqa: S608 - names alone
    return f"NOT {exists}" if test.negated else exists, values


@dataclass(frozen=True, slots=True)
class _LoadedVectors:
    """The vectors of one owner, one after another, with key and document of each vector, and the
    indexes of each type.
    """

    changes: int
    keys: Sequence[str]
    documents: Sequence[int]
    places: Mapping[str, Sequence[int]]
    matrix: Matrix


class _VectorCache:
    """A cache of the vectors of the few owners that were searched last. Safe for many threads."""

    def __init__(self, *, dimension: int) -> None:
        self._dimension = dimension
        self._cache: LRUCache[int, _LoadedVectors] = LRUCache(MAX_OWNERS)
        self._lock = threading.Lock()

    def nearest(
        self,
        connection: sqlite3.Connection,
        shelf: OwnerShelf,
        vector: Vector,
        *,
        where: MemoryFilter,
        k: int,
    ) -> tuple[Hit, ...]:
        loaded = self._of(connection, shelf)
        places = _passing(connection, shelf, loaded, where)
        scored = loaded.matrix.nearest(unit(vector), among=places, k=k)
        best = heapq.nsmallest(k, ((-cosine, loaded.keys[place]) for cosine, place in scored))
        return tuple(Hit(key, max(-1.0, min(1.0, -score))) for score, key in best)

    def _of(self, connection: sqlite3.Connection, shelf: OwnerShelf) -> _LoadedVectors:
        with self._lock:
            loaded = self._cache.get(shelf.id)
        if loaded is None or loaded.changes != shelf.changes:
            loaded = _load(connection, shelf, dimension=self._dimension)
        with self._lock:
            self._cache[shelf.id] = loaded
        return loaded


def _load(connection: sqlite3.Connection, shelf: OwnerShelf, *, dimension: int) -> _LoadedVectors:
    rows = connection.execute(
        "SELECT document, key, kind, vector FROM vectors JOIN documents ON documents.id = document"
        " WHERE vectors.shelf = ?",
        (shelf.id,),
    ).fetchall()
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row["kind"], []).append(place)
    keys, documents = [row["key"] for row in rows], [row["document"] for row in rows]
    matrix = Matrix(b"".join(row["vector"] for row in rows), dimension=dimension)
    return _LoadedVectors(shelf.changes, keys, documents, places, matrix)


def _passing(
    connection: sqlite3.Connection, shelf: OwnerShelf, loaded: _LoadedVectors, where: MemoryFilter
) -> Sequence[int] | None:
    """Return the indexes of the documents that pass the filter, or None if all do. The file is read
    only if the filter has conditions besides the type.
    """
    if where == ANYTHING:
        return None
    if where == MemoryFilter(types=where.types):
        places = [loaded.places.get(kind, ()) for kind in where.types or ()]
        return None if sum(map(len, places)) == len(loaded.keys) else [*chain.from_iterable(places)]
    conditions, values = _conditions(where)
    rows = connection.execute(_PASSING.format(conditions=conditions), values | {"shelf": shelf.id})
    ids = {row["id"] for row in rows}
    return [place for place, document in enumerate(loaded.documents) if document in ids]
