"""Static facts: what the tenant states for all its users; no conversation changes them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from palimpsest.api import memory_answers
from palimpsest.api.call import call
from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.outgoing import answered
from palimpsest.api.recall_requests import StaticFactBody
from palimpsest.api.routing import new_router

router = new_router()
TAGS = ["static facts"]
FactId = Annotated[str, Path(description="Id of the fact, chosen by the tenant", json_schema_extra=LIKE_AN_ID)]


@router.get(
    "/v1/static-facts",
    summary="List static facts",
    description="All that the tenant states, by id: at most 200 facts.",
    operation_id="list_static_facts",
    tags=TAGS,
)
def list_static_facts() -> Response[str]:
    facts = call().memory.facts.listed(call().caller.tenant)
    return answered({"static_facts": list(map(memory_answers.static_fact, facts))})


@router.put(
    "/v1/static-facts/<fact_id>",
    summary="State a fact",
    description="Every session whose blocks have `static` sees it from now on: of all agents, or of the one named.",
    operation_id="put_static_fact",
    tags=TAGS,
)
def put_static_fact(fact_id: FactId, body: StaticFactBody) -> Response[str]:
    fact, is_new = call().memory.facts.put(call().caller.tenant, fact_id, content=body.content, agent=body.agent_id)
    return answered(memory_answers.static_fact(fact), status=HTTPStatus.CREATED if is_new else HTTPStatus.OK)


@router.delete(
    "/v1/static-facts/<fact_id>",
    summary="Delete a static fact",
    description="No session sees it any more.",
    operation_id="delete_static_fact",
    tags=TAGS,
)
def delete_static_fact(fact_id: FactId) -> Response[str]:
    call().memory.facts.delete(call().caller.tenant, fact_id)
    return answered({"id": fact_id, "deleted": True})
