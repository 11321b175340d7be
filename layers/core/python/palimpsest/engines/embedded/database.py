"""The SQLite file of the embedded index: its tables, its connections, and its errors as the library's own."""

from __future__ import annotations

import contextlib
import queue
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from palimpsest.errors import Unavailable

IDLE_CONNECTIONS = 8

# An owner's part of an index is a shelf. Postings and vectors are keyed by it, so that the cost of a search depends on
# its owner's documents alone; `documents` also holds what was removed, for a while, with its version.
TABLES = """
CREATE TABLE IF NOT EXISTS indexes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, dimension INTEGER NOT NULL, is_read INTEGER NOT NULL,
    words_documents INTEGER NOT NULL DEFAULT 0, words_total INTEGER NOT NULL DEFAULT 0,
    parts_documents INTEGER NOT NULL DEFAULT 0, parts_total INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS shelves (
    id INTEGER PRIMARY KEY AUTOINCREMENT, in_index INTEGER NOT NULL, tenant TEXT NOT NULL, user TEXT NOT NULL,
    changes INTEGER NOT NULL DEFAULT 0, UNIQUE (in_index, tenant, user)
);
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shelf INTEGER NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
    gone_at INTEGER, kind TEXT, created_at INTEGER, importance REAL, subject TEXT, session TEXT,
    agent TEXT, metadata TEXT, terms TEXT, words INTEGER, parts INTEGER, UNIQUE (shelf, key)
);
CREATE INDEX IF NOT EXISTS documents_gone ON documents (gone_at) WHERE gone_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS terms (
    id INTEGER PRIMARY KEY, in_index INTEGER NOT NULL, term TEXT NOT NULL, documents INTEGER NOT NULL,
    UNIQUE (in_index, term)
);
CREATE TABLE IF NOT EXISTS postings (
    shelf INTEGER NOT NULL, term INTEGER NOT NULL, document INTEGER NOT NULL, times INTEGER NOT NULL,
    length INTEGER NOT NULL, PRIMARY KEY (shelf, term, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (document INTEGER PRIMARY KEY, shelf INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS vectors_by_shelf ON vectors (shelf);
"""


class Database:
    """Safe to use from many threads and processes: readers never wait, writers wait for each other."""

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue(IDLE_CONNECTIONS)

    def create(self) -> None:
        """Make the file and its tables, where they are missing."""
        with _translated():
            self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file, whatever is written meanwhile."""
        with self._connection() as connection, _transaction(connection, "BEGIN"):
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing, and nobody else writes."""
        with self._connection() as connection, _transaction(connection, "BEGIN IMMEDIATE"):
            yield connection

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

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
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


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
    """`Unavailable` for what the file or another process may cause; a statement that is wrong stays what it is."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.DatabaseError, OSError) as error:
        raise Unavailable("The search index did not answer; try again.") from error
