"""A user's graph as plain data, and what is around an entity in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

from palimpsest.graph.things import Entity, Relationship

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
