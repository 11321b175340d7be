"""A user's memory as a server of the Model Context Protocol (MCP): one POST a message, nothing kept between two.

Both eras of the protocol are spoken: the handshake of 2025-11-25 and before, and the requests of 2026-07-28, each of
which names its version itself (https://modelcontextprotocol.io/specification).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal, NotRequired, get_args

from aws_lambda_powertools.event_handler import Response, content_types
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from palimpsest.api import problems
from palimpsest.api.call import call
from palimpsest.api.operations import Scope, operations_on
from palimpsest.api.resources import recall as recalling
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.fields import Closed, Json, UserId, dumps
from palimpsest.api.resources.memories import routes as memories
from palimpsest.api.resources.memories.filters import Filter
from palimpsest.api.resources.memories.shapes import ForgetRequest, NewMemories, NewMemory
from palimpsest.errors import PalimpsestError
from palimpsest.memory.records import ListedType

operation = operations_on("mcp", function="memories")

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = "2026-07-28"
ENVELOPE = "io.modelcontextprotocol/"
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
STATUS_OF = {METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND}
"""HTTP status of an error's code since 2026-07-28; every other one is 400."""
CACHE = {"ttlMs": 60_000, "cacheScope": "private"}
INSTRUCTIONS = (
    "Long-term memory of one user. Recall before you answer anything that depends on what the user said earlier;"
    " remember what will matter in later conversations."
)
ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class RpcMessage(BaseModel):
    """A request, or a notification, which has no id. What breaks the schema is answered as JSON-RPC says."""

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"required": ["jsonrpc", "method"], "additionalProperties": True}
    )

    jsonrpc: Annotated[Any, WithJsonSchema({"const": "2.0"})] = None
    method: Annotated[Any, WithJsonSchema({"type": "string"})] = None
    id: Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]})] = None
    params: Annotated[Any, WithJsonSchema({"type": "object"})] = None


class RpcError(TypedDict):
    code: int
    message: str
    data: NotRequired[Json]


class RpcResult(TypedDict):
    jsonrpc: Literal["2.0"]
    id: str | int | None
    result: Json


class RpcFailure(TypedDict):
    """Why a request has no result. `code` is JSON-RPC's or the protocol's."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    error: RpcError


class _Refused(Exception):
    """A request that gets a JSON-RPC error: its code and message, and `data` where the protocol has some."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: RpcError = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data

    def status(self, *, is_modern: bool) -> HTTPStatus:
        """The status of the answer: clients of before 2026-07-28 read errors from 200, unless they sent no request."""
        if self.error["code"] == INVALID_REQUEST or is_modern:
            return STATUS_OF.get(self.error["code"], HTTPStatus.BAD_REQUEST)
        return HTTPStatus.OK


class ListArguments(Closed):
    types: Annotated[list[ListedType], Field(max_length=5)] | None = None
    topic_key: Annotated[str, Field(max_length=80)] | None = None
    subject: Annotated[str, Field(max_length=200)] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[str, Field(max_length=2_000)] | None = None


class HistoryArguments(Closed):
    memory_id: Id


class ForgetArguments(Closed):
    memory_ids: Annotated[list[Id], Field(min_length=1, max_length=50)] | None = None
    filter: Filter | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _selects(self) -> ForgetArguments:
        if (self.memory_ids is None) == (self.filter is None):
            raise ValueError("needs memory_ids or filter, and not both")
        return self


class ConversationArguments(Closed):
    query: recalling.Query
    k: recalling.K = 5
    filter: Annotated[Filter | None, Field(description="Limits of time, session and agent")] = None


def _recall(user: str, arguments: str) -> Response[str]:
    return recalling.recall(user, recalling.RecallBody.model_validate_json(arguments))


def _search_conversations(user: str, arguments: str) -> Response[str]:
    asked = ConversationArguments.model_validate_json(arguments)
    limits = {} if asked.filter is None else asked.filter.model_dump(exclude_unset=True)
    body = {"query": asked.query, "k": asked.k, "filter": {**limits, "types": ["message"]}}
    return recalling.recall(user, recalling.RecallBody.model_validate(body))


