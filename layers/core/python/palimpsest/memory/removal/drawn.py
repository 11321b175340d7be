"""Removes entities and relationships from the graph if they were drawn only from deleted
memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from palimpsest.memory.endings import ENTITY, RELATIONSHIP
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.memory.record import Record, RecordType
from palimpsest.memory.removal.transactions import Removal, transactions
from palimpsest.scope import UserScope

PAGE = 100
_RELATIONSHIPS = frozenset[RecordType]({"relationship"})


@dataclass(frozen=True, slots=True)
class ForgetDrawn:
    memories: Memories

    def __call__(self, scope: UserScope, removed: Sequence[Record], *, epoch: int) -> None:
        """Remove the versions of relationships that were drawn from the records, and the entities
        that no other source and no other relationship names. An entity that stays loses its quote.
        Safe to repeat. Raises `CommitLost` and `Unavailable`.
        """
        topics = {topic for record in removed for topic in record.draws}
        edges = self._topics(scope, sorted(t for t in topics if t.startswith(RELATIONSHIP)))
        if not edges:
            return
        sources = _Sources(removed)
        removals = [
            removal for pointer, records in edges if (removal := sources.of(pointer, records))
        ]
        gone = {removal.pointer.topic_key for removal in removals if removal.pointer is not None}
        ends = {end for _, records in edges for record in records for end in _ends(record)}
        used = self._ends_of_others(scope, gone)
        changed: dict[str, Record] = {}
        for pointer, records in self._topics(scope, sorted(ENTITY + end for end in ends)):
            removal = sources.of(pointer, records)
            if removal is None:
                continue
            is_used = pointer.topic_key.removeprefix(ENTITY) in used
            if len(removal.statements) == len(records) and not is_used:
                removals.append(removal)
            else:
                changed |= {record.id: _without_words(record) for record in removal.statements}
        for commit in transactions(removals, epoch=epoch, room=self.memories.room):
            self.memories.commit(scope, commit)
        if changed:
            commit = MemoryCommit(epoch=epoch, changed=tuple(changed.values()))
            self.memories.commit(scope, commit)

    def _ends_of_others(self, scope: UserScope, gone: Collection[str]) -> set[str]:
        """Return the entities at the ends of the user's relationships, without relationships whose
        topics are in `gone`.
        """
        return {
            end
            for relationship in self._relationships(scope)
            if relationship.topic_key not in gone
            for end in _ends(relationship)
        }

    def _topics(
        self, scope: UserScope, topics: Sequence[str]
    ) -> list[tuple[Pointer, Sequence[Record]]]:
        pointers: dict[str, Pointer] = {}
        for start in range(0, len(topics), PAGE):
            pointers |= self.memories.pointers(scope, topics[start : start + PAGE])
        return [
            (pointer, self.memories.versions(scope, pointer.topic_key))
            for pointer in pointers.values()
        ]

    def _relationships(self, scope: UserScope) -> Iterator[Record]:
        after = None
        while True:
            page = self.memories.listed(scope, types=_RELATIONSHIPS, limit=PAGE, after=after)
            yield from page.records
            if (after := page.after) is None:
                return


@dataclass(frozen=True, slots=True)
class _Sources:
    """The places where removed records were said."""

    removed: Sequence[Record]

    def of(self, pointer: Pointer, records: Sequence[Record]) -> Removal | None:
        """Return the statements of a topic that come from these places, or None if there are
        none.
        """
        places = {
            (record.source.session, record.source.seqs, record.source.quote)
            for record in self.removed
        }
        mine = [
            record
            for record in records
            if (record.source.session, record.source.seqs, record.source.quote) in places
        ]
        return Removal(mine, pointer) if mine else None


def _ends(record: Record) -> tuple[str, ...]:
    data = record.data if isinstance(record.data, Mapping) else {}
    return tuple(str(data[end]) for end in ("start", "end") if data.get(end))


def _without_words(record: Record) -> Record:
    return replace(record, source=record.source.without_words)
