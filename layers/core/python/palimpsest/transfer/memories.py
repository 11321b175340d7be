"""The long-term memory in an export: records, each with every statement of it, and callers' vectors
by namespace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.memory.burials import Buried
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.ports import Expiries, Memories, MemoryCommit, Pointer
from palimpsest.memory.preferences import limited
from palimpsest.memory.record import KEYED, Record
from palimpsest.memory.remember import Room
from palimpsest.memory.statements import kept_for
from palimpsest.scope import UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.transfer.lines import (
    Outcome,
    Page,
    Row,
    TopicState,
    TransferKind,
    read,
    topic_of,
    values,
)
from palimpsest.vectors.manage import AT_ONCE
from palimpsest.vectors.ports import Namespace, StoredVector, VectorStore

PAGE = 50
VECTORS_PAGE = 500
AHEAD = 1_000
"""The milliseconds by which versions of restored records are ahead of the clock. The removal of an
erased record's document may have a version from a slightly faster clock, and must not replace the
restored document.
"""
SAID = ("valid_from", "source", "rank", "created_at")
"""The fields that differ between the statements of one record."""


def _fields_of_statement(record: Record) -> Row:
    return {name: value for name, value in values(record).items() if name in SAID}


@dataclass(frozen=True, slots=True)
class RecordsKind:
    memories: Memories
    expiries: Expiries
    tenants: Tenants
    clock: Clock

    @property
    def kind(self) -> TransferKind:
        return TransferKind("records", "record", self.page, self.restore)

    def page(self, scope: UserScope, place: str | None) -> Page:
        read_page = self.expiries.records(scope, limit=PAGE, after=place)
        return [self._row(scope, record) for record in read_page.records], read_page.after

    def _row(self, scope: UserScope, record: Record) -> Row:
        row: dict[str, Any] = {"kind": "record", **values(record)}
        if record.topic_key is None:
            return row
        row["said"] = [
            _fields_of_statement(statement)
            for statement in self.memories.versions(scope, record.topic_key)
            if statement.id == record.id
        ]
        pointer = self.memories.pointers(scope, [record.topic_key]).get(record.topic_key)
        row["topic"] = None
        if pointer is not None:
            row["topic"] = {"record": pointer.record, "order": list(pointer.order)}
            row["topic"] |= {"ended": pointer.ended} if pointer.ended else {}
            row["topic"] |= {"ended_on": pointer.ended_on} if pointer.ended_on else {}
        return row

    def restore(self, scope: UserScope, rows: Iterator[Row], epoch: int) -> Outcome:
        """Store the record under its id with all its statements. The newest statement of its topic
        decides which record is current. A record that is stored already stays.

        The record is kept as long as the tenant keeps its type, or until the time that its caller
        gave. An expired record is not stored (`expired`). An expired version of a topic is stored,
        because a topic expires as a whole. Raises `CommitLost`, `Unavailable`, `LimitReached`
        (`memory_limit`), and `Conflict` (`too_many_preferences`).
        """
        row, now, settings = next(rows), self.clock.now(), self.tenants.settings(scope.owner)
        version = milliseconds(now) + AHEAD
        record = read(Record, row, version=version, index_state="pending")
        record = kept_for(record, settings.lifetime(record.type))
        if self.memories.records(scope, [record.id]):
            return "there"
        if self._is_deleted(scope, record):
            return "deleted"
        if record.topic_key is None and is_expired(record, now=seconds(now)):
            return "expired"
        row = {**row, "expires_at": record.expires_at}
        statements = [
            read(Record, {**row, **statement}, version=version) for statement in row.get("said", ())
        ]
        others = [statement for statement in statements if statement.order != record.order]
        pointers = self._pointers(scope, record, topic_of(row))
        commit = MemoryCommit(epoch=epoch, new=(record,), pointers=pointers)
        Room.of(self.memories, scope, most=settings.limits.memories).check(commit.gained)
        commit = limited(self.memories, scope, commit)
        room = self.memories.room(commit)
        self.memories.commit(scope, replace(commit, said=others[:room]))
        for start in range(room, len(others), PAGE):
            self.memories.commit(
                scope, MemoryCommit(epoch=epoch, said=others[start : start + PAGE])
            )
        return "restored"

    def _is_deleted(self, scope: UserScope, record: Record) -> bool:
        """Return whether the user has deleted the memory since it was stored."""
        buried = Buried(scope, () if record.type in KEYED else self.memories.burials(scope))
        return buried.holds(
            record.content,
            topic=record.topic_key,
            subject=record.subject,
            quote=record.source.quote,
            at=record.created_at,
        )

    def _pointers(
        self, scope: UserScope, record: Record, topic: TopicState | None
    ) -> tuple[Pointer, ...]:
        if record.topic_key is None or topic is None:
            return ()
        stored = self.memories.pointers(scope, [record.topic_key]).get(record.topic_key)
        exported = Pointer(
            record.topic_key, topic.record, topic.order, ended=topic.ended, ended_on=topic.ended_on
        )
        if stored is None:
            return (exported,)
        newer = replace(exported, version=stored.version, was=stored.was)
        return (stored if stored.order > exported.order else newer,)


@dataclass(frozen=True, slots=True)
class VectorsKind:
    store: VectorStore
    memories: Memories

    @property
    def kind(self) -> TransferKind:
        return TransferKind("vectors", "namespace", self.page, self.restore)

    def page(self, scope: UserScope, place: str | None) -> Page:
        """Return some vectors of one namespace. Empty namespaces are left out."""
        name, after = json.loads(place) if place else ("", "")
        spaces = [
            namespace
            for namespace in self.store.namespaces(scope)
            if namespace.count and namespace.name >= name
        ]
        if not spaces:
            return (), None
        space = spaces[0]
        after = after if space.name == name else ""
        left = (vector for vector in self.store.vectors(scope, space) if vector.id > after)
        page = list(islice(left, VECTORS_PAGE))
        rows: list[Row] = [] if after else [{"kind": "namespace", **values(space)}]
        rows += [{"kind": "vector", "namespace": space.name, **values(vector)} for vector in page]
        if len(page) == VECTORS_PAGE:
            return rows, json.dumps([space.name, page[-1].id], separators=(",", ":"))
        return rows, json.dumps([spaces[1].name, ""], separators=(",", ":")) if len(
            spaces
        ) > 1 else None

    def restore(self, scope: UserScope, rows: Iterator[Row], epoch: int) -> Outcome:
        """Store the vectors that are not stored yet. A stored namespace of another dimension or
        model is a conflict, and stays. Raises `CommitLost`, `Unavailable`.
        """
        exported = read(Namespace, next(rows))
        namespace = self.store.namespace(scope, exported.name)
        if (
            namespace is not None
            and namespace.count
            and (namespace.dimension, namespace.model) != (exported.dimension, exported.model)
        ):
            return "conflicts"
        stored = namespace or replace(exported, epoch=epoch)
        space = replace(stored, dimension=exported.dimension, model=exported.model)
        vectors, outcome = [read(StoredVector, row) for row in rows], "there"
        for start in range(0, len(vectors), AT_ONCE):
            part = vectors[start : start + AT_ONCE]
            there = self.store.existing(scope, space, [vector.id for vector in part])
            new = [vector for vector in part if vector.id not in there]
            if new:
                outcome = "restored"
                space = replace(space, count=space.count + len(new))
                self.store.commit(scope, space, put=new)
                space = replace(space, version=space.version + 1)
        return "restored" if outcome == "restored" else "there"
