"""Reads a user's graph whole, keeps it while nothing in it changes, and finds what is around an entity in it."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

from cachetools import LRUCache

from palimpsest import parallel
from palimpsest.clock import Clock, milliseconds
from palimpsest.errors import Conflict
from palimpsest.graph.limit import MOST_THINGS
from palimpsest.graph.things import (
    PREFERENCE_TYPE,
    PREFERS,
    USER_TYPE,
    Entity,
    Relationship,
    entity_of,
    is_sound,
    relationship_of,
    topic_of,
)
from palimpsest.memory.expiry import is_expired
from palimpsest.memory.ports import Memories, UserState
from palimpsest.memory.preferences import TOPICS, key_of
from palimpsest.memory.records import GRAPH, Record
from palimpsest.scope import UserScope

MAX_CACHED = 60_000  # records in a process
AT_ONCE = 100
PREFIXES = (topic_of("entity", ""), topic_of("relationship", ""), TOPICS)
Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Graph:
    """The current versions of a user's entities and relationships, by id, in the order of their ids.

    `nodes` and `edges` are what holds now: without what has ended, and without relationships of which an end is
    missing, but with the user and their preferences. `key` is this graph's alone; `until` is when something in it ends
    (epoch milliseconds; None: nothing does).
    """

    entities: Mapping[str, Entity] = field(default_factory=dict)
    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    nodes: Mapping[str, Entity] = field(default_factory=dict)
    edges: tuple[Relationship, ...] = ()
    key: str = field(default_factory=lambda: uuid4().hex)
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What is within some steps of an entity: nodes with their distance, nearest first, and the edges between them.
    `is_whole`: no more was left out.
    """

    nodes: tuple[tuple[Entity, int], ...]
    edges: tuple[Relationship, ...]
    is_whole: bool


def around(
    graph: Graph,
    start: str,
    *,
    depth: int,
    direction: Direction = "both",
    types: frozenset[str] = frozenset(),
    most: int = 100,
) -> Around:
    """The nodes within `depth` steps of `start`, which is among `graph.nodes`, at most `most` besides it; `types` are
    the only relationships to follow, if there are any.
    """
    ways = _ways(graph.edges, direction, types)
    found, edge_ids, reached = {start: 0}, dict[str, Relationship](), [start]
    is_whole = True
    for distance in range(1, depth + 1):
        following: list[str] = []
        for here in reached:
            for edge, there in ways[here]:
                if there not in found:
                    if len(found) > most:
                        is_whole = False
                        continue
                    found[there] = distance
                    following.append(there)
                edge_ids[edge.id] = edge
        reached = following
    nodes = tuple((graph.nodes[name], distance) for name, distance in found.items() if name != start)
    return Around(nodes, tuple(edge_ids.values()), is_whole)


def _ways(
    edges: Iterable[Relationship], direction: Direction, types: frozenset[str]
) -> Mapping[str, list[tuple[Relationship, str]]]:
    ways: dict[str, list[tuple[Relationship, str]]] = defaultdict(list)
    for edge in edges:
        if types and edge.type not in types:
            continue
        if direction != "in":
            ways[edge.start].append((edge, edge.end))
        if direction != "out":
            ways[edge.end].append((edge, edge.start))
    return ways


@dataclass(frozen=True, slots=True)
class _Cached:
    user: UserState
    records: Mapping[str, Record]
    graph: Graph


class ReadGraph:
    """Gives the graph of a user. It reads only what has changed since the last time. Safe to use from many threads."""

    def __init__(self, memories: Memories, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock
        self._cache: LRUCache[UserScope, _Cached] = LRUCache(
            MAX_CACHED, getsizeof=lambda cached: 1 + len(cached.records)
        )
        self._lock = threading.Lock()

    def __call__(self, scope: UserScope) -> Graph:
        """The user's graph as it is stored now. Raises `Unavailable`."""
        user, now = self._memories.user(scope), milliseconds(self._clock.now())
        with self._lock:
            cached = self._cache.get(scope)
        if cached is not None and cached.user == user and _is_before(now, cached.graph.until):
            return cached.graph
        records = self._records(scope, cached.records if cached and cached.user.epoch == user.epoch else {}, now=now)
        if cached is not None and records == cached.records and _is_before(now, cached.graph.until):
            graph = cached.graph
        else:
            graph = _graph(records.values(), user=scope.user, now=now)
        with self._lock:
            if len(records) < MAX_CACHED:
                self._cache[scope] = _Cached(user, records, graph)
        return graph

    def _records(self, scope: UserScope, known: Mapping[str, Record], *, now: int) -> dict[str, Record]:
        """The current records by id; those that are known are not read again, unless they seem to have expired."""
        pointers = parallel.each(lambda prefix: self._memories.topics(scope, prefix=prefix), PREFIXES)
        ids = [pointer.record for each in pointers for pointer in each if pointer.record is not None]
        new = [name for name in ids if name not in known or not _is_alive(known[name], now)]
        parts = [new[start : start + AT_ONCE] for start in range(0, len(new), AT_ONCE)]
        read = parallel.each(lambda part: self._memories.records(scope, part), parts)
        found = {record.id: record for part in read for record in part}
        there = {**known, **found}
        return {name: there[name] for name in ids if name in there and _is_alive(there[name], now)}


def _is_alive(record: Record, now: int) -> bool:
    return not is_expired(record, now=now // 1000)


def _is_before(now: int, moment: int | None) -> bool:
    return moment is None or now < moment


def _graph(records: Iterable[Record], *, user: str, now: int) -> Graph:
    by_type: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.type not in GRAPH or is_sound(record):
            by_type[record.type].append(record)
    entities = {each.id: each for each in map(entity_of, by_type["entity"])}
    relationships = {each.id: each for each in map(relationship_of, by_type["relationship"])}
    nodes = {user: Entity(user, USER_TYPE, user)}
    nodes |= {each.id: each for each in entities.values() if _is_before(now, each.valid_to)}
    edges = [each for each in relationships.values() if _is_before(now, each.valid_to)]
    for record in by_type["preference"]:
        node = _preference(record)
        nodes[node.id] = node
        edges.append(Relationship(node.id, PREFERS, user, node.id, {}, record.valid_from, record=record.id))
    ends = [each.valid_to for each in entities.values()] + [each.valid_to for each in relationships.values()]
    ends += [each.expires_at and each.expires_at * 1000 for some in by_type.values() for each in some]
    return Graph(
        entities=entities,
        relationships=relationships,
        nodes=nodes,
        edges=tuple(edge for edge in edges if edge.start in nodes and edge.end in nodes),
        until=min((each for each in ends if each is not None and each > now), default=None),
    )


def _preference(record: Record) -> Entity:
    """A preference as a node; its id has a `/`, which no caller's id has."""
    key = key_of(record.topic_key or "")
    value = record.data if isinstance(record.data, str) else json.dumps(record.data, ensure_ascii=False, sort_keys=True)
    return Entity(f"preference/{key}", PREFERENCE_TYPE, key, {"value": value}, record.valid_from, record=record.id)


def check_sizes(entities: int, relationships: int, *, most: int = MOST_THINGS) -> None:
    """Raise `Conflict` (`too_many_entities`, `too_many_relationships`) for more than a user's graph holds."""
    for count, what in ((entities, "entities"), (relationships, "relationships")):
        if count > most:
            raise Conflict(f"A user's graph has at most {most:,} {what}.", code=f"too_many_{what}")
