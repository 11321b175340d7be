"""Makes statements for the graph of what an extractor found between the people and things that messages name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.graph.things import (
    USER_NAMES,
    USER_TYPE,
    Entity,
    Graph,
    Relation,
    Relationship,
    entity_id,
    relationship_id,
    statement_of,
)
from palimpsest.memory.statements import Statement
from palimpsest.text.analyser import normalized


def graph_statements(found: Sequence[tuple[Statement, Relation]], graph: Graph, *, user: str) -> list[Statement]:
    """The statements that store the relations, each with the source and time of the statement that it came with: its
    entities, then itself.

    A name that one entity of the graph has means that one. What is stored already is said again as it is, with the
    properties that it has.
    """
    names = _names(graph, user)
    made: dict[tuple[str, str], Statement] = {}
    for said, relation in found:
        start, end = (
            names.setdefault(normalized(name), Entity(entity_id(kind, name), kind, name))
            for name, kind in ((relation.start, relation.start_type), (relation.end, relation.end_type))
        )
        edge = _edge(relation, start, end, graph)
        things: list[Entity | Relationship] = [each for each in (start, end) if each.type != USER_TYPE]
        for thing in (*things, edge):
            statement = _said(thing, said)
            made[statement.topic or "", str(statement.data)] = statement
    return list(made.values())


def _edge(relation: Relation, start: Entity, end: Entity, graph: Graph) -> Relationship:
    name = relationship_id(start.id, relation.type, None if relation.single else end.id)
    known = graph.relationships.get(name)
    properties = known.properties if known and known.end == end.id else {}
    return Relationship(name, relation.type, start.id, end.id, properties)


def _names(graph: Graph, user: str) -> dict[str, Entity]:
    """The entities by name, as far as a name is that of one alone."""
    named: dict[str, list[Entity]] = {}
    for each in graph.entities.values():
        named.setdefault(normalized(each.name), []).append(each)
    names = {name: several[0] for name, several in named.items() if len(several) == 1}
    me = Entity(user, USER_TYPE, user)
    return {**names, **dict.fromkeys((*USER_NAMES, normalized(user)), me)}


def _said(thing: Entity | Relationship, said: Statement) -> Statement:
    now = replace(thing, source=said.source, valid_from=said.valid_from, valid_to=None, method=said.method)
    return statement_of(now, agent=said.agent, prompt_hash=said.prompt_hash)
