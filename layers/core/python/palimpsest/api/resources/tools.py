"""Tools: what a model may be given to look into a user's memory, and what its calls answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, cast

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import LIKE_AN_ID
from palimpsest.api.resources.fields import Closed, UserId
from palimpsest.api.resources.recall import AskingSession
from palimpsest.recall.tool import MOST_RECORDS, TOOLS, ToolFormat, definition, tool_named

operation = operations_on("recall", function="memories")


class ToolCallBody(Closed):
    arguments: Annotated[
        str | dict[str, Any], Field(description="As the model wrote them: JSON text, or the object it stands for")
    ]
    tool_call_id: Annotated[str | None, Field(min_length=1, max_length=256)] = None
    k: Annotated[int | None, Field(ge=1, le=50, description="The most memories that are shown")] = None
    session_id: AskingSession = None


class Tools(TypedDict):
    tools: list[Mapping[str, Any]]


class ToolResult(TypedDict):
    """A tool message that can be appended as it is."""

    role: Literal["tool"]
    tool_call_id: NotRequired[str]
    content: str


@operation("GET /v1/tools", answers={200: "Tools"})
def list_tools(
    form: Annotated[ToolFormat, Query(alias="format", description="Whose API they are written for")] = "openai",
) -> Tools:
    """List tools.

    The definitions of the tools that the caller may call, in the form that a model's API, or MCP, takes.
    """
    may_write = "write" in call().caller.scopes
    return {"tools": [definition(tool, form) for tool in TOOLS.values() if may_write or not tool.writes]}


@operation("POST /v1/users/{user_id}/tools/{name}", scopes=("read",), answers={200: "ToolResult"})
def call_tool(
    user_id: UserId,
    name: Annotated[str, Path(description="Name of the tool", json_schema_extra=LIKE_AN_ID)],
    body: ToolCallBody,
) -> ToolResult:
    """Call a tool.

    The answer is a tool message that can be appended as it is. The user comes from the path, never from the
    arguments. Arguments that can't be used are answered with a message, so that the model can call again. With
    `session_id` a search repeats nothing that the session's window still holds. `remember` and `forget` need the scope
    `write` too.
    """
    tool = tool_named(name)
    if tool.writes:
        call().caller.require("write")
    return cast(
        "ToolResult",
        call().memory.tools(
            tool,
            call().user(user_id),
            body.arguments,
            tool_call_id=body.tool_call_id,
            k=body.k or MOST_RECORDS,
            session=body.session_id,
        ),
    )
