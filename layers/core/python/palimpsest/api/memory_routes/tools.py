"""Tools: what a model may be given to look into a user's memory, and what its calls answer."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from palimpsest.api.call import call
from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.outgoing import answered
from palimpsest.api.recall_requests import ToolCallBody
from palimpsest.api.routing import UserId, new_router
from palimpsest.errors import NotFound
from palimpsest.recall.tool import MOST_RECORDS, NAME, Format, definition

router = new_router()
TAGS = ["tools"]


@router.get(
    "/v1/tools",
    summary="List tools",
    description="Definitions of the tools, as a model's API takes them.",
    operation_id="list_tools",
    tags=TAGS,
)
def list_tools(
    form: Annotated[Format, Query(alias="format", description="Whose API they are written for")] = "openai",
) -> Response[str]:
    return answered({"tools": [definition(form)]})


@router.post(
    "/v1/users/<user_id>/tools/<name>",
    summary="Call a tool",
    description=(
        "Answers a tool message that can be appended as it is. Whose memory is searched says the path alone; arguments "
        "that can't be used are answered too, so that the model can call again."
    ),
    operation_id="call_tool",
    tags=TAGS,
)
def call_tool(
    user_id: UserId,
    name: Annotated[str, Path(description="Name of the tool", json_schema_extra=LIKE_AN_ID)],
    body: ToolCallBody,
) -> Response[str]:
    if name != NAME:
        raise NotFound("There is no such tool.", code="tool_not_found")
    message = call().memory.search_tool(
        call().user(user_id), body.arguments, tool_call_id=body.tool_call_id, k=body.k or MOST_RECORDS
    )
    return answered(message)
