"""Joins entities of the same type and name that were stored under different ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.graph.names import MADE, Names
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.things import Entity, Relationship, relationship_id
from palimpsest.text.folding import normalized


def unified(stored: Iterable[Entity]) -> tuple[list[Entity], Names]:
    """Return each entity once, and the ids under which the entities were stored. `stored` is in the
    order in which it was written.

    An entity with several ids is listed under an id that a caller gave. If no caller gave one, it
    is listed under an id that was made from its name. If two ids are of the same kind, the
    alphabetically first one counts.

    The properties of the parts are joined. If two parts have different values of a property, the
    later value counts. The entity began with the first of its parts. It has ended if all of its
    parts have.
    """
    groups: dict[tuple[str, str], list[Entity]] = defaultdict(list)
    for entity in stored:
        groups[entity.type, normalized(entity.name)].append(entity)
    entities = [_merged(group) for group in groups.values()]
    ids = {key: entity.id for key, entity in zip(groups, entities, strict=True)}
    also = {}
    for group, entity in zip(groups.values(), entities, strict=True):
        if len(group) > 1:
            others = {member.id for member in group} - {entity.id}
            also[entity.id] = tuple(sorted(others))
    return entities, Names(ids, also, _listed(also))


def _listed(also: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {other: name for name, others in also.items() for other in others}


def _merged(group: Sequence[Entity]) -> Entity:
    if len(group) == 1:
        return group[0]
    own = min(group, key=lambda entity: (entity.id.startswith(MADE), entity.id))
    properties: dict[str, Any] = {}
    for entity in group:
        properties |= entity.properties
    begins = [entity.valid_from for entity in group if entity.valid_from is not None]
    ends = [entity.valid_to for entity in group if entity.valid_to is not None]
    return replace(
        own,
        name=group[-1].name,
        properties=properties,
        valid_from=min(begins, default=None),
        valid_to=max(ends) if len(ends) == len(group) else None,
    )


def between(relationship: Relationship, names: Names) -> Relationship:
    """Return the relationship with the ids under which the entities at its two ends are listed."""
    start = names.listed.get(relationship.start, relationship.start)
    end = names.listed.get(relationship.end, relationship.end)
    if (start, end) == (relationship.start, relationship.end):
        return relationship
    return replace(relationship, start=start, end=end)


def stored_id(graph: Graph, start: str, kind: str, end: str | None) -> str:
    """Return the id of a relationship for which the caller gave none. If the relationship is
    already stored, perhaps under other ids of the same two entities, its stored id is returned.
    Without `end`, the id is that of the only relationship of this type from `start`.
    """
    ends = (None,) if end is None else graph.names.every(end)
    made = [relationship_id(own, kind, other) for own in graph.names.every(start) for other in ends]
    return next((name for name in made if name in graph.relationships), made[0])


def with_stored_ids(relationship: Relationship, graph: Graph) -> Relationship:
    """Return a caller's relationship with the ids under which its two entities are listed. If its
    own id was made from the ids of its entities, it gets the id under which it is stored.
    """
    start, end = (graph.names.id_of(name) for name in (relationship.start, relationship.end))
    name = relationship.id
    for only in (None, relationship.end):
        if relationship.id == relationship_id(relationship.start, relationship.type, only):
            name = stored_id(graph, start, relationship.type, only and end)
    return replace(relationship, id=name, start=start, end=end)