def _remember(user: str, arguments: str) -> Response[str]:
    given = {"type": "fact", **json.loads(arguments)}
    return memories.save_memories(user, NewMemories(memories=[NewMemory.model_validate_json(json.dumps(given))]))


def _list_memories(user: str, arguments: str) -> Response[str]:
    asked = ListArguments.model_validate_json(arguments)
    return memories.list_memories(user, **dict(asked))


def _memory_history(user: str, arguments: str) -> Response[str]:
    return memories.read_memory_history(user, HistoryArguments.model_validate_json(arguments).memory_id)


def _forget(user: str, arguments: str) -> Response[str]:
    asked = ForgetArguments.model_validate_json(arguments)
    if asked.filter is not None:
        body = {"filter": asked.filter.model_dump(exclude_unset=True), "dry_run": asked.dry_run, "wait": 10.0}
        return memories.forget_memories(user, ForgetRequest.model_validate(body))
    ids = asked.memory_ids or []
    for memory in ids:
        act = memories.read_memory if asked.dry_run else memories.delete_memory
        act(user, memory)
    body = {"dry_run": True, "count": len(ids), "ids": ids} if asked.dry_run else {"deleted": ids}
    return Response(status_code=200, body=dumps(body))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as models see it. `run` takes the user and the arguments as JSON; its answer is the operation's own."""

    description: str
    scope: Scope
    run: Callable[[str, str], Response[str]]
    required: tuple[str, ...]
    properties: Mapping[str, Any]
    hints: Mapping[str, bool] = field(default_factory=lambda: {"readOnlyHint": True})

    def described(self, name: str) -> Json:
        hints = {"openWorldHint": False, **self.hints}
        schema = {"type": "object", "properties": self.properties, "additionalProperties": False}
        if self.required:
            schema["required"] = self.required
        return {"name": name, "description": self.description, "inputSchema": schema, "annotations": hints}


