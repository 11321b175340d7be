"""Reads a user's whole graph, keeps it while nothing in it changes, and answers queries in Cypher
over it.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache

from palimpsest import parallel
from palimpsest.clock import Clock, milliseconds
from palimpsest.errors import Conflict, FieldError, NotFound, Unprocessable
from palimpsest.graph.identity import between, unified
from palimpsest.graph.neighbourhood import ANY, Graph, GraphPart, Which, around
from palimpsest.graph.ports import GraphEngine, GraphLimits, Rows
from palimpsest.graph.things import (
    MOST_THINGS,
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
from palimpsest.memory.ports import Memories
from palimpsest.memory.preferences import TOPICS, key_of
from palimpsest.memory.record import GRAPH, Record, UserState
from palimpsest.scope import UserScope

MAX_CACHED = 60_000  # records in a process
AT_ONCE = 100  # records that one read of the store returns
PREFIXES = (topic_of("entity", ""), topic_of("relationship", ""), TOPICS)


@dataclass(frozen=True, slots=True)
class _CachedGraph:
    user: UserState
    records: Mapping[str, Record]
    graph: Graph


class ReadGraph:
    """Reads a user's whole graph once, and after that only the changes. The result is always the
    present state of the tables. Every method raises `Unavailable`. Safe for many threads.
    """

    def __init__(self, memories: Memories, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock
        self._cache: LRUCache[UserScope, _CachedGraph] = LRUCache(
            MAX_CACHED, getsizeof=lambda cached: 1 + len(cached.records)
        )
        self._lock = threading.Lock()

    def __call__(self, scope: UserScope) -> Graph:
        """Return the user's graph as it is stored now. Raises `Unavailable`."""
        user, now = self._memories.user(scope), milliseconds(self._clock.now())
        with self._lock:
            cached = self._cache.get(scope)
        if cached is not None and cached.user == user and _is_before(now, cached.graph.until):
            return cached.graph
        records = self._records(
            scope, cached.records if cached and cached.user.epoch == user.epoch else {}, now=now
        )
        if cached is not None and records == cached.records and _is_before(now, cached.graph.until):
            graph = cached.graph
        else:
            graph = _graph(records.values(), user=scope.user, now=now)
        with self._lock:
            if len(records) < MAX_CACHED:
                self._cache[scope] = _CachedGraph(user, records, graph)
        return graph

    def entities(
        self,
        scope: UserScope,
        which: Which = ANY,
        *,
        after: str | None = None,
        most: int | None = None,
    ) -> list[Entity]:
        stored = self(scope).entities.values()
        return [thing for thing in stored if _is_after(thing, after) and which.has(thing)][:most]

    def relationships(
        self,
        scope: UserScope,
        which: Which = ANY,
        *,
        after: str | None = None,
        most: int | None = None,
    ) -> list[Relationship]:
        graph = self(scope)
        start, end = (
            None if name is None else graph.names.id_of(name) for name in (which.start, which.end)
        )
        which = replace(which, start=start, end=end)
        stored = graph.relationships.values()
        return [thing for thing in stored if _is_after(thing, after) and which.has(thing)][:most]

    def whole(self, scope: UserScope, *, most: int) -> Graph:
        """Return the user's graph as it is stored now. Raises `Conflict` (`too_many_entities`,
        `too_many_relationships`) if it has more than `most` of either.
        """
        graph = self(scope)
        check_sizes(len(graph.entities), len(graph.relationships), most=most)
        return graph

    def _records(
        self, scope: UserScope, known: Mapping[str, Record], *, now: int
    ) -> dict[str, Record]:
        """Return the current records by id. Known records are not read again, unless they seem to
        have expired.
        """
        pointers = parallel.run_each(
            lambda prefix: self._memories.topics(scope, prefix=prefix), PREFIXES
        )
        ids = [
            pointer.record
            for of_prefix in pointers
            for pointer in of_prefix
            if pointer.record is not None
        ]
        new = [name for name in ids if name not in known or not _is_alive(known[name], now)]
        there = {**known, **_read(self._memories, scope, new)}
        return {name: there[name] for name in ids if name in there and _is_alive(there[name], now)}


def _read(memories: Memories, scope: UserScope, ids: Sequence[str]) -> dict[str, Record]:
    parts = [ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)]
    read = parallel.run_each(lambda part: memories.records(scope, part), parts)
    return {record.id: record for part in read for record in part}


