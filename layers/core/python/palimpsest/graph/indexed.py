"""Graphs that no process can hold: an index says what may be there, the tables what is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from palimpsest.clock import Clock, milliseconds
from palimpsest.errors import Unavailable
from palimpsest.graph import ANY, USER_TYPE, Entity, Graph, Part, Relationship, Which, topic_of
from palimpsest.graph.ports import GraphIndex
from palimpsest.graph.read import ReadGraph, check_sizes, current, holds, things_of
from palimpsest.jobs.ports import Changed, RecordChanged
from palimpsest.memory import KEYED
from palimpsest.memory.ports import Memories
from palimpsest.memory.preferences import TOPICS
from palimpsest.scope import UserScope
from palimpsest.text import normalized

PAGE = 100  # of topics, in one request
PREFERENCE = "preference/"
"""What the ids of nodes of preferences begin with."""
ENTITY, RELATIONSHIP = topic_of("entity", ""), topic_of("relationship", "")


@dataclass(frozen=True, slots=True)
class IndexedGraph:
    """Implements `Graphs`. `held` reads those that are small enough to be queried whole."""

    memories: Memories
    index: GraphIndex
    clock: Clock
    held: ReadGraph

    def entities(
        self, scope: UserScope, which: Which = ANY, *, after: str | None = None, most: int | None = None
    ) -> list[Entity]:
        page = partial(self.index.entities, scope, kind=which.kind, name=which.name, limit=PAGE)
        found: list[Entity] = []
        for topics in _pages(page, after=None if after is None else ENTITY + after):
            found += (each for each in self._entities(scope, topics) if which.has(each))
            if most is not None and len(found) >= most:
                break
        return found[:most]

    def relationships(
        self, scope: UserScope, which: Which = ANY, *, after: str | None = None, most: int | None = None
    ) -> list[Relationship]:
        kinds, starts, ends = ([each] if each is not None else None for each in (which.kind, which.start, which.end))
        page = partial(self.index.relationships, scope, kinds=kinds or (), starts=starts, ends=ends, limit=PAGE)
        found: list[Relationship] = []
        for topics in _pages(page, after=RELATIONSHIP + (after or "")):
            found += (each for each in self._relationships(scope, topics) if which.has(each))
            if most is not None and len(found) >= most:
                break
        return found[:most]

    def part(self, scope: UserScope, part: Part, *, most: int) -> Graph:
        nodes, edges = self._nodes(scope, [part.start]), dict[str, Relationship]()
        reached = list(nodes)
        for _ in range(part.depth):
            before = set(nodes)
            for found in self._steps(scope, reached, part):
                ends = {end for edge in found for end in (edge.start, edge.end)}
                nodes |= self._nodes(scope, sorted(ends - nodes.keys()))
                edges |= {edge.id: edge for edge in found if edge.start in nodes and edge.end in nodes}
                if len(nodes) > most + 1:
                    return _held(nodes, edges)
            reached = [name for name in nodes if name not in before]
        return _held(nodes, edges)

    def about(self, scope: UserScope, names: Sequence[str]) -> Graph:
        wanted = sorted({normalized(name) for name in names})
        found = self._entities(scope, self.index.entities(scope, names=wanted, limit=PAGE)) if wanted else []
        entities = {each.id: each for each in found}
        ends = sorted({scope.user, *entities})[:PAGE]
        between = self.index.relationships(scope, starts=ends, ends=ends, limit=PAGE)
        return Graph(entities, {each.id: each for each in self._relationships(scope, between)})

    def whole(self, scope: UserScope, *, most: int) -> Graph:
        check_sizes(*self.index.sizes(scope), most=most)
        return self.held.whole(scope, most=most)

    def _steps(self, scope: UserScope, names: Sequence[str], part: Part) -> Iterator[list[Relationship]]:
        """What holds from these nodes on, page by page."""
        kinds, now = sorted(part.types), milliseconds(self.clock.now())
        for begun in range(0, len(names), PAGE):
            ends = names[begun : begun + PAGE]
            ways = ["starts"] * (part.direction != "in") + ["ends"] * (part.direction != "out")
            for way in ways:
                given: dict[str, Any] = {"kinds": kinds, "limit": PAGE, way: ends}
                for topics in _pages(partial(self.index.relationships, scope, **given)):
                    found = self._relationships(scope, topics)
                    yield [each for each in found if holds(each, now=now) and (not kinds or each.type in kinds)]

    def _nodes(self, scope: UserScope, names: Sequence[str]) -> dict[str, Entity]:
        """Those of the nodes that hold now, by id."""
        now = milliseconds(self.clock.now())
        user = {scope.user: Entity(scope.user, USER_TYPE, scope.user)} if scope.user in names else {}
        found = self._entities(scope, [_topic_of_node(name) for name in names])
        return user | {each.id: each for each in found if holds(each, now=now)}

    def _entities(self, scope: UserScope, topics: Sequence[str]) -> list[Entity]:
        return [each for each in self._things(scope, topics) if isinstance(each, Entity)]

    def _relationships(self, scope: UserScope, topics: Sequence[str]) -> list[Relationship]:
        return [each for each in self._things(scope, topics) if isinstance(each, Relationship)]

    def _things(self, scope: UserScope, topics: Sequence[str]) -> Iterator[Entity | Relationship]:
        """What the tables have under these topics, in their order."""
        records = current(self.memories, scope, topics, now=milliseconds(self.clock.now()))
        for topic in topics:
            if topic in records:
                yield from things_of(records[topic], user=scope.user)


def _held(nodes: Mapping[str, Entity], edges: Mapping[str, Relationship]) -> Graph:
    return Graph(nodes=nodes, edges=tuple(edges[name] for name in sorted(edges)))


class _Listing(Protocol):
    def __call__(self, *, after: str | None) -> list[str]: ...


def _pages(page: _Listing, *, after: str | None = None) -> Iterator[list[str]]:
    while topics := page(after=after):
        yield topics
        if len(topics) < PAGE:
            return
        after = topics[-1]


def _topic_of_node(name: str) -> str:
    return TOPICS + name.removeprefix(PREFERENCE) if name.startswith(PREFERENCE) else topic_of("entity", name)


@dataclass(frozen=True, slots=True)
class ProjectGraph:
    """Brings the index up to date with changes of the tables, in any order and any number of times."""

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
            for start in range(0, len(own), PAGE):
                part = own[start : start + PAGE]
                try:
                    self._bring(scope, [change.record_id for change in part])
                except Unavailable:
                    again.update(part)
        return again

    def whole(self, scope: UserScope) -> None:
        """Bring up to date all that the index has of the user. Raises `Unavailable`."""
        for listed in (self.index.relationships, self.index.entities):
            after = None
            while topics := listed(scope, after=after, limit=PAGE):
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
            for start in range(0, len(topics), PAGE):
                part = topics[start : start + PAGE]
                self.index.write(scope, {topic: now[topic] for topic in part})
            written, now = now, self._now(scope, topics)

    def _now(self, scope: UserScope, topics: Sequence[str]) -> Mapping[str, tuple[Entity | Relationship, ...]]:
        there = current(self.memories, scope, topics, now=milliseconds(self.clock.now()))
        return {topic: things_of(there[topic], user=scope.user) if topic in there else () for topic in topics}
