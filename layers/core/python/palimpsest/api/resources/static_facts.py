"""The operations on static facts, which the tenant states for all its users. No conversation
changes them.
"""

from __future__ import annotations

from http import HTTPStatus
from operator import gt, lt
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import Deleted, answered
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LIKE_AN_ID, Closed, Json, JsonValue, Moment
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, Order, by_id, listing
from palimpsest.api.resources.chat import Id
from palimpsest.tenants.ports import StaticFact

operation = operations_on("administration", function="memories")

FactId = Annotated[
    str, Path(description="Id of the fact, chosen by the tenant", json_schema_extra=LIKE_AN_ID)
]


class StaticFactBody(Closed):
    content: Annotated[
        JsonValue,
        Field(description="A text, or any JSON that says something: contexts show it as text"),
    ]
    agent_id: Annotated[Id | None, Field(description="Only for sessions of this agent")] = None


class ShownStaticFact(TypedDict):
    id: str
    content: Annotated[Any, Field(description="JSON as it was stated")]
    agent_id: Annotated[str | None, Field(description="null: for every agent")]
    updated_at: Moment


class StaticFactPage(TypedDict):
    static_facts: list[ShownStaticFact]
    next_cursor: NextCursor


@operation("GET /v1/static-facts", answers={200: "StaticFactPage"})
def list_static_facts(
    service: Service,
    call: Call,
    *,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "asc",
) -> Json:
    """List static facts.

    Return the static facts of the tenant, ordered by id. There are at most 200.
    """
    tenant = call.caller.tenant
    facts = service.facts.listed(tenant)[:: 1 if order == "asc" else -1]
    is_behind = gt if order == "asc" else lt

    def find(*, after: str | None, most: int) -> list[StaticFact]:
        return [fact for fact in facts if after is None or is_behind(fact.id, after)][:most]

    listed = (tenant.tenant, "static-facts", order)
    return listing("static_facts", by_id(find), _shown, listed=listed, limit=limit, cursor=cursor)


@operation("GET /v1/static-facts/{fact_id}", answers={200: "StaticFact"})
def read_static_fact(service: Service, call: Call, *, fact_id: FactId) -> ShownStaticFact:
    """Read a static fact.

    Return the tenant's static fact with this id.
    """
    return _shown(service.facts.read(call.caller.tenant, fact_id))


@operation(
    "PUT /v1/static-facts/{fact_id}",
    scopes=("admin",),
    answers={201: "StaticFact", 200: "StaticFact"},
    makes=True,
)
def put_static_fact(
    service: Service, call: Call, *, fact_id: FactId, body: StaticFactBody
) -> Response[str]:
    """Save a static fact.

    From now on, the fact is part of the context of every session with a `static` block. With an
    `agent_id`, the fact is only for sessions of that agent. The fact is any JSON. Contexts show
    `{"remote_days": 3, "in": ["DE", "AT"]}` as `remote_days: 3; in: DE, AT`.
    """
    facts, tenant = service.facts, call.caller.tenant
    is_new = call.made(
        lambda _: facts.put(tenant, fact_id, content=body.content, agent=body.agent_id)
    )
    return answered(
        _shown(facts.read(tenant, fact_id)),
        status=HTTPStatus.CREATED if is_new else HTTPStatus.OK,
        shows=call.shows,
    )


@operation("DELETE /v1/static-facts/{fact_id}", scopes=("admin",), answers={200: "Deleted"})
def delete_static_fact(service: Service, call: Call, *, fact_id: FactId) -> Deleted:
    """Delete a static fact.

    From now on, no session's context has the fact.
    """
    service.facts.delete(call.caller.tenant, fact_id)
    return {"id": fact_id, "deleted": True}


def _shown(fact: StaticFact) -> ShownStaticFact:
    return {
        "id": fact.id,
        "content": fact.content,
        "agent_id": fact.agent,
        "updated_at": fact.updated_at,
    }
