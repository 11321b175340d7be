"""The MCP server of a user's memory. Each message is one POST, and no state is kept between
messages.

It speaks both forms of the protocol (https://modelcontextprotocol.io/specification). Versions up to
2025-11-25 begin with a handshake. Since 2026-07-28, each request states its own version.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal, NotRequired

from aws_lambda_powertools.event_handler import Response, content_types
from pydantic import BaseModel, ConfigDict, WithJsonSchema
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.encoding import dumps
from palimpsest.api.fields import Json, UserId
from palimpsest.api.mcp import resources
from palimpsest.api.mcp.tools import TOOLS, called
from palimpsest.api.operations import operations_on

operation = operations_on("mcp", function="memories")

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = "2026-07-28"
ENVELOPE = "io.modelcontextprotocol/"
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602  # of JSON-RPC
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022  # of MCP since 2026-07-28
STATUS_OF = {METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND}
"""The HTTP status of an error code since 2026-07-28. The status of any other code is 400."""
CACHE = {"ttlMs": 60_000, "cacheScope": "private"}
INSTRUCTIONS = (
    "Long-term memory of one user. Recall before you answer anything that depends on what the user "
    "said earlier;"
    " remember what will matter in later conversations."
)
ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class RpcMessage(BaseModel):
    """A JSON-RPC request, or a notification, which has no id. A message that breaks the schema gets
    the answer that JSON-RPC defines.
    """

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        json_schema_extra={"required": ["jsonrpc", "method"], "additionalProperties": True},
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
    """The reason why a request has no result. `code` is defined by JSON-RPC or by MCP."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    error: RpcError


class _Refused(Exception):
    """A request that is answered with a JSON-RPC error. `data` is the error's additional data, if
    the protocol defines some for it.
    """

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: RpcError = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data

    def status(self, *, is_modern: bool) -> HTTPStatus:
        """Return the HTTP status of the answer. Clients of versions before 2026-07-28 read errors
        from answers with status 200, except for an invalid request.
        """
        if self.error["code"] == INVALID_REQUEST or is_modern:
            return STATUS_OF.get(self.error["code"], HTTPStatus.BAD_REQUEST)
        return HTTPStatus.OK


@operation(
    "POST /v1/users/{user_id}/mcp",
    scopes=("read",),
    answers={200: "RpcResult | RpcFailure", 202: "", 400: "RpcFailure", 404: "RpcFailure"},
)
def call_mcp(service: Service, call: Call, *, user_id: UserId, body: RpcMessage) -> Response[str]:
    """Speak MCP.

    Take one message of the Model Context Protocol over streamable HTTP, without a session. The
    versions are 2026-07-28, 2025-11-25 and earlier ones. The tools are recall, remember,
    list_memories, memory_history, forget, feedback and search_conversations; the key's scopes
    decide which of them are allowed. The resource `palimpsest://profile` tells who the user is. The
    user comes from the path, never from the arguments. A refusal is a result with `isError`. A
    notification is answered 202, without a body.
    """
    sent = body.model_dump(exclude_unset=True)
    is_modern, request_id = _is_modern(call, sent), _id(sent.get("id"))
    try:
        _check(sent)
        if "id" not in sent:
            return Response(status_code=HTTPStatus.ACCEPTED, body="")
        if is_modern:
            _check_envelope(call, sent)
        result = _result(service, call, user_id, sent, is_modern=is_modern)
    except _Refused as refused:
        return _answered(
            {"jsonrpc": "2.0", "id": request_id, "error": refused.error},
            refused.status(is_modern=is_modern),
        )
    return _answered({"jsonrpc": "2.0", "id": request_id, "result": result}, HTTPStatus.OK)


def _answered(answer: RpcResult | RpcFailure, status: HTTPStatus) -> Response[str]:
    return Response(
        status_code=status, content_type=content_types.APPLICATION_JSON, body=dumps(answer)
    )


def _id(request_id: object) -> str | int | None:
    return (
        request_id
        if isinstance(request_id, str | int) and not isinstance(request_id, bool)
        else None
    )


def _check(body: Json) -> None:
    """Refuse a body that is neither a request nor a notification of JSON-RPC 2.0."""
    has_id = "id" not in body or _id(body["id"]) is not None
    if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str) or not has_id:
        raise _Refused(INVALID_REQUEST, "This isn't a request of JSON-RPC 2.0.")
    if not isinstance(body.get("params", {}), dict):
        raise _Refused(INVALID_REQUEST, "params must be an object.")


