"""Removing records of topics, however often they were said: in as many transactions as that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from palimpsest.memory.ports import MemoryCommit, Pointer
from palimpsest.memory.records import Record

Room = Callable[[MemoryCommit], int]
"""`Memories.room` of the store that the commits are for."""
POINTER = 1  # item: every transaction also moves the topic's pointer
MOST_PLACES = 60
"""A record that was said more often goes in several transactions."""


def by_record(said: Sequence[Record]) -> list[list[Record]]:
    """What was said of a topic, together for each record, the newest last: reads go by that one's expiry."""
    places: dict[str, list[Record]] = {}
    for one in reversed(said):
        places.setdefault(one.id, []).insert(0, one)
    return list(reversed(places.values()))


def surplus(places: Iterable[Sequence[Record]], room: Room) -> Iterator[Sequence[Record]]:
    """What must be unsaid of each record before the rest of it fits one transaction."""
    at_once = room(MemoryCommit(epoch=0)) - POINTER
    for said in places:
        more = said[:-MOST_PLACES]
        yield from (more[start : start + at_once] for start in range(0, len(more), at_once))


def batches(groups: Iterable[Sequence[Record]], room: Room) -> Iterator[list[Record]]:
    """The groups (each a record, once for every time it was said), joined to as few transactions as hold them."""
    batch: list[Record] = []
    for group in groups:
        if batch and room(MemoryCommit(epoch=0, removed=(*batch, *group))) < POINTER:
            yield batch
            batch = []
        batch += group
    if batch:
        yield batch


def removing(places: Sequence[Record], pointer: Pointer | None, *, epoch: int, room: Room) -> Iterator[MemoryCommit]:
    """What removes one record, said at these places. Each is lost if the topic was spoken of since `pointer`, which is
    given as it shall be.
    """
    for unsaid in surplus([places], room):
        yield MemoryCommit(epoch=epoch, unsaid=unsaid, pointers=(pointer,) if pointer else ())
        pointer = replace(pointer, version=pointer.version + 1) if pointer else None
    yield MemoryCommit(epoch=epoch, removed=places[-MOST_PLACES:], pointers=(pointer,) if pointer else ())