_TYPES = {
    "type": "array", "items": {"enum": list(get_args(ListedType))}, "description": "Only these types"
}  # fmt: skip
_COUNT = {"type": "integer", "minimum": 1, "maximum": 100}
_TIMES = {
    f"created_{side}": {"type": "string", "format": "date-time", "description": f"Not {other} than this time"}
    for side, other in (("after", "earlier"), ("before", "later"))
}
_LIMITS = {
    "types": _TYPES,
    "subject": {"type": "string", "description": "Only what is about this person or thing"},
    "session_id": {"type": "string", "description": "Only what comes from this conversation"},
    **_TIMES,
}
TOOLS: Mapping[str, Tool] = {
    "recall": Tool(
        "Search and recall what is known of the user: facts, events, instructions, tasks, and what was said before.",
        "read",
        _recall,
        ("query",),
        {
            "query": {"type": "string", "description": "What to look for, in a few words or as a question"},
            "k": {**_COUNT, "description": "The most results"},
            "filter": {"type": "object", "properties": _LIMITS, "additionalProperties": False},
        },
    ),
    "remember": Tool(
        "Save something about the user that will matter in later conversations. A newer fact of the same topic"
        " replaces the older one, whose history is kept.",
        "write",
        _remember,
        ("content",),
        {
            "content": {"type": "string", "description": "One statement that is understood by itself"},
            "type": {"enum": ["fact", "event", "instruction", "task"], "default": "fact"},
            "topic_key": {"type": "string", "description": "Topic of a fact or instruction, such as employer"},
            "subject": {"type": "string", "description": "Whom or what it is about"},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
        },
        {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    ),
    "list_memories": Tool(
        "List what is known of the user, the newest first.",
        "read",
        _list_memories,
        (),
        {
            "types": _TYPES,
            "topic_key": {"type": "string", "description": "Only what belongs to this topic"},
            "subject": {"type": "string", "description": "Only what is about this person or thing"},
            "limit": {**_COUNT, "description": "The most memories"},
            "cursor": {"type": "string", "description": "next_cursor of the list before"},
        },
    ),
    "memory_history": Tool(
        "Read how a memory changed: all versions of its topic, the newest first.",
        "read",
        _memory_history,
        ("memory_id",),
        {"memory_id": {"type": "string", "description": "Id of the memory, as recall gives it"}},
    ),
    "forget": Tool(
        "Delete memories for good, by their ids or by a filter. With dry_run nothing is deleted.",
        "write",
        _forget,
        (),
        {
            "memory_ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50},
            "filter": {"type": "object", "properties": _LIMITS, "additionalProperties": False},
            "dry_run": {"type": "boolean", "description": "Only say what would be deleted"},
        },
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
    ),
    "search_conversations": Tool(
        "Search what was said in the user's past conversations, word by word and by meaning.",
        "read",
        _search_conversations,
        ("query",),
        {
            "query": {"type": "string", "description": "What to look for"},
            "k": {**_COUNT, "description": "The most passages"},
            "filter": {
                "type": "object",
                "properties": {"session_id": _LIMITS["session_id"], **_TIMES},
                "additionalProperties": False,
            },
        },
    ),
}


@operation(
    "POST /v1/users/{user_id}/mcp",
    scopes=("read",),
    answers={200: "RpcResult | RpcFailure", 202: "", 400: "RpcFailure", 404: "RpcFailure"},
)
def call_mcp(user_id: UserId, body: RpcMessage) -> Response[str]:
    """Speak MCP.

    One message of the Model Context Protocol over streamable HTTP, without a session: 2026-07-28 and 2025-11-25, and
    the versions before. The tools are those that the key's scopes allow: recall, remember, list_memories,
    memory_history, forget and search_conversations. The user comes from the path, never from the arguments. What a
    tool refuses is a result with `isError`; a notification is answered 202, without a body.
    """
    sent = body.model_dump(exclude_unset=True)
    is_modern, request_id = _is_modern(sent), _id(sent.get("id"))
    try:
        _check(sent)
        if "id" not in sent:
            return Response(status_code=HTTPStatus.ACCEPTED, body="")
        if is_modern:
            _check_envelope(sent)
        result = _result(user_id, sent, is_modern=is_modern)
    except _Refused as refused:
        return _answered(
            {"jsonrpc": "2.0", "id": request_id, "error": refused.error}, refused.status(is_modern=is_modern)
        )
    return _answered({"jsonrpc": "2.0", "id": request_id, "result": result}, HTTPStatus.OK)


def _answered(answer: RpcResult | RpcFailure, status: HTTPStatus) -> Response[str]:
    return Response(status_code=status, content_type=content_types.APPLICATION_JSON, body=dumps(answer))


def _id(given: object) -> str | int | None:
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def _check(body: Json) -> None:
    """Refuse what is no request and no notification of JSON-RPC 2.0."""
    has_id = "id" not in body or _id(body["id"]) is not None
    if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str) or not has_id:
        raise _Refused(INVALID_REQUEST, "This is no request of JSON-RPC 2.0.")
    if not isinstance(body.get("params", {}), dict):
        raise _Refused(INVALID_REQUEST, "params must be an object.")


def _header(name: str) -> str | None:
    given = call().request["headers"].get(name)
    return None if given is None else str(given).strip()


def _meta(body: Json) -> Json:
    params = body.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _is_modern(body: Json) -> bool:
    """Whether the request states its version itself; before 2026-07-28 the handshake did."""
    return f"{ENVELOPE}protocolVersion" in _meta(body) or _header("mcp-protocol-version") == MODERN


