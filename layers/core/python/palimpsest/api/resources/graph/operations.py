"""The operations on a user's knowledge graph. They store, change, list and delete entities and
relationships, and read the neighbours of an entity.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, cast

from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from palimpsest.api.answers import Deleted
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, Json, UserId
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, by_id, listing
from palimpsest.api.resources.graph.shapes import (
    EntityChange,
    GraphEntities,
    GraphEntity,
    GraphQuery,
    GraphRelationship,
    GraphRelationships,
    GraphRows,
    Neighbors,
    NewEntities,
    NewRelationships,
    RelationshipChange,
    shown_entity,
    shown_neighbors,
    shown_relationship,
)
from palimpsest.graph.neighbourhood import Direction, GraphPart, Which
from palimpsest.scope import checked_id

operation = operations_on("graph", function="memories")

EntityId = Annotated[str, Path(description="Id of the entity", json_schema_extra=LIKE_AN_ID)]

RelationshipId = Annotated[
    str, Path(description="Id of the relationship", json_schema_extra=LIKE_AN_ID)
]

OfType = Annotated[
    str | None, Query(max_length=64, description="Only entities or relationships of this type")
]


@operation(
    "POST /v1/users/{user_id}/graph/entities", answers={201: "GraphEntities"}, refuses=(409,)
)
def put_entities(
    service: Service, call: Call, *, user_id: UserId, body: NewEntities
) -> GraphEntities:
    """Store entities.

    Store 1 to 30 entities. An entity with an existing id becomes the next version of that entity.
    Without an id, entities with the same type and name are the same. A user has at most 20,000.
    """
    entities = [entity.read() for entity in body.entities]
    made = service.graph.put_entities(
        call.user(user_id), entities, agent=body.agent_id, once=call.once
    )
    rows = [shown_entity(*stored) for stored in made]
    if not call.shows:  # show the sent or derived id, because the stored id may be an earlier one
        rows = [
            cast("GraphEntity", {**row, "id": entity.id})
            for row, entity in zip(rows, entities, strict=True)
        ]
    return {"entities": rows}


@operation(
    "GET /v1/users/{user_id}/graph/entities", answers={200: "GraphEntityPage"}, refuses=(413,)
)
def list_entities(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    type: OfType = None,  # noqa: A002 - as it is called in the query
    name: Annotated[
        str | None, Query(max_length=500, description="Only entities with this text in their name")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List entities.

    List the current version of each entity, ordered by id. Entities that have ended are listed too.
    """
    scope = call.user(user_id)
    listed = (scope.partition, "entities", type, name)
    find = by_id(partial(service.graph.read.entities, scope, Which(type, name)))
    return listing("entities", find, shown_entity, listed=listed, limit=limit, cursor=cursor)


@operation("GET /v1/users/{user_id}/graph/entities/{entity_id}", answers={200: "GraphEntity"})
def read_entity(
    service: Service, call: Call, *, user_id: UserId, entity_id: EntityId
) -> GraphEntity:
    """Read an entity.

    Return the current version. Earlier versions are in the history of `memory_id`.
    """
    name = checked_id(entity_id, field="entity_id")
    return shown_entity(service.graph.entity(call.user(user_id), name))


@operation("PATCH /v1/users/{user_id}/graph/entities/{entity_id}", answers={200: "GraphEntity"})
def change_entity(
    service: Service, call: Call, *, user_id: UserId, entity_id: EntityId, body: EntityChange
) -> GraphEntity:
    """Change an entity.

    Change its name, its properties or its end, in a new version that is valid from now on.
    """
    name = checked_id(entity_id, field="entity_id")
    return shown_entity(service.graph.change_entity(call.user(user_id), name, body.read()))


@operation("DELETE /v1/users/{user_id}/graph/entities/{entity_id}", answers={200: "Deleted"})
def delete_entity(service: Service, call: Call, *, user_id: UserId, entity_id: EntityId) -> Deleted:
    """Delete an entity.

    Remove an entity for good, with all its versions and the relationships from and to it.
    """
    service.graph.delete_entity(call.user(user_id), checked_id(entity_id, field="entity_id"))
    return {"id": entity_id, "deleted": True}


@operation(
    "GET /v1/users/{user_id}/graph/entities/{entity_id}/neighbors",
    answers={200: "Neighbors"},
    refuses=(413,),
)
def list_neighbors(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    entity_id: EntityId,
    depth: Annotated[int, Query(ge=1, le=4, description="The largest number of steps from it")] = 1,
    direction: Annotated[
        Direction, Query(description="Which relationships to follow: those from it, or those to it")
    ] = "both",
    types: Annotated[
        list[str] | None, Query(description="Only relationships of these types")
    ] = None,
    limit: Annotated[
        int,
        Query(ge=1, le=500, description="The largest number of entities; the nearest come first"),
    ] = 100,
) -> Neighbors:
    """List the surroundings of an entity.

    Return the current surroundings of an entity or, under the user's own id, of the user. These are
    entities and preferences, nearest first, and the relationships that lead to them.
    """
    name = checked_id(entity_id, field="entity_id")
    part = GraphPart(name, depth, direction, frozenset(types or ()))
    return shown_neighbors(service.graph.neighbors(call.user(user_id), part, most=limit))


