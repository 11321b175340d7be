"""Brings the index of graphs up to date with changes of the tables, in any order and any number of times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.clock import Clock, milliseconds
from palimpsest.errors import Unavailable
from palimpsest.graph.ports import GraphIndex
from palimpsest.graph.read import current, things_of
from palimpsest.graph.things import Entity, Relationship
from palimpsest.jobs.ports import Changed, RecordChanged
from palimpsest.memory.ports import Memories
from palimpsest.memory.records import KEYED
from palimpsest.scope import UserScope

AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ProjectGraph:
    memories: Memories
    index: GraphIndex
    clock: Clock

    def __call__(self, changes: Sequence[Changed]) -> set[Changed]:
        """Write to the index what the tables have now of what the changes name; return the changes to try again."""
        by_user: dict[UserScope, list[RecordChanged]] = defaultdict(list)
        for change in changes:
            if isinstance(change, RecordChanged):
                by_user[UserScope(change.tenant, change.user)].append(change)
        again: set[Changed] = set()
        for scope, own in by_user.items():
            for start in range(0, len(own), AT_ONCE):
                part = own[start : start + AT_ONCE]
                try:
                    self._bring(scope, [change.record_id for change in part])
                except Unavailable:
                    again.update(part)
        return again

    def whole(self, scope: UserScope) -> None:
        """Bring up to date all that the index has of the user. Raises `Unavailable`."""
        for listed in (self.index.relationships, self.index.entities):
            after = None
            while topics := listed(scope, after=after, limit=AT_ONCE):
                self._settle(scope, topics)
                after = topics[-1]

    def _bring(self, scope: UserScope, ids: Sequence[str]) -> None:
        records = {record.id: record for record in self.memories.records(scope, ids)}
        topics = {str(each.topic_key) for each in records.values() if each.type in KEYED}
        if gone := [name for name in ids if name not in records]:
            topics |= set(self.index.topics(scope, gone))
        if topics:
            self._settle(scope, sorted(topics))

    def _settle(self, scope: UserScope, topics: Sequence[str]) -> None:
        """Write until the tables say behind a write what they said before it: whoever writes last has seen the last
        change, so that nothing that was removed meanwhile stays in the index.
        """
        written, now = None, self._now(scope, topics)
        while written != now:
            for start in range(0, len(topics), AT_ONCE):
                part = topics[start : start + AT_ONCE]
                self.index.write(scope, {topic: now[topic] for topic in part})
            written, now = now, self._now(scope, topics)

    def _now(self, scope: UserScope, topics: Sequence[str]) -> Mapping[str, tuple[Entity | Relationship, ...]]:
        there = current(self.memories, scope, topics, now=milliseconds(self.clock.now()))
        return {topic: things_of(there[topic], user=scope.user) if topic in there else () for topic in topics}