def _check_envelope(body: Json) -> None:
    """Check what a request of 2026-07-28 states of itself, in its envelope and once more in its headers."""
    meta, params = _meta(body), body.get("params", {})
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{ENVELOPE}{name}" not in meta:
            raise _Refused(INVALID_PARAMS, f"params._meta lacks {ENVELOPE}{name}.")
    asked = meta[f"{ENVELOPE}protocolVersion"]
    stated = {"mcp-protocol-version": asked, "mcp-method": body["method"]}
    if body["method"] == "tools/call" and params.get("name") is not None:
        stated["mcp-name"] = params["name"]
    for name, value in stated.items():
        if _decoded(_header(name)) != value:
            raise _Refused(HEADER_MISMATCH, f"The header {name} does not say what the request says.")
    if asked != MODERN:
        raise _Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [MODERN], "requested": asked})


def _decoded(header: str | None) -> str | None:
    """A header's text, which stands in base64 where it is more than printable ASCII; None if it can't be read."""
    encoded = ENCODED.fullmatch(header or "")
    if encoded is None:
        return header
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _result(user: str, body: Json, *, is_modern: bool) -> Json:
    params = body.get("params", {})
    complete: Json = {"resultType": "complete"} if is_modern else {}
    cached: Json = complete | CACHE if is_modern else {}
    match body["method"]:
        case "initialize" if not is_modern:
            asked = params.get("protocolVersion")
            spoken = asked if asked in HANDSHAKE else HANDSHAKE[0]
            return {"protocolVersion": spoken, **_served(), "serverInfo": _info()}
        case "ping" if not is_modern:
            return {}
        case "server/discover" if is_modern:
            about = {f"{ENVELOPE}serverInfo": _info()}
            return {"supportedVersions": [MODERN], **_served(), "_meta": about, **cached}
        case "tools/list":
            return {"tools": _tools(), **cached}
        case "tools/call":
            return {**_called(user, params), **complete}
    raise _Refused(METHOD_NOT_FOUND, "There is no such method.")


def _served() -> Json:
    return {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}


@cache
def _info() -> Json:
    try:
        return {"name": "palimpsest", "version": version("palimpsest")}
    except PackageNotFoundError:  # a function's layer holds the code alone
        return {"name": "palimpsest", "version": "0"}


def _tools() -> list[Json]:
    """The tools that the caller's scopes allow."""
    return [tool.described(name) for name, tool in TOOLS.items() if tool.scope in call().caller.scopes]


def _called(user: str, params: Json) -> Json:
    """The result of a tool: the operation's answer, as data and as text for clients that show text alone."""
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        raise _Refused(INVALID_PARAMS, "There is no such tool.")
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise _Refused(INVALID_PARAMS, "arguments must be an object.")
    try:
        call().caller.require(tool.scope)
        answer = tool.run(user, json.dumps(arguments))
    except ValidationError as error:
        return _failed(problems.refusal_of(error))
    except PalimpsestError as error:
        return _failed(error)
    data = json.loads(answer.body or "{}")
    return {"content": [{"type": "text", "text": _text(data)}], "structuredContent": data, "isError": False}


def _failed(error: PalimpsestError) -> Json:
    """A problem as the model reads it, so that it can call again with other arguments."""
    failure = problems.problem(error)
    lines = [f"{failure.code}: {failure.detail}", *(f"- {each.field}: {each.message}" for each in failure.errors)]
    if failure.retryable:
        lines.append("The same call may work later.")
    return {"content": [{"type": "text", "text": "\n".join(lines)}], "isError": True}


def _text(data: Json) -> str:
    """One line for each memory or version, with the id that other tools take; other answers as JSON."""
    rows = data.get("memories", data.get("versions"))
    if rows is None:
        return dumps(data)
    lines = [f"- {row['content']} ({', '.join(_notes(row))})" for row in rows]
    if data.get("next_cursor"):
        lines.append(f"More: cursor {data['next_cursor']}")
    return "\n".join(lines) or "Nothing is known of that."


def _notes(row: Json) -> list[str]:
    session = (row.get("source") or {}).get("session_id")
    superseded = row["status"] if row.get("status") == "superseded" else None
    notes = [row.get("outcome"), superseded, row["type"], row["valid_from"][:10], f"id {row['id']}"]
    return [note for note in [*notes, session and f"session {session}"] if note]
