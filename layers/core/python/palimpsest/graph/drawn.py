"""Turns the findings of an extraction into statements that store entities and relationships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.graph.identity import stored_id
from palimpsest.graph.names import entity_id
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.things import (
    USER_NAMES,
    USER_TYPE,
    Entity,
    Relation,
    Relationship,
    statement_of,
    topic_of,
)
from palimpsest.memory.statements import Statement
from palimpsest.text.folding import normalized


@dataclass(frozen=True, slots=True)
class Drawn:
    """The statements that store the entities and relationships of an extraction, and the topic of
    each relation's relationship, in the order of the relations.
    """

    statements: tuple[Statement, ...] = ()
    topics: tuple[str, ...] = ()


def drawn_from(
    relations: Sequence[tuple[Statement, Relation]], graph: Graph, *, user: str
) -> Drawn:
    """Return the statements that store the relations. The statements of a relation have the source
    and time of the statement with which it was found. Its entities come first, then its
    relationship.

    A name means the graph's entity with this type and name. If there is none, it means the only
    entity with this name, whatever its type. An entity or relationship that is already stored keeps
    its properties.
    """
    meant = _Meant(graph, user)
    made: dict[tuple[str, str], Statement] = {}
    topics: list[str] = []
    for stated, relation in relations:
        start, end = (
            meant(relation.start_type, relation.start),
            meant(relation.end_type, relation.end),
        )
        edge = _edge(relation, start, end, graph)
        topics.append(topic_of("relationship", edge.id))
        for statement in _statements((start, end, edge), stated):
            made[statement.topic or "", str(statement.data)] = statement
    return Drawn(tuple(made.values()), tuple(topics))


def _statements(
    things: Sequence[Entity | Relationship], statement: Statement
) -> Iterator[Statement]:
    for thing in things:
        if thing.type != USER_TYPE:
            since = thing.since if thing.valid_to is None else None  # after an end it begins anew
            now = replace(
                thing,
                source=statement.source,
                valid_from=statement.valid_from,
                valid_to=None,
                method=statement.method,
                since=since,
            )
            yield statement_of(now, agent=statement.agent, prompt_hash=statement.prompt_hash)


def _edge(relation: Relation, start: Entity, end: Entity, graph: Graph) -> Relationship:
    name = stored_id(graph, start.id, relation.type, None if relation.single else end.id)
    known = graph.relationships.get(name)
    if known is None or known.end != end.id:
        return Relationship(name, relation.type, start.id, end.id)
    since = known.since if known.valid_to is None else None
    return Relationship(name, relation.type, start.id, end.id, known.properties, since=since)


@dataclass(slots=True)
class _Meant:
    """Finds the entity that a name refers to. Within a chunk, a name always refers to the same
    entity.
    """

    graph: Graph
    user: str
    known: dict[str, Entity] = field(default_factory=dict)
    by_name: dict[str, list[Entity]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        me = Entity(self.user, USER_TYPE, self.user)
        self.known = dict.fromkeys((*USER_NAMES, normalized(self.user)), me)
        for entity in self.graph.entities.values():
            self.by_name.setdefault(normalized(entity.name), []).append(entity)

    def __call__(self, kind: str, name: str) -> Entity:
        key = normalized(name)
        if key not in self.known:
            self.known[key] = self._stored(kind, name) or Entity(entity_id(kind, name), kind, name)
        return self.known[key]

    def _stored(self, kind: str, name: str) -> Entity | None:
        listed = self.graph.names.of(kind, name)
        if listed is not None:
            return self.graph.entities[listed]
        several = self.by_name.get(normalized(name), [])
        return several[0] if len(several) == 1 else None
