"""Records in an export: each with every time that it was said, and where its topic stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.clock import Clock, milliseconds
from palimpsest.memory import Record
from palimpsest.memory.ports import Expiries, Memories, MemoryCommit, Pointer
from palimpsest.memory.preferences import limited
from palimpsest.memory.remember import Room
from palimpsest.scope import UserScope
from palimpsest.tenants import Tenants
from palimpsest.transfer.kinds import Kind, Outcome, Page
from palimpsest.transfer.lines import Row, Topic, read, topic_of, values

PAGE = 50
AHEAD = 1_000
"""Milliseconds by which versions of restored records are ahead of the clock: what removes the document of an erased
record has read its own clock a moment later, and must not win.
"""
SAID = ("valid_from", "source", "rank", "created_at")
"""What is one statement's own, where a record was said several times."""


@dataclass(frozen=True, slots=True)
class RecordsKind:
    memories: Memories
    expiries: Expiries
    tenants: Tenants
    clock: Clock

    @property
    def kind(self) -> Kind:
        return Kind("records", "record", self.page, self.restore)

    def page(self, scope: UserScope, place: str | None) -> Page:
        found = self.expiries.records(scope, limit=PAGE, after=place)
        return [self._row(scope, record) for record in found.records], found.after

    def _row(self, scope: UserScope, record: Record) -> Row:
        row: dict[str, Any] = {"kind": "record", **values(record)}
        if record.topic_key is None:
            return row
        said = [one for one in self.memories.versions(scope, record.topic_key) if one.id == record.id]
        pointer = self.memories.pointers(scope, [record.topic_key]).get(record.topic_key)
        row["said"] = [{name: value for name, value in values(one).items() if name in SAID} for one in said]
        row["topic"] = None if pointer is None else {"record": pointer.record, "order": list(pointer.order)}
        return row

    def restore(self, scope: UserScope, rows: Iterator[Row], epoch: int) -> Outcome:
        """Store the record under its id with all its statements; its topic's newest statement decides what is current.
        One that is there already stays. Raises `CommitLost`, `Unavailable`, `LimitReached` (`memory_limit`), and
        `Conflict` (`too_many_preferences`).
        """
        row = next(rows)
        version = milliseconds(self.clock.now()) + AHEAD
        record = read(Record, row, version=version, index_state="pending")
        if self.memories.records(scope, [record.id]):
            return "there"
        said = [read(Record, {**row, **one}, version=version) for one in row.get("said", ())]
        others = [one for one in said if one.order != record.order]
        pointers = self._pointers(scope, record, topic_of(row))
        commit = MemoryCommit(epoch=epoch, new=(record,), pointers=pointers)
        most = self.tenants.settings(scope.owner).limits.memories
        Room.of(self.memories, scope, most=most).check(commit.gained)
        commit = limited(self.memories, scope, commit)
        room = self.memories.room(commit)
        self.memories.commit(scope, replace(commit, said=others[:room]))
        for start in range(room, len(others), PAGE):
            self.memories.commit(scope, MemoryCommit(epoch=epoch, said=others[start : start + PAGE]))
        return "restored"

    def _pointers(self, scope: UserScope, record: Record, topic: Topic | None) -> tuple[Pointer, ...]:
        if record.topic_key is None or topic is None:
            return ()
        stored = self.memories.pointers(scope, [record.topic_key]).get(record.topic_key)
        exported = Pointer(record.topic_key, topic.record, topic.order)
        if stored is None:
            return (exported,)
        newer = replace(exported, version=stored.version, was=stored.was)
        return (stored if stored.order > exported.order else newer,)
