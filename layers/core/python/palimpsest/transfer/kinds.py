"""The kinds of things that an export holds: how each is read page by page, and how an import stores it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.scope import UserScope
from palimpsest.transfer.lines import Row

Outcome = Literal["restored", "there", "conflicts"]
"""`there`: it was stored already. `conflicts`: something else stands in its place, and stays."""
Page = tuple[Iterable[Row], str | None]


@dataclass(frozen=True, slots=True)
class Kind:
    """`page` gives rows of a user from a place on (None: the first), and the next place (None: that was all). `begins`
    is the kind of row with which each thing begins; `restore` stores one thing from its rows in that epoch of the user,
    and raises `CommitLost` if there is a later one. Both are safe to repeat.
    """

    name: str
    begins: str
    page: Callable[[UserScope, str | None], Page]
    restore: Callable[[UserScope, Iterator[Row], int], Outcome]


def units(rows: Iterator[Row], kinds: Mapping[str, Kind]) -> Iterator[tuple[Kind | None, int, list[Row]]]:
    """The rows by the thing that they are of, each with the number of its first line; None for lines of the file."""
    held: list[Row] = []
    first = 1
    for number, row in enumerate(rows, 1):
        if row["kind"] in kinds or row["kind"] in ("export", "user", "end"):
            if held:
                yield kinds.get(held[0]["kind"]), first, held
            held, first = [], number
        held.append(row)
    if held:
        yield kinds.get(held[0]["kind"]), first, held


def by_beginning(kinds: Sequence[Kind]) -> dict[str, Kind]:
    return {kind.begins: kind for kind in kinds}
