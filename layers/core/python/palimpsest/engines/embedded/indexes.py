"""The indexes in the file, which of them is read, and each owner's shelf in them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from palimpsest.errors import NotFound, Unavailable
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope

_DROP_OTHERS = (
    "DELETE FROM documents WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM postings WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM vectors WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM shelves WHERE in_index != ?",
    "DELETE FROM terms WHERE in_index != ?",
    "DELETE FROM indexes WHERE id != ?",
)


@dataclass(frozen=True, slots=True)
class Averages:
    """Statistics of one field over a whole index: how many documents have it, and its mean length in terms."""

    documents: int
    length: float


@dataclass(frozen=True, slots=True)
class Index:
    id: int
    space: Space | None
    is_read: bool
    words: Averages
    parts: Averages

    @property
    def name(self) -> str:
        return f"{self.space.model}-{self.space.dimension}.{self.id}" if self.space else f"words.{self.id}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """One owner's documents in one index. `changes` grows with every write."""

    id: int
    changes: int


def all_indexes(connection: sqlite3.Connection) -> list[Index]:
    """The one that is read first, then the newest first."""
    rows = connection.execute("SELECT * FROM indexes ORDER BY is_read DESC, id DESC")
    return [
        Index(
            id=row["id"],
            space=Space(row["model"], row["dimension"]) if row["dimension"] else None,
            is_read=bool(row["is_read"]),
            words=_averages(row["words_documents"], row["words_total"]),
            parts=_averages(row["parts_documents"], row["parts_total"]),
        )
        for row in rows
    ]


def index_read(connection: sqlite3.Connection) -> Index:
    """The index that is read. Raises `Unavailable` if there is none."""
    for index in all_indexes(connection):
        if index.is_read:
            return index
    raise Unavailable("There is no search index yet.")


def add_index(connection: sqlite3.Connection, space: Space | None, *, afresh: bool) -> None:
    """Add an index of the space unless there is one (with `afresh`: unless one waits to be read). If no index is read,
    it is read from now on.
    """
    found = all_indexes(connection)
    is_any_read = any(index.is_read for index in found)
    if any(index.space == space and not (afresh and index.is_read) for index in found):
        return
    connection.execute(
        "INSERT INTO indexes (model, dimension, is_read) VALUES (?, ?, ?)",
        (space.model if space else "", space.dimension if space else 0, not is_any_read),
    )


def read_newest(connection: sqlite3.Connection, space: Space | None) -> None:
    """Read the newest index of the space and drop all others. Raises `NotFound` if there is none."""
    ids = [index.id for index in all_indexes(connection) if index.space == space]
    if not ids:
        raise NotFound("There is no search index of this space.")
    connection.execute("UPDATE indexes SET is_read = (id = ?)", (max(ids),))
    for statement in _DROP_OTHERS:
        connection.execute(statement, (max(ids),))


def shelf_of(connection: sqlite3.Connection, index: Index, owner: UserScope) -> Shelf | None:
    row = connection.execute(
        "SELECT id, changes FROM shelves WHERE in_index = ? AND tenant = ? AND user = ?",
        (index.id, owner.tenant, owner.user),
    ).fetchone()
    return Shelf(row["id"], row["changes"]) if row else None


def changed_shelf_of(connection: sqlite3.Connection, index: Index, owner: UserScope) -> Shelf:
    row = connection.execute(
        "INSERT INTO shelves (in_index, tenant, user) VALUES (?, ?, ?) "
        "ON CONFLICT DO UPDATE SET changes = changes + 1 RETURNING id, changes",
        (index.id, owner.tenant, owner.user),
    ).fetchone()
    return Shelf(row["id"], row["changes"])


def _averages(documents: int, total: int) -> Averages:
    return Averages(documents, total / documents if documents else 1.0)
