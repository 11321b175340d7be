"""Divides the removal of records, with all statements of their topics, into transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from palimpsest.memory.burials import Burial
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import Record
from palimpsest.scope import UserScope

Room = Callable[[MemoryCommit], int]
"""`Memories.room` of the store in which the transactions are done."""

RemovesExports = Callable[[UserScope], int]
"""Removes the files of every export that may hold data of the user that was removed before the
call. Returns how many exports were removed. Safe to repeat. Raises `Unavailable`.
"""

POINTER = 1  # item: every transaction also writes the topic's pointer

BURIED_AT_ONCE = 50

MOST_PLACES = 60
"""The most statements of a record that is removed in one transaction. A record with more is removed
in several.
"""


def no_exports(scope: UserScope) -> int:  # noqa: ARG001 - as `RemovesExports` is called
    """Return 0. This implements `RemovesExports` where nothing is exported."""
    return 0


def counted(exports: int) -> dict[str, int]:
    """Return the part of a job's result that says how many exports were removed. It is empty if
    none were.
    """
    return {"exports": exports} if exports else {}


def bury(memories: Memories, scope: UserScope, burials: Sequence[Burial], *, epoch: int) -> None:
    """Store burials before their records are removed. If the removal then fails, nothing is lost.
    Raises `CommitLost` if the user was erased.
    """
    for start in range(0, len(burials), BURIED_AT_ONCE):
        part = burials[start : start + BURIED_AT_ONCE]
        memories.commit(scope, MemoryCommit(epoch=epoch, buried=part))


@dataclass(frozen=True, slots=True)
class Removal:
    """The records of one topic that are removed, or one record without a topic.

    `statements` holds the records as read, each once for every time it was said, oldest first.
    `pointer` is the topic's pointer as read.
    """

    statements: Sequence[Record]
    pointer: Pointer | None = None


def transactions(removals: Iterable[Removal], *, epoch: int, room: Room) -> Iterator[MemoryCommit]:
    """Yield the transactions that do all removals, in order. Small removals share one transaction.
    A large removal takes several transactions of its own.

    After a topic's current record is removed, the topic has no current record. If that takes
    several transactions, the last one removes the current record, so that an interrupted removal
    can simply be repeated. Each transaction is lost if one of its topics got a new statement since
    the pointer was read, or if `epoch` is no longer the user's.
    """
    shared = MemoryCommit(epoch=epoch)
    for removal in removals:
        alone = MemoryCommit(
            epoch=epoch, removed=tuple(removal.statements), pointers=_pointers_after(removal)
        )
        both = replace(
            shared,
            removed=(*shared.removed, *alone.removed),
            pointers=(*shared.pointers, *alone.pointers),
        )
        if room(both) >= 0:
            shared = both
            continue
        if shared.removed:
            yield shared
        shared = alone
        if room(alone) < 0:
            yield from _parts(removal, epoch=epoch, room=room)
            shared = MemoryCommit(epoch=epoch)
    if shared.removed:
        yield shared


def _pointers_after(removal: Removal) -> tuple[Pointer, ...]:
    """Return the topic's pointer for the time after the records are removed."""
    pointer = removal.pointer
    if pointer is None:
        return ()
    gone = {record.id for record in removal.statements}
    return (replace(pointer, record=None, ended=None) if pointer.last in gone else pointer,)


def _parts(removal: Removal, *, epoch: int, room: Room) -> Iterator[MemoryCommit]:
    """Yield the transactions of a removal that is too large for one. Each transaction raises the
    version of the topic's pointer.
    """
    records = _places_by_record(removal)
    parts = [MemoryCommit(epoch=epoch, removed_places=places) for places in _surplus(records, room)]
    parts += [MemoryCommit(epoch=epoch, removed=batch) for batch in _batches(records, room)]
    pointer = removal.pointer
    for part in parts[:-1]:
        yield replace(part, pointers=(pointer,) if pointer else ())
        pointer = replace(pointer, version=pointer.version + 1) if pointer else None
    yield replace(parts[-1], pointers=_pointers_after(replace(removal, pointer=pointer)))


def _places_by_record(removal: Removal) -> list[list[Record]]:
    """Return the statements grouped by record. Groups are ordered by the last time that their
    record was said. The current record comes last.
    """
    places: dict[str, list[Record]] = {}
    for statement in removal.statements:
        places[statement.id] = [*places.pop(statement.id, []), statement]
    current = removal.pointer.last if removal.pointer else None
    return sorted(places.values(), key=lambda statements: statements[0].id == current)


def _surplus(records: Iterable[Sequence[Record]], room: Room) -> Iterator[Sequence[Record]]:
    """Yield the places to remove first, so that the rest of each record fits into one
    transaction.
    """
    at_once = room(MemoryCommit(epoch=0)) - POINTER
    for places in records:
        more = places[:-MOST_PLACES]
        yield from (more[start : start + at_once] for start in range(0, len(more), at_once))


def _batches(records: Iterable[Sequence[Record]], room: Room) -> Iterator[list[Record]]:
    """Yield the records with their remaining places, in as few transactions as possible."""
    batch: list[Record] = []
    for places in records:
        rest = places[-MOST_PLACES:]
        if batch and room(MemoryCommit(epoch=0, removed=(*batch, *rest))) < POINTER:
            yield batch
            batch = []
        batch += rest
    if batch:
        yield batch
