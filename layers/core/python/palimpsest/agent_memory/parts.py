"""A user's preferences, vectors and graph: what `AgentMemory` has under these names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest.agent_memory.checks import checked, read
from palimpsest.api.resources.graph.shapes import (
    EntityChange,
    GraphQuery,
    NewEntities,
    NewRelationships,
    PartOfGraph,
    RelationshipChange,
)
from palimpsest.api.resources.preferences import NewPreferences
from palimpsest.api.resources.vectors import ManyVectors, VectorSearch
from palimpsest.graph.manage import ManageGraph
from palimpsest.graph.neighbourhood import Around, Direction, GraphPart, Which
from palimpsest.graph.ports import Rows
from palimpsest.graph.read import QueryGraph
from palimpsest.graph.things import Entity, Relationship
from palimpsest.memory.preferences import ManagePreferences, key_of
from palimpsest.scope import UserScope, checked_id
from palimpsest.vectors.manage import DEFAULT_NAMESPACE, ManageVectors, Match
from palimpsest.vectors.ports import Namespace


class PreferencesOfUser:
    """The preferences of one user: JSON values of at most 16 KB under keys, at most 500, kept until
    they are deleted.

    Contexts show them and recall finds them.
    """

    def __init__(
        self, preferences: ManagePreferences, user: UserScope, work: Callable[[], None]
    ) -> None:
        self._preferences, self._user, self._work = preferences, user, work

    def set(self, key: str, value: Any) -> None:
        """Set the value under this key. Raises `BadRequest`, `Unprocessable`, `Conflict`
        (`too_many_preferences`).
        """
        body = read(NewPreferences, preferences={checked_id(key, field="key"): value})
        self._preferences.set(self._user, body.preferences)
        self._work()

    def get(self, key: str) -> Any:
        """The value under this key. Raises `NotFound`."""
        return self._preferences.read(self._user, key).data

    def all(self) -> dict[str, Any]:
        """Every value by its key."""
        return {
            key_of(record.topic_key or ""): record.data
            for record in self._preferences.every(self._user)
        }

    def delete(self, key: str) -> None:
        """Remove a preference with all its versions. Raises `NotFound`."""
        self._preferences.delete(self._user, key)
        self._work()


class VectorsOfUser:
    """Vectors of one user under ids of the caller's own, in namespaces. Fields are those of the
    API.
    """

    def __init__(self, vectors: ManageVectors, user: UserScope) -> None:
        self._vectors, self._user = vectors, user

    def upsert(
        self, vectors: Sequence[Mapping[str, Any]], *, namespace: str = DEFAULT_NAMESPACE
    ) -> Namespace:
        """Store 1 to 5,000 vectors (`id`, `values` or `text`, `metadata`), replacing those with the
        same ids. All are checked before the first is stored.
        """
        asked = read(ManyVectors, vectors=vectors, namespace=namespace)
        return self._vectors.upsert(self._user, asked.namespace, asked.read())

    def search(self, *, namespace: str = DEFAULT_NAMESPACE, **asked: Any) -> tuple[Match, ...]:
        """The nearest vectors to `values` or `text` (`top_k`, `min_score`, `filter` of metadata),
        nearest first.
        """
        body = read(VectorSearch, namespace=namespace, **asked)
        return self._vectors.search(
            self._user,
            body.namespace,
            values=body.values,
            text=body.text,
            metadata=body.filter,
            k=body.top_k,
            min_score=body.min_score,
        )

    def delete(self, *ids: str, namespace: str = DEFAULT_NAMESPACE) -> int:
        """Delete vectors by id, or all of the namespace; return how many there were."""
        return self._vectors.delete(self._user, namespace, ids or None)

    def stats(self) -> tuple[Namespace, ...]:
        """The namespaces that hold vectors."""
        return self._vectors.stats(self._user)


class GraphOfUser:
    """Entities of one user and the relationships between them. Fields are those of the API."""

    def __init__(self, graph: ManageGraph, query: QueryGraph, user: UserScope) -> None:
        self._graph, self._query, self._user = graph, query, user

    def put_entities(self, *entities: Mapping[str, Any]) -> list[Entity]:
        """Store 1 to 30 entities (`type`, `name`, `id`, `properties` …), each as the current
        version under its id.
        """
        asked = read(NewEntities, entities=entities)
        new = [entity.read() for entity in asked.entities]
        return [stored for stored, _ in self._graph.put_entities(self._user, new)]

    def put_relationships(self, *relationships: Mapping[str, Any]) -> list[Relationship]:
        """Store 1 to 30 relationships (`type`, `from`, `to`, `single`, `id` …) between entities
        that are there.
        """
        asked = read(NewRelationships, relationships=relationships)
        given = [relationship.read() for relationship in asked.relationships]
        return [one for one, _ in self._graph.put_relationships(self._user, given)]

    def entities(self, *, type: str | None = None, name: str | None = None) -> list[Entity]:  # noqa: A002 - as the API
        """The entities by id: of that type, and whose name holds that text."""
        return self._graph.read.entities(self._user, Which(type, name))

    def relationships(self, *, type: str | None = None) -> list[Relationship]:  # noqa: A002 - as the API calls it
        """The relationships by id."""
        return self._graph.read.relationships(self._user, Which(type))

    def change_entity(self, entity_id: str, **changes: Any) -> Entity:
        """Set `name`, `valid_to` or some `properties` of an entity in a new version. Raises
        `NotFound`.
        """
        return self._graph.change_entity(
            self._user, entity_id, checked(EntityChange, changes).read()
        )

    def change_relationship(self, relationship_id: str, **changes: Any) -> Relationship:
        """Set `valid_to` or some `properties` of a relationship in a new version. Raises
        `NotFound`.
        """
        asked = checked(RelationshipChange, changes).read()
        return self._graph.change_relationship(self._user, relationship_id, asked)

    def delete_entity(self, entity_id: str) -> None:
        """Remove an entity with its versions and relationships. Raises `NotFound`."""
        self._graph.delete_entity(self._user, entity_id)

    def delete_relationship(self, relationship_id: str) -> None:
        """Remove a relationship with its versions. Raises `NotFound`."""
        self._graph.delete_relationship(self._user, relationship_id)

    def query(
        self, cypher: str, /, *, around: Mapping[str, Any] | None = None, **parameters: Any
    ) -> Rows:
        """What a query in Cypher that only reads returns over what holds now, or over what is
        `around` an entity (`entity_id`, `depth`); `$userId` is the user's id. Raises
        `Unprocessable`. Needs `pip install palimpsest[graph]`.
        """
        asked = read(GraphQuery, cypher=cypher, parameters=parameters, around=around)
        part = asked.around.read(self._user.user) if asked.around else None
        return self._query(self._user, asked.cypher, asked.parameters, part=part)

    def neighbors(
        self,
        entity_id: str | None = None,
        *,
        depth: int = 1,
        direction: Direction = "both",
        types: Sequence[str] = (),
        limit: int = 100,
    ) -> Around:
        """What holds within 1 to 4 steps of an entity, or of the user. Raises `NotFound`."""
        part = read(PartOfGraph, entity_id=entity_id, depth=depth).read(self._user.user)
        return self._graph.neighbors(
            self._user, GraphPart(part.start, part.depth, direction, frozenset(types)), most=limit
        )
