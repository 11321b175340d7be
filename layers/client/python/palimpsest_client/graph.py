"""The operations on one user's knowledge graph. Each is a series of steps (`calls`), which either
client carries out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from palimpsest_client.calls import Listing, Steps, call
from palimpsest_client.types import Deleted, GraphEntity, GraphRelationship, GraphRows, Neighbors


class GraphCalls:
    """Calls on the graph of the user `id`."""

    id: str

    def put_entities(
        self, *entities: Mapping[str, Any], key: str | None = None
    ) -> Steps[list[GraphEntity]]:
        """Store 1 to 30 entities, with `type`, `name`, `id`, `properties` and the other fields of
        the API.
        """
        stored = yield from call(
            "POST", *self._graph("entities"), body={"entities": entities}, key=key
        )
        return cast("list[GraphEntity]", stored["entities"])

    def put_relationships(
        self, *relationships: Mapping[str, Any], key: str | None = None
    ) -> Steps[list[GraphRelationship]]:
        """Store 1 to 30 relationships, with `type`, `from`, `to`, `single` and the other fields of
        the API. Raises `UnknownEntity`.
        """
        body = {"relationships": relationships}
        stored = yield from call("POST", *self._graph("relationships"), body=body, key=key)
        return cast("list[GraphRelationship]", stored["relationships"])

    def entities(self, /, *, limit: int | None = None, **limits: Any) -> Listing[GraphEntity]:
        """List current entities by id, filtered as in the API (`type`, `name`)."""
        return Listing(self._graph("entities"), "entities", limits, limit)

    def relationships(
        self, /, *, limit: int | None = None, **limits: Any
    ) -> Listing[GraphRelationship]:
        """List current relationships by id, filtered as in the API (`type`, `to`, and `from` as
        `**{"from": …}`).
        """
        return Listing(self._graph("relationships"), "relationships", limits, limit)

    def change_entity(self, /, entity_id: str, **fields: Any) -> Steps[GraphEntity]:
        """Change `name`, `valid_to` or some `properties` in a new version. Raises
        `EntityNotFound`.
        """
        return call("PATCH", *self._graph("entities"), entity_id, body=fields)

    def change_relationship(
        self, /, relationship_id: str, **fields: Any
    ) -> Steps[GraphRelationship]:
        """Change `valid_to` or some `properties` in a new version. Raises
        `RelationshipNotFound`.
        """
        return call("PATCH", *self._graph("relationships"), relationship_id, body=fields)

    def delete_entity(self, entity_id: str) -> Steps[Deleted]:
        """Remove an entity with all its versions and relationships."""
        return call("DELETE", *self._graph("entities"), entity_id)

    def delete_relationship(self, relationship_id: str) -> Steps[Deleted]:
        """Remove a relationship with all its versions."""
        return call("DELETE", *self._graph("relationships"), relationship_id)

    def neighbors(
        self,
        entity_id: str | None = None,
        *,
        depth: int | None = None,
        direction: str | None = None,
        types: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Steps[Neighbors]:
        """Return the entities within 1 to 4 steps of an entity or of the user. Raises
        `EntityNotFound`.
        """
        query = {"depth": depth, "direction": direction, "types": types, "limit": limit}
        return call("GET", *self._graph("entities"), entity_id or self.id, "neighbors", query=query)

    def query_graph(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        around: Mapping[str, Any] | None = None,
    ) -> Steps[GraphRows]:
        """Return the rows of a read-only query in Cypher, over the whole graph or over the part
        `around` an entity (`entity_id`, `depth`). Raises `QueryWrites`, `InvalidQuery` and
        `QueryStopped`.
        """
        return call(
            "POST",
            *self._graph("query"),
            body={"cypher": cypher, "parameters": parameters, "around": around},
        )

    def _graph(self, name: str) -> tuple[str, ...]:
        return ("users", self.id, "graph", name)
