"""The SQLite file of the embedded index: its tables, its connections, and the documents of each
owner in each index.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palimpsest.errors import NotFound, Unavailable
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.text.bm25 import Field

IDLE_CONNECTIONS = 8
_TRY_AGAIN_SECONDS = 0.01

# An owner's part of an index is a shelf. Postings and vectors have the shelf in their keys, so that
# the cost of a search depends only on the documents of the searched owner. For a while, `documents`
# also holds removed documents with their versions.
TABLES = """
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, dimension INTEGER NOT NULL,
    is_read INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS shelves (
    id INTEGER PRIMARY KEY AUTOINCREMENT, in_index INTEGER NOT NULL, tenant TEXT NOT NULL,
    user TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0,
    words_documents INTEGER NOT NULL DEFAULT 0, words_total INTEGER NOT NULL DEFAULT 0,
    parts_documents INTEGER NOT NULL DEFAULT 0, parts_total INTEGER NOT NULL DEFAULT 0,
    UNIQUE (in_index, tenant, user)
);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shelf INTEGER NOT NULL, key TEXT NOT NULL,
    version INTEGER NOT NULL, gone_at INTEGER, kind TEXT, created_at INTEGER, importance REAL,
    subject TEXT, session TEXT, agent TEXT, metadata TEXT, terms TEXT, words INTEGER,
    parts INTEGER, UNIQUE (shelf, key)
);
CREATE INDEX IF NOT EXISTS documents_gone ON documents (gone_at) WHERE gone_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS terms (
    id INTEGER PRIMARY KEY, in_index INTEGER NOT NULL, term TEXT NOT NULL,
    documents INTEGER NOT NULL, UNIQUE (in_index, term)
);
CREATE TABLE IF NOT EXISTS postings (
    shelf INTEGER NOT NULL, term INTEGER NOT NULL, document INTEGER NOT NULL,
    times INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (shelf, term, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (
    document INTEGER PRIMARY KEY, shelf INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS vectors_by_shelf ON vectors (shelf);
"""
# Files of earlier versions have the statistics of a whole index. They get statistics for each
# shelf.
_COUNTED = ("words_documents", "words_total", "parts_documents", "parts_total")
_COUNT = """
UPDATE shelves SET (words_documents, words_total, parts_documents, parts_total) = (
    SELECT total(words > 0), total(words), total(parts > 0), total(parts)
    FROM documents WHERE shelf = shelves.id
)
"""
_DROP_OTHERS = (
    "DELETE FROM documents WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM postings WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM vectors WHERE shelf IN (SELECT id FROM shelves WHERE in_index != ?)",
    "DELETE FROM shelves WHERE in_index != ?",
    "DELETE FROM terms WHERE in_index != ?",
    "DELETE FROM indexes WHERE id != ?",
)


class Database:
    """The SQLite file. Safe for many threads and processes. Readers never wait, and writers wait
    for each other.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue(IDLE_CONNECTIONS)
        weakref.finalize(self, _close_all, self._idle)  # where nobody closes it

    def create(self) -> None:
        """Create the file and its tables if they do not exist."""
        with self._connection() as connection:
            self._keep_a_log(connection)
            with _transaction(connection, "BEGIN IMMEDIATE"):
                for statement in filter(str.strip, TABLES.split(";")):
                    connection.execute(statement)
                _add_counts(connection)

    def _keep_a_log(self, connection: sqlite3.Connection) -> None:
        """Let the file have a write-ahead log, so that readers never wait.

        If several connections do this at the same time, SQLite refuses one of them at once instead
        of letting it wait (https://www.sqlite.org/wal.html, section 8). This method therefore tries
        again.
        """
        give_up_at = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > give_up_at:
                    raise
                time.sleep(_TRY_AGAIN_SECONDS)
            else:
                return

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection that sees one state of the file, whatever is written in the
        meantime.
        """
        with self._connection() as connection, _transaction(connection, "BEGIN"):
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one transaction. Everything is written or nothing, and nobody else
        writes in the meantime.
        """
        with self._connection() as connection, _transaction(connection, "BEGIN IMMEDIATE"):
            yield connection

    def close(self) -> None:
        _close_all(self._idle)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _translated():
            connection = self._idle_one() or self._new_one()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            try:
                self._idle.put_nowait(connection)
            except queue.Full:
                connection.close()

    def _idle_one(self) -> sqlite3.Connection | None:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return None

    def _new_one(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


def _close_all(idle: queue.LifoQueue[sqlite3.Connection]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            idle.get_nowait().close()


def _add_counts(connection: sqlite3.Connection) -> None:
    if any(row["name"] == _COUNTED[0] for row in connection.execute("PRAGMA table_info(shelves)")):
        return
    for name in _COUNTED:
        connection.execute(f"ALTER TABLE shelves ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")
    connection.execute(_COUNT)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Raise `Unavailable` for errors that the file or another process may cause. The error of a
    wrong statement is not changed.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.DatabaseError, OSError) as error:
        raise Unavailable("The search index did not answer; try again.") from error


@dataclass(frozen=True, slots=True)
class Index:
    id: int
    space: Space | None
    is_read: bool

    @property
    def name(self) -> str:
        return (
            f"{self.space.model}-{self.space.dimension}.{self.id}"
            if self.space
            else f"words.{self.id}"
        )


@dataclass(frozen=True, slots=True)
class OwnerShelf:
    """The documents of one owner in one index, with their statistics. `changes` grows with every
    write.
    """

    id: int
    index: int
    changes: int
    words: Field
    parts: Field


def all_indexes(connection: sqlite3.Connection) -> list[Index]:
    """Return all indexes: the index that is read first, then the others, newest first. A file that
    was never prepared has none.
    """
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'indexes'").fetchone():
        return []
    rows = connection.execute("SELECT * FROM indexes ORDER BY is_read DESC, id DESC")
    return [
        Index(
            id=row["id"],
            space=Space(row["model"], row["dimension"]) if row["dimension"] else None,
            is_read=bool(row["is_read"]),
        )
        for row in rows
    ]


def index_read(connection: sqlite3.Connection) -> Index | None:
    """Return the index that is read, or None if nothing was ever indexed."""
    return next((index for index in all_indexes(connection) if index.is_read), None)


def add_index(connection: sqlite3.Connection, space: Space | None, *, afresh: bool) -> None:
    """Add an index for the space, unless there is one. With `afresh`, add one unless an index of
    the space is still being filled. If no index is read, searches read the new one from now on.
    """
    indexes = all_indexes(connection)
    is_any_read = any(index.is_read for index in indexes)
    if any(index.space == space and not (afresh and index.is_read) for index in indexes):
        return
    model, dimension = (space.model, space.dimension) if space else ("", 0)
    connection.execute(
        "INSERT INTO indexes (model, dimension, is_read) VALUES (?, ?, ?)",
        (model, dimension, not is_any_read),
    )


def read_newest(connection: sqlite3.Connection, space: Space | None) -> None:
    """Let searches read the newest index of the space, and drop all others. Raises `NotFound` if
    there is none.
    """
    ids = [index.id for index in all_indexes(connection) if index.space == space]
    if not ids:
        raise NotFound("There is no search index of this space.")
    connection.execute("UPDATE indexes SET is_read = (id = ?)", (max(ids),))
    for statement in _DROP_OTHERS:
        connection.execute(statement, (max(ids),))


def shelf_of(
    connection: sqlite3.Connection, index: Index | None, owner: UserScope
) -> OwnerShelf | None:
    if index is None:
        return None
    row = connection.execute(
        "SELECT * FROM shelves WHERE in_index = ? AND tenant = ? AND user = ?",
        (index.id, owner.tenant, owner.user),
    ).fetchone()
    return _shelf(row) if row else None


def changed_shelf_of(connection: sqlite3.Connection, index: Index, owner: UserScope) -> OwnerShelf:
    row = connection.execute(
        "INSERT INTO shelves (in_index, tenant, user) VALUES (?, ?, ?) "
        "ON CONFLICT DO UPDATE SET changes = changes + 1 RETURNING *",
        (index.id, owner.tenant, owner.user),
    ).fetchone()
    return _shelf(row)


def _shelf(row: sqlite3.Row) -> OwnerShelf:
    words = Field(row["words_documents"], row["words_total"])
    return OwnerShelf(
        row["id"],
        row["in_index"],
        row["changes"],
        words,
        Field(row["parts_documents"], row["parts_total"]),
    )