def _is_alive(record: Record, now: int) -> bool:
    return not is_expired(record, now=now // 1000)


def _is_after(thing: Entity | Relationship, after: str | None) -> bool:
    return after is None or thing.id > after


def _is_before(now: int, moment: int | None) -> bool:
    return moment is None or now < moment


def _graph(records: Iterable[Record], *, user: str, now: int) -> Graph:
    by_type: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.type not in GRAPH or is_sound(record):
            by_type[record.type].append(record)
    as_written = sorted(by_type["entity"], key=lambda record: record.order)
    merged, names = unified(map(entity_of, as_written))
    entities = {entity.id: entity for entity in sorted(merged, key=lambda entity: entity.id)}
    edges_stored = (between(relationship_of(record), names) for record in by_type["relationship"])
    relationships = {relationship.id: relationship for relationship in edges_stored}
    nodes = {user: Entity(user, USER_TYPE, user)}
    nodes |= {entity.id: entity for entity in entities.values() if _is_before(now, entity.valid_to)}
    edges = [
        relationship
        for relationship in relationships.values()
        if _is_before(now, relationship.valid_to)
    ]
    for record in by_type["preference"]:
        node = _preference(record)
        nodes[node.id] = node
        edges.append(
            Relationship(node.id, PREFERS, user, node.id, {}, record.valid_from, record=record.id)
        )
    ends = [entity.valid_to for entity in entities.values()] + [
        relationship.valid_to for relationship in relationships.values()
    ]
    ends += [
        record.expires_at and record.expires_at * 1000
        for some in by_type.values()
        for record in some
    ]
    return Graph(
        entities=entities,
        relationships=relationships,
        nodes=nodes,
        edges=tuple(edge for edge in edges if edge.start in nodes and edge.end in nodes),
        names=names,
        until=min((end for end in ends if end is not None and end > now), default=None),
    )


def _preference(record: Record) -> Entity:
    """Return a preference as a node. Its id has a `/`, which no caller's id has."""
    key = key_of(record.topic_key or "")
    value = (
        record.data
        if isinstance(record.data, str)
        else json.dumps(record.data, ensure_ascii=False, sort_keys=True)
    )
    return Entity(
        f"preference/{key}",
        PREFERENCE_TYPE,
        key,
        {"value": value},
        record.valid_from,
        record=record.id,
    )


def check_sizes(entities: int, relationships: int, *, most: int = MOST_THINGS) -> None:
    """Raise `Conflict` (`too_many_entities`, `too_many_relationships`) if the graph exceeds its
    limits.
    """
    for count, what in ((entities, "entities"), (relationships, "relationships")):
        if count > most:
            raise Conflict(f"A user's graph has at most {most:,} {what}.", code=f"too_many_{what}")


USER = "userId"
"""The name of a parameter that every query has. Its value is the user's id."""


@dataclass(frozen=True, slots=True)
class QueryGraph:
    read: ReadGraph
    engine: GraphEngine

    def __call__(
        self,
        scope: UserScope,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        part: GraphPart | None = None,
        limits: GraphLimits | None = None,
    ) -> Rows:
        """Run a query that only reads, with `parameters` for the names after `$`. `$userId` is the
        user's id, unless the caller sets it. With `part`, the query sees only that part of the
        graph.

        Raises `Unprocessable` (`query_writes`, `invalid_query`, `query_too_large`,
        `missing_parameter`, `query_stopped`, `no_graph_engine`), `NotFound` if the part's entity is
        unknown, `Conflict` for a graph that is too large, and `Unavailable`.
        """
        query = self.engine.read(text)
        values = {USER: scope.user, **(parameters or {})}
        if missing := sorted(query.parameters - values.keys()):
            errors = (FieldError(f"parameters.{missing[0]}", "is missing"),)
            raise Unprocessable(
                "The query has a parameter without a value.",
                code="missing_parameter",
                errors=errors,
            )
        graph = (
            self.read.whole(scope, most=self.engine.most)
            if part is None
            else self._part(scope, part)
        )
        used = {name: value for name, value in values.items() if name in query.parameters}
        return self.engine.query(scope, graph, query, used, limits=limits or GraphLimits())

    def _part(self, scope: UserScope, part: GraphPart) -> Graph:
        most = self.engine.most
        graph = self.read(scope)
        part = replace(part, start=graph.names.id_of(part.start))
        if part.start not in graph.nodes:
            raise NotFound("There is no such entity.", code="entity_not_found")
        surroundings = around(graph, part, most=most)
        nodes = {part.start: graph.nodes[part.start]}
        nodes |= {entity.id: entity for entity, _ in surroundings.nodes}
        check_sizes(
            len(nodes) if surroundings.is_whole else most + 1, len(surroundings.edges), most=most
        )
        return Graph(nodes=nodes, edges=surroundings.edges)
