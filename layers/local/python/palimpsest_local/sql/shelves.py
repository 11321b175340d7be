"""Shelves in a SQL database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Executable, Select, bindparam, delete, func, select
from sqlalchemy.dialects import mysql, postgresql, sqlite

from palimpsest_local.sql.database import NAME, ROWS, Database
from palimpsest_local.stores.shelves import Kind, Series, Shelf

K = TypeVar("K")
V = TypeVar("V")

DIGITS = 20  # of a number, so that numbers are ordered as texts
AT_ONCE = 500  # names in one query
THERE = select(ROWS.c.body).where(
    ROWS.c.kind == bindparam("kind"), ROWS.c.place == bindparam("place")
)
NAMED = THERE.where(ROWS.c.name == bindparam("name"))
AMONG = THERE.where(ROWS.c.name.in_(bindparam("names", expanding=True)))
WITHIN = THERE.where(ROWS.c.name.between(bindparam("first"), bindparam("last")))
OLDEST, NEWEST = WITHIN.order_by(ROWS.c.name), WITHIN.order_by(ROWS.c.name.desc())


class SqlShelves:
    """`Shelves` in a SQL database. Several processes may have them at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def shelf(self, kind: Kind[K, V], *place: str) -> Shelf[K, V]:
        return Rows(self._database, kind, place)

    def series(self, kind: Kind[int, V], *place: str) -> Series[V]:
        return NumberedRows(self._database, kind, place)

    def places(self, kind: Kind[Any, Any]) -> Sequence[tuple[str, ...]]:
        query = select(ROWS.c.place).where(ROWS.c.kind == kind.name).distinct()
        with self._database.reading() as connection:
            return [tuple(place.split("/")) for (place,) in connection.execute(query)]

    def turn(self) -> AbstractContextManager[object]:
        return self._database.turn()

    def close(self) -> None:
        self._database.close()


class _Shelf(Generic[V]):
    """The rows of a kind at a place. Ids contain no slash, so a place is its parts joined by
    slashes.
    """

    def __init__(self, database: Database, kind: Kind[Any, V], place: tuple[str, ...]) -> None:
        self._database = database
        self._kind = kind
        self._place = _short("/".join(place))

    @property
    def _here(self) -> ColumnElement[bool]:
        return (ROWS.c.kind == self._kind.name) & (ROWS.c.place == self._place)

    def _bodies(self, query: Select[str], **values: Any) -> list[str]:
        values |= {"kind": self._kind.name, "place": self._place}
        with self._database.reading() as connection:
            return list(connection.scalars(query, values))

    def _put(self, name: str, body: str) -> None:
        row = {"kind": self._kind.name, "place": self._place, "name": name, "body": body}
        with self._database.writing() as connection:
            connection.execute(_upsert(self._database.dialect, row))

    def _remove(self, condition: ColumnElement[bool]) -> int:
        with self._database.writing() as connection:
            return connection.execute(delete(ROWS).where(self._here & condition)).rowcount


class Rows(_Shelf[V], Shelf[K, V], Generic[K, V]):
    """A shelf as a mapping. Each access asks the database."""

    def __getitem__(self, key: K) -> V:
        for body in self._bodies(NAMED, name=_name_of(self._kind, key)):
            return cast(V, _record(self._kind, body)[1])
        raise KeyError(key)

    def several(self, keys: Iterable[K]) -> dict[K, V]:
        names = {_name_of(self._kind, key): key for key in keys}
        records = dict(
            _record(self._kind, body)
            for start in range(0, len(names), AT_ONCE)
            for body in self._bodies(AMONG, names=[*names][start : start + AT_ONCE])
        )
        return {key: records[key] for key in names.values() if key in records}

    def __setitem__(self, key: K, record: V) -> None:
        self._put(_name_of(self._kind, key), _body_of(self._kind, key, record))

    def __delitem__(self, key: K) -> None:
        if not self._remove(ROWS.c.name == _name_of(self._kind, key)):
            raise KeyError(key)

    def __iter__(self) -> Iterator[K]:
        return iter([key for key, _ in self._every()])

    def __len__(self) -> int:
        query = select(func.count()).select_from(ROWS).where(self._here)
        with self._database.reading() as connection:
            return connection.execute(query).scalar_one()

    def items(self) -> Any:
        """Return the keys with their records, by one query."""
        return self._every()

    def values(self) -> Any:
        """Return the records, by one query."""
        return [record for _, record in self._every()]

    def keys(self) -> Any:
        return list(self)

    def clear(self) -> None:
        self._remove(ROWS.c.name != "")

    def _every(self) -> list[tuple[K, V]]:
        return [_record(self._kind, body) for body in self._bodies(THERE)]


class NumberedRows(_Shelf[V]):
    """A `Series` in a database."""

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.get(number) is not None

    def get(self, number: int) -> V | None:
        records = self.between(number, number)
        return records[0] if records else None

    def put(self, number: int, record: V) -> None:
        self._put(_digits(number), _body_of(self._kind, number, record))

    def between(
        self, first: int, last: int, *, newest_first: bool = False, limit: int | None = None
    ) -> list[V]:
        query = NEWEST if newest_first else OLDEST
        bodies = self._bodies(query.limit(limit), first=_digits(first), last=_digits(last))
        return [_record(self._kind, body)[1] for body in bodies]

    def remove_between(self, first: int, last: int, *, limit: int) -> int:
        query = select(ROWS.c.name).where(self._here & _within(first, last))
        with self._database.writing() as connection:
            names = list(connection.scalars(query.order_by(ROWS.c.name).limit(limit)))
            return self._remove(ROWS.c.name.in_(names)) if names else 0


def _within(first: int, last: int) -> ColumnElement[bool]:
    return ROWS.c.name.between(_digits(first), _digits(last))


def _digits(number: int) -> str:
    return f"{max(0, number):0{DIGITS}d}"


def _short(text: str) -> str:
    """Return the text, or its beginning and its digest if it is longer than a column."""
    if len(text) <= NAME:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[: NAME - len(digest) - 1]}~{digest}"


@cache
def _key_adapter(key: Any) -> TypeAdapter[Any]:
    return TypeAdapter(key)


@cache
def _adapter(key: Any, value: Any) -> TypeAdapter[Any]:
    return TypeAdapter(tuple[key, value])


def _name_of(kind: Kind[Any, Any], key: Any) -> str:
    if isinstance(key, str):
        return _short(key)
    return _short(_key_adapter(kind.key).dump_json(key).decode())


def _body_of(kind: Kind[Any, Any], key: Any, record: Any) -> str:
    value = record if kind.form is None else kind.form(record)
    row = _adapter(kind.key, kind.value).dump_python((key, value))
    return json.dumps(row, default=_as_json, ensure_ascii=False)


def _as_json(value: Any) -> Any:
    """Return a value that JSON does not know, such as a set, in a form that it knows."""
    return value.decode() if isinstance(value, bytes) else list(value)


def _record(kind: Kind[Any, Any], body: str) -> tuple[Any, Any]:
    """Return the key and the record of a row."""
    key, value = _adapter(kind.key, kind.value).validate_json(body)
    return key, value if kind.record is None else kind.record(value)


def _upsert(dialect: str, row: dict[str, str]) -> Executable:
    """Return the statement that puts a row, whether or not it exists."""
    if dialect in ("mysql", "mariadb"):
        return mysql.insert(ROWS).values(row).on_duplicate_key_update(body=row["body"])
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return (
        insert(ROWS)
        .values(row)
        .on_conflict_do_update(index_elements=ROWS.primary_key.columns, set_={"body": row["body"]})
    )