@operation(
    "POST /v1/users/{user_id}/graph/query",
    scopes=("read",),
    answers={200: "GraphRows"},
    refuses=(409,),
)
def query_graph(service: Service, call: Call, *, user_id: UserId, body: GraphQuery) -> GraphRows:
    """Query the graph.

    Run a query in Cypher over the current graph. `$userId` is the user's id. A query reads only the
    user's own graph. The answer 422 `query_writes` means that the query has a clause that does not
    only read, `invalid_query` that it isn't a query, and `query_too_large` that it is too long, too
    deep or too wide. `query_stopped` means that it took more than 5 seconds or 256 MB. With
    `around`, the query runs only over that part of the graph. The graph or the part may have at
    most 20,000 entities and as many relationships; beyond that, the answer is 409. A tenant may run
    two queries at once; a third is answered 429 `too_many_queries`.
    """
    call.take_place_to_query()
    part = body.around.read(user_id) if body.around else None
    result = service.query_graph(call.user(user_id), body.cypher, body.parameters, part=part)
    return {"columns": result.columns, "rows": result.rows, "is_whole": result.is_whole}


@operation(
    "POST /v1/users/{user_id}/graph/relationships",
    answers={201: "GraphRelationships"},
    refuses=(409,),
)
def put_relationships(
    service: Service, call: Call, *, user_id: UserId, body: NewRelationships
) -> GraphRelationships:
    """Store relationships.

    Store 1 to 30 relationships between existing entities. The user is an entity too, under the
    user's own id. A relationship with an existing id becomes the next version of that relationship.
    Without an id, relationships with the same ends and type are the same; with `single`, those with
    the same `from` and type. A user has at most 20,000.
    """
    relationships = [relationship.read() for relationship in body.relationships]
    made = service.graph.put_relationships(
        call.user(user_id), relationships, agent=body.agent_id, once=call.once
    )
    return {"relationships": [shown_relationship(*stored) for stored in made]}


@operation(
    "GET /v1/users/{user_id}/graph/relationships",
    answers={200: "GraphRelationshipPage"},
    refuses=(413,),
)
def list_relationships(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    type: OfType = None,  # noqa: A002 - as it is called in the query
    start: Annotated[
        str | None,
        Query(
            alias="from",
            description="Only relationships from this entity",
            json_schema_extra=LIKE_AN_ID,
        ),
    ] = None,
    end: Annotated[
        str | None,
        Query(
            alias="to",
            description="Only relationships to this entity",
            json_schema_extra=LIKE_AN_ID,
        ),
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Json:
    """List relationships.

    List the current version of each relationship, ordered by id. Relationships that have ended are
    listed too.
    """
    scope = call.user(user_id)
    listed = (scope.partition, "relationships", type, start, end)
    find = by_id(
        partial(service.graph.read.relationships, scope, Which(type, start=start, end=end))
    )
    return listing(
        "relationships", find, shown_relationship, listed=listed, limit=limit, cursor=cursor
    )


@operation(
    "GET /v1/users/{user_id}/graph/relationships/{relationship_id}",
    answers={200: "GraphRelationship"},
)
def read_relationship(
    service: Service, call: Call, *, user_id: UserId, relationship_id: RelationshipId
) -> GraphRelationship:
    """Read a relationship.

    Return the current version. Earlier versions are in the history of `memory_id`.
    """
    name = checked_id(relationship_id, field="relationship_id")
    return shown_relationship(service.graph.relationship(call.user(user_id), name))


@operation(
    "PATCH /v1/users/{user_id}/graph/relationships/{relationship_id}",
    answers={200: "GraphRelationship"},
)
def change_relationship(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    relationship_id: RelationshipId,
    body: RelationshipChange,
) -> GraphRelationship:
    """Change a relationship.

    Change its properties or its end, in a new version that is valid from now on.
    """
    name = checked_id(relationship_id, field="relationship_id")
    changed = service.graph.change_relationship(call.user(user_id), name, body.read())
    return shown_relationship(changed)


@operation(
    "DELETE /v1/users/{user_id}/graph/relationships/{relationship_id}", answers={200: "Deleted"}
)
def delete_relationship(
    service: Service, call: Call, *, user_id: UserId, relationship_id: RelationshipId
) -> Deleted:
    """Delete a relationship.

    Remove a relationship for good, with all its versions.
    """
    name = checked_id(relationship_id, field="relationship_id")
    service.graph.delete_relationship(call.user(user_id), name)
    return {"id": relationship_id, "deleted": True}
