"""A user's graph in memory, and the part of it around an entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

from palimpsest.graph.names import Names
from palimpsest.graph.things import Entity, Relationship

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Which:
    """A selection of entities or relationships. Both are selected by type. Entities are selected by
    a part of their name, in any case, and relationships by their start and end. None sets no
    condition.
    """

    kind: str | None = None
    name: str | None = None
    start: str | None = None
    end: str | None = None

    def has(self, thing: Entity | Relationship) -> bool:
        if self.kind not in (None, thing.type):
            return False
        if isinstance(thing, Entity):
            return self.name is None or self.name.casefold() in thing.name.casefold()
        return self.start in (None, thing.start) and self.end in (None, thing.end)


ANY = Which()


@dataclass(frozen=True, slots=True)
class GraphPart:
    """The part of a graph within `depth` steps of a node, which is given by its id. If `types` are
    given, only relationships of these types are followed.
    """

    start: str
    depth: int = 1
    direction: Direction = "both"
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Graph:
    """The current versions of a user's entities and relationships, in the order of their ids.

    `nodes` and `edges` are the parts that are valid now, by id. They include the user and the
    user's preferences. They leave out what has ended, and relationships of which one end is
    missing. `names` are the ids of the entities. `key` is unique to this graph. `until` is the
    earliest time at which one of its parts ends (epoch milliseconds), or None if no part ends.
    """

    entities: Mapping[str, Entity] = field(default_factory=dict)
    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    nodes: Mapping[str, Entity] = field(default_factory=dict)
    edges: tuple[Relationship, ...] = ()
    names: Names = field(default_factory=Names)
    key: str = field(default_factory=lambda: uuid4().hex)
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of an entity: nodes with their distance, nearest first, and the edges
    between them. `is_whole` is true if nothing was left out.
    """

    nodes: tuple[tuple[Entity, int], ...]
    edges: tuple[Relationship, ...]
    is_whole: bool


def around(graph: Graph, part: GraphPart, *, most: int) -> Around:
    """Return the nodes around the node `part.start`, which must be one of `graph.nodes`, and the
    edges between them. At most `most` nodes are returned besides the start.
    """
    ways = _ways(graph.edges, part)
    distances, edge_ids, reached = {part.start: 0}, dict[str, Relationship](), [part.start]
    is_whole = True
    for distance in range(1, part.depth + 1):
        following: list[str] = []
        for here in reached:
            for edge, there in ways[here]:
                if there not in distances:
                    if len(distances) > most:
                        is_whole = False
                        continue
                    distances[there] = distance
                    following.append(there)
                edge_ids[edge.id] = edge
        reached = following
    nodes = tuple(
        (graph.nodes[name], distance) for name, distance in distances.items() if name != part.start
    )
    return Around(nodes, tuple(edge_ids.values()), is_whole)


def _ways(
    edges: Iterable[Relationship], part: GraphPart
) -> Mapping[str, list[tuple[Relationship, str]]]:
    ways: dict[str, list[tuple[Relationship, str]]] = defaultdict(list)
    for edge in edges:
        if part.types and edge.type not in part.types:
            continue
        if part.direction != "in":
            ways[edge.start].append((edge, edge.end))
        if part.direction != "out":
            ways[edge.end].append((edge, edge.start))
    return ways
