"""The state of the stores in SQL databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from palimpsest_local.sql.database import Database
from palimpsest_local.sql.shelves import SqlShelves
from palimpsest_local.stores.kinds import SETTINGS
from palimpsest_local.stores.shelves import Kind, Series, Shelf, Shelves
from palimpsest_local.stores.state import State

K = TypeVar("K")
V = TypeVar("V")


def state_at(url: str, *, system_url: str | None = None) -> State:
    """Return the state in the database at `url`. If there is a `system_url`, the system messages
    and configurations of sessions are in that database. Raises what `Database` raises.
    """
    shelves: Shelves = SqlShelves(Database(url))
    if system_url is not None:
        shelves = Divided(shelves, SqlShelves(Database(system_url)))
    return State(shelves=shelves)


class Divided:
    """Shelves that keep the settings of sessions in another database.

    A transaction stores the settings first. After a crash between the two writes, a session may
    have the settings of an append that was not stored. When the append is repeated, both are
    stored.
    """

    def __init__(self, shelves: Shelves, of_settings: Shelves) -> None:
        self._shelves = shelves
        self._of_settings = of_settings

    def shelf(self, kind: Kind[K, V], *place: str) -> Shelf[K, V]:
        return self._of(kind).shelf(kind, *place)

    def series(self, kind: Kind[int, V], *place: str) -> Series[V]:
        return self._of(kind).series(kind, *place)

    def places(self, kind: Kind[Any, Any]) -> Sequence[tuple[str, ...]]:
        return self._of(kind).places(kind)

    def turn(self) -> AbstractContextManager[object]:
        return self._both()

    def close(self) -> None:
        self._shelves.close()
        self._of_settings.close()

    @contextmanager
    def _both(self) -> Iterator[None]:
        with self._shelves.turn(), self._of_settings.turn():
            yield

    def _of(self, kind: Kind[Any, Any]) -> Shelves:
        return self._of_settings if kind.name == SETTINGS.name else self._shelves
