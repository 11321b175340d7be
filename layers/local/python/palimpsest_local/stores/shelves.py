"""The shelves on which the stores of one machine keep their records, by kind and place. `Dicts`
keeps them in this process, and `palimpsest_local.sql` in a database.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")

NO_END = 10**18
"""A number above all numbers of a series."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[K, V]):
    """A kind of records. A database writes keys and values as JSON of the types `key` and `value`.
    If the type of a record's field depends on another field, `form` makes a `value` of the record,
    and `record` makes the record of that value.
    """

    name: str
    key: Any
    value: Any
    form: Callable[[V], Any] | None = None
    record: Callable[[Any], V] | None = None


class Shelf(MutableMapping[K, V]):
    """Records by key. Every change is stored."""

    @abstractmethod
    def several(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the records that exist, by one call of a database, in the order of the keys."""


class Series(Protocol[V]):
    """Records by number. A range of numbers is found without reading the others."""

    def __contains__(self, number: object) -> bool: ...

    def get(self, number: int) -> V | None: ...

    def put(self, number: int, record: V) -> None:
        """Store the record. It replaces a record with the same number."""

    def between(
        self, first: int, last: int, *, newest_first: bool = False, limit: int | None = None
    ) -> list[V]: ...

    def remove_between(self, first: int, last: int, *, limit: int) -> int:
        """Remove the records in the range with the lowest numbers, at most `limit`. Return how many
        were removed.
        """


class Shelves(Protocol):
    """Records by kind, place and key. Each call sees what earlier calls stored. A database that
    can't answer raises `Unavailable`.
    """

    def shelf(self, kind: Kind[K, V], *place: str) -> Shelf[K, V]:
        """Return the records of a kind at a place."""

    def series(self, kind: Kind[int, V], *place: str) -> Series[V]:
        """Return the numbered records of a kind at a place."""

    def places(self, kind: Kind[Any, Any]) -> Sequence[tuple[str, ...]]:
        """Return the places at which records of this kind are stored, or were stored before."""

    def turn(self) -> AbstractContextManager[object]:
        """Begin a transaction. Everything that is changed in it is stored at its end. If it raises,
        nothing is stored. No other process changes anything in the meantime.
        """

    def close(self) -> None:
        """Close connections to a database. The next call opens new ones."""


class NumberedDict(Generic[V]):
    """Implements `Series` with a dictionary in this process."""

    def __init__(self) -> None:
        self._records: dict[int, V] = {}
        self._numbers: list[int] = []

    def __contains__(self, number: object) -> bool:
        return number in self._records

    def get(self, number: int) -> V | None:
        return self._records.get(number)

    def put(self, number: int, record: V) -> None:
        if number not in self._records:
            insort(self._numbers, number)
        self._records[number] = record

    def between(
        self, first: int, last: int, *, newest_first: bool = False, limit: int | None = None
    ) -> list[V]:
        numbers = self._numbers[
            bisect_left(self._numbers, first) : bisect_right(self._numbers, last)
        ]
        if newest_first:
            numbers.reverse()
        return [self._records[number] for number in numbers[:limit]]

    def remove_between(self, first: int, last: int, *, limit: int) -> int:
        start = bisect_left(self._numbers, first)
        end = min(bisect_right(self._numbers, last), start + limit)
        for number in self._numbers[start:end]:
            del self._records[number]
        del self._numbers[start:end]
        return max(0, end - start)


class DictShelf(dict[K, V], Shelf[K, V]):
    """A shelf in this process."""

    def several(self, keys: Iterable[K]) -> dict[K, V]:
        return {key: self[key] for key in dict.fromkeys(keys) if key in self}


class Dicts:
    """`Shelves` in dictionaries. They end with the process."""

    def __init__(self) -> None:
        self._shelves: dict[tuple[str, tuple[str, ...]], Any] = {}

    def shelf(self, kind: Kind[K, V], *place: str) -> Shelf[K, V]:
        kept = self._shelves.get((kind.name, place))
        if kept is None:
            kept = self._shelves[kind.name, place] = DictShelf[K, V]()
        return cast(DictShelf[K, V], kept)

    def series(self, kind: Kind[int, V], *place: str) -> Series[V]:
        kept = self._shelves.get((kind.name, place))
        if kept is None:
            kept = self._shelves[kind.name, place] = NumberedDict[V]()
        return cast(NumberedDict[V], kept)

    def places(self, kind: Kind[Any, Any]) -> Sequence[tuple[str, ...]]:
        return [place for name, place in list(self._shelves) if name == kind.name]

    def turn(self) -> AbstractContextManager[object]:
        return nullcontext()

    def close(self) -> None:
        """Do nothing, because there are no connections."""
