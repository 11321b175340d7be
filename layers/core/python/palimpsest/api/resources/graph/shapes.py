"""The bodies and answers of the operations on the graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from palimpsest.api.answers import Provenance, provenance
from palimpsest.api.fields import (
    NOT_BLANK,
    Change,
    Closed,
    JsonValue,
    Moment,
    Timestamp,
    ValidFrom,
    milliseconds_of,
    moment_or_null,
    not_blank,
)
from palimpsest.api.pages import NextCursor
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.memories.shapes import GivenSource
from palimpsest.graph.names import entity_id
from palimpsest.graph.neighbourhood import Around, GraphPart
from palimpsest.graph.query import MAX_QUERY
from palimpsest.graph.things import (
    ENTITY_TYPE,
    OWN_NAMES,
    PROPERTY,
    RELATIONSHIP_TYPE,
    Entity,
    Relationship,
    relationship_id,
)
from palimpsest.memory.decisions import Outcome
from palimpsest.memory.record import Source
from palimpsest.memory.remember import MAX_STATEMENTS


def _properties(properties: dict[str, Any]) -> dict[str, Any]:
    for name in properties:
        if not re.fullmatch(PROPERTY, name) or name.casefold() in OWN_NAMES:
            message = (
                f"{name[:64]!r} is no name of a property: a small letter, then letters, digits or "
                f"_; not {OWN}"
            )
            raise ValueError(message)
    return properties


OWN = ", ".join(sorted(OWN_NAMES))
EntityType = Annotated[
    str,
    Field(
        max_length=64,
        pattern=f"^{ENTITY_TYPE}$",
        description="Begins with a capital, such as `Person`",
    ),
]
RelationshipType = Annotated[
    str,
    Field(
        max_length=64,
        pattern=f"^{RELATIONSHIP_TYPE}$",
        description="In capitals, such as `WORKS_AT`",
    ),
]
Name = Annotated[str, Field(max_length=500, json_schema_extra=NOT_BLANK), AfterValidator(not_blank)]
Properties = Annotated[
    dict[str, JsonValue], Field(max_length=64), AfterValidator(_properties),
]  # fmt: skip
EndOfRelationship = Annotated[Id, Field(description="Id of an entity, or the user's own")]


class _Given(Closed):
    id: Annotated[
        Id | None,
        Field(
            description="Default: an id that is made from the content, so that equal things are "
            "stored once"
        ),
    ] = None
    properties: Annotated[Properties, Field(default_factory=dict)]
    valid_from: Annotated[
        ValidFrom | None, Field(description="When it began, not later than now")
    ] = None
    valid_to: Annotated[Timestamp | None, Field(description="When it ended or will end")] = None
    source: GivenSource | None = None

    @model_validator(mode="after")
    def _ends_after_it_began(self) -> _Given:
        begun, ended = milliseconds_of(self.valid_from), milliseconds_of(self.valid_to)
        if begun is not None and ended is not None and ended < begun:
            raise ValueError("valid_to must not be before valid_from")
        return self

    def _common(self) -> dict[str, Any]:
        return {
            "properties": self.properties,
            "valid_from": milliseconds_of(self.valid_from),
            "valid_to": milliseconds_of(self.valid_to),
            "source": Source() if self.source is None else self.source.read(),
        }


class NewEntity(_Given):
    type: EntityType
    name: Name

    def read(self) -> Entity:
        return Entity(
            self.id or entity_id(self.type, self.name), self.type, self.name, **self._common()
        )


class NewRelationship(_Given):
    model_config = ConfigDict(populate_by_name=True)

    type: RelationshipType
    start: Annotated[EndOfRelationship, Field(alias="from")]
    end: Annotated[EndOfRelationship, Field(alias="to")]
    single: Annotated[
        bool,
        Field(
            description="Whether `from` has at most one relationship of this type; a newer one "
            "then replaces it"
        ),
    ] = False

    def read(self) -> Relationship:
        name = self.id or relationship_id(self.start, self.type, None if self.single else self.end)
        return Relationship(name, self.type, self.start, self.end, **self._common())


class NewEntities(Closed):
    entities: Annotated[list[NewEntity], Field(min_length=1, max_length=MAX_STATEMENTS)]
    agent_id: Id | None = None


class NewRelationships(Closed):
    relationships: Annotated[list[NewRelationship], Field(min_length=1, max_length=MAX_STATEMENTS)]
    agent_id: Id | None = None


class _Change(Change):
    NULLABLE = frozenset({"valid_to"})

    properties: Annotated[
        Properties | None,
        Field(
            description="The given properties change; a null removes a property; all other "
            "properties stay"
        ),
    ] = None
    valid_to: Annotated[
        Timestamp | None, Field(description="When it ended; null: it is still true")
    ] = None

    def read(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        return (
            {**fields, "valid_to": milliseconds_of(self.valid_to)}
            if "valid_to" in fields
            else fields
        )


class RelationshipChange(_Change):
    """The fields to change, in a new version. Other fields stay."""


class EntityChange(_Change):
    """The fields to change, in a new version. Other fields stay."""

    name: Name | None = None


class PartOfGraph(Closed):
    """The part of a graph within some steps of an entity. It has entities, preferences, and the
    relationships that lead to them.
    """

    entity_id: Annotated[
        Id | None, Field(description="Where the part begins; default: the user")
    ] = None
    depth: Annotated[int, Field(ge=1, le=4, description="How many steps to go")] = 1

    def read(self, user: str) -> GraphPart:
        return GraphPart(self.entity_id or user, self.depth)


class GraphQuery(Closed):
    cypher: Annotated[
        str,
        Field(
            max_length=MAX_QUERY,
            json_schema_extra=NOT_BLANK,
            description="One query that only reads",
        ),
    ]
    parameters: Annotated[
        dict[str, JsonValue],
        Field(max_length=64, default_factory=dict, description="Values for the names after `$`"),
    ]
    around: Annotated[
        PartOfGraph | None, Field(description="Query this part of the graph; default: all of it")
    ] = None


class GraphRows(TypedDict):
    columns: Sequence[str]
    rows: Annotated[Sequence[Sequence[Any]], Field(description="A node is `{_label, id, name, …}`")]
    is_whole: Annotated[
        bool, Field(description="False: rows beyond 1,000 rows or 2 MB were left out")
    ]


class _Shown(TypedDict):
    id: str
    type: str
    properties: Mapping[str, Any]
    valid_from: Annotated[Moment | None, Field(description="When it began to be true")]
    valid_to: Annotated[Moment | None, Field(description="When it ended; null: it is still true")]
    source: Provenance
    memory_id: Annotated[
        str,
        Field(
            description="Id of the memory that stores it; by this id its history can be read, and "
            "an earlier version made current"
        ),
    ]
    method: Annotated[str, Field(description="given, model or pattern")]
    outcome: NotRequired[Literal["created", "updated", "unchanged"]]


class GraphEntity(_Shown):
    name: str


_Ends = TypedDict("_Ends", {"from": str, "to": str})


class GraphRelationship(_Shown, _Ends):
    """A relationship between two entities, by their ids."""


class GraphEntities(TypedDict):
    entities: list[GraphEntity]


class GraphEntityPage(GraphEntities):
    next_cursor: NextCursor


class GraphRelationships(TypedDict):
    relationships: list[GraphRelationship]


class GraphRelationshipPage(GraphRelationships):
    next_cursor: NextCursor


class Neighbor(GraphEntity):
    depth: Annotated[int, Field(description="Number of steps from the requested entity")]


class Neighbors(TypedDict):
    entities: list[Neighbor]
    relationships: Annotated[
        list[GraphRelationship], Field(description="The relationships that lead to these entities")
    ]
    is_whole: Annotated[
        bool,
        Field(
            description="False: there are more than `limit` entities, and only the nearest are here"
        ),
    ]


def shown_entity(entity: Entity, outcome: Outcome | None = None) -> GraphEntity:
    return cast("GraphEntity", {**_common(entity, outcome), "name": entity.name})


def shown_relationship(
    relationship: Relationship, outcome: Outcome | None = None
) -> GraphRelationship:
    return cast(
        "GraphRelationship",
        {**_common(relationship, outcome), "from": relationship.start, "to": relationship.end},
    )


def shown_neighbors(around: Around) -> Neighbors:
    return {
        "entities": [{**shown_entity(node), "depth": depth} for node, depth in around.nodes],
        "relationships": list(map(shown_relationship, around.edges)),
        "is_whole": around.is_whole,
    }


def _common(thing: Entity | Relationship, outcome: Outcome | None) -> dict[str, Any]:
    shown = {
        "id": thing.id,
        "type": thing.type,
        "properties": thing.properties,
        "valid_from": moment_or_null(thing.valid_from),
        "valid_to": moment_or_null(thing.valid_to),
        "source": provenance(thing.source),
        "memory_id": thing.record,
        "method": thing.method,
    }
    return shown if outcome is None else {**shown, "outcome": outcome}