def _header(call: Call, name: str) -> str | None:
    value = call.request["headers"].get(name)
    return None if value is None else str(value).strip()


def _meta(body: Json) -> Json:
    params = body.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _is_modern(call: Call, body: Json) -> bool:
    """Return whether the request states its protocol version itself, as requests do since
    2026-07-28.
    """
    return (
        f"{ENVELOPE}protocolVersion" in _meta(body)
        or _header(call, "mcp-protocol-version") == MODERN
    )


def _check_envelope(call: Call, body: Json) -> None:
    """Check that a request of 2026-07-28 states its version and capabilities, and that its headers
    agree with its body.
    """
    meta, params = _meta(body), body.get("params", {})
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{ENVELOPE}{name}" not in meta:
            raise _Refused(INVALID_PARAMS, f"params._meta lacks {ENVELOPE}{name}.")
    version = meta[f"{ENVELOPE}protocolVersion"]
    stated = {"mcp-protocol-version": version, "mcp-method": body["method"]}
    if body["method"] == "tools/call" and params.get("name") is not None:
        stated["mcp-name"] = params["name"]
    if body["method"] == "resources/read" and params.get("uri") is not None:
        stated["mcp-name"] = params["uri"]
    for name, value in stated.items():
        if _decoded(_header(call, name)) != value:
            raise _Refused(HEADER_MISMATCH, f"The header {name} contradicts the request.")
    if version != MODERN:
        raise _Refused(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": [MODERN], "requested": version},
        )


def _decoded(header: str | None) -> str | None:
    """Return the text of a header; None if it can't be decoded. A text that is not printable ASCII
    is sent in base64.
    """
    encoded = ENCODED.fullmatch(header or "")
    if encoded is None:
        return header
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _result(service: Service, call: Call, user: str, body: Json, *, is_modern: bool) -> Json:
    params = body.get("params", {})
    complete: Json = {"resultType": "complete"} if is_modern else {}
    cached: Json = complete | CACHE if is_modern else {}
    match body["method"]:
        case "initialize" if not is_modern:
            requested = params.get("protocolVersion")
            spoken = requested if requested in HANDSHAKE else HANDSHAKE[0]
            return {"protocolVersion": spoken, **_served(), "serverInfo": _info()}
        case "ping" if not is_modern:
            return {}
        case "server/discover" if is_modern:
            about = {f"{ENVELOPE}serverInfo": _info()}
            return {"supportedVersions": [MODERN], **_served(), "_meta": about, **cached}
        case "tools/list" | "resources/list" | "resources/templates/list" as method:
            is_of_tools = method == "tools/list"
            rows = {"tools": _tools(call)} if is_of_tools else resources.listed(method)
            return {**rows, **cached}
        case "tools/call":
            return {**_called(service, call, user, params), **complete}
        case "resources/read":
            return _read(service, call, user, params.get("uri"), is_modern=is_modern)
    raise _Refused(METHOD_NOT_FOUND, "There is no such method.")


def _served() -> Json:
    return {"capabilities": {"tools": {}, "resources": {}}, "instructions": INSTRUCTIONS}


@cache
def _info() -> Json:
    try:
        return {"name": "palimpsest", "version": version("palimpsest")}
    except PackageNotFoundError:  # the layer of a Lambda function has only the code, no metadata
        return {"name": "palimpsest", "version": "0"}


def _tools(call: Call) -> list[Json]:
    """Return the tools that the caller's scopes allow."""
    return [
        tool.described(name) for name, tool in TOOLS.items() if tool.scope in call.caller.scopes
    ]


def _read(service: Service, call: Call, user: str, uri: object, *, is_modern: bool) -> Json:
    contents = resources.read(service, call, user, uri)
    if contents is None:
        code = INVALID_PARAMS if is_modern else resources.NOT_FOUND_BEFORE
        raise _Refused(code, "There is no such resource.", {"uri": str(uri)})
    hints = {"resultType": "complete", **resources.FRESH} if is_modern else {}
    return {"contents": contents, **hints}


def _called(service: Service, call: Call, user: str, params: Json) -> Json:
    tool, arguments = TOOLS.get(str(params.get("name"))), params.get("arguments", {})
    if tool is None:
        raise _Refused(INVALID_PARAMS, "There is no such tool.")
    if not isinstance(arguments, dict):
        raise _Refused(INVALID_PARAMS, "arguments must be an object.")
    return called(service, call, user, tool, arguments)
