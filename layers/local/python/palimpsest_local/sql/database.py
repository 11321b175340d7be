"""One SQL database, in which each record is a row with a kind, a place and a name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from palimpsest.errors import BadRequest, Unavailable
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    make_url,
    select,
    update,
)
from sqlalchemy import Integer as Number
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

BUSY_SECONDS = 10  # how long a write waits for a write of another process
NAME = 300  # characters of a name or a place; a longer one is stored under its digest
METADATA = MetaData()


def _text(length: int) -> Any:
    """Return a type of short texts that are compared and ordered by their bytes."""
    return (
        String(length)
        .with_variant(String(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql")
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mariadb")
    )


def _body() -> Any:
    """Return a type of texts of up to 400 KB and more."""
    long = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(long, "mysql").with_variant(long, "mariadb")


ROWS = Table(
    "palimpsest_rows",
    METADATA,
    Column("kind", _text(32), primary_key=True),
    Column("place", _text(NAME), primary_key=True),
    Column("name", _text(NAME), primary_key=True),
    Column("body", _body(), nullable=False),
)
"""The records. `body` is JSON."""

TURNS = Table(
    "palimpsest_turns",
    METADATA,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("number", Number, nullable=False),
)
"""One row, which every transaction that writes changes first. In this way the writers of all
processes take turns, whatever the database.
"""


class Database:
    """The database at a URL of SQLAlchemy. Makes its two tables if they do not exist. Safe for many
    threads and processes.

    Raises `BadRequest` (`invalid_url`) for a URL that SQLAlchemy does not know, or whose driver is
    not installed, and `Unavailable` if the database can't be reached.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._mine = threading.local()
        self._lock = threading.RLock()
        with _translated():
            METADATA.create_all(self._engine)
            self._make_turn()

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Begin a transaction as soon as no other process has one. A transaction within a
        transaction is part of it.
        """
        if self._present() is not None:
            yield
            return
        with self._lock, _translated(), self._engine.begin() as connection:
            connection.execute(update(TURNS).values(number=TURNS.c.number + 1))
            self._mine.connection = connection
            try:
                yield
            finally:
                self._mine.connection = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return the connection of this thread's transaction. If it has no transaction, return a
        new connection.
        """
        present = self._present()
        if present is not None:
            yield present
            return
        with _translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Return the connection of this thread's transaction. Begin one if there is none."""
        with self.turn(), self.reading() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        self._engine.dispose()

    def _present(self) -> Connection | None:
        return getattr(self._mine, "connection", None)

    def _make_turn(self) -> None:
        with self._engine.connect() as connection:
            if connection.execute(select(TURNS.c.id)).first() is not None:
                return
            try:
                connection.execute(insert(TURNS).values(id=1, number=0))
                connection.commit()
            except IntegrityError:  # another process was faster
                connection.rollback()


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() != "sqlite":
            return create_engine(parsed, isolation_level="READ COMMITTED", pool_pre_ping=True)
        engine = create_engine(parsed, connect_args={"timeout": BUSY_SECONDS})
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise BadRequest(
            "This is not a URL of SQLAlchemy, or the driver that it names is not installed.",
            code="invalid_url",
        ) from error
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Let readers and a writer work at the same time. An acknowledged write survives a kill."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise Unavailable("The database did not answer.") from error
