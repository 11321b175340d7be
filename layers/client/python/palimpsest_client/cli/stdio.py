"""MCP over standard input and output. Each message is passed on to the service's own MCP endpoint,
with the key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, TextIO
from urllib.parse import quote

import httpx2

from palimpsest_client.calls import checked_id
from palimpsest_client.connection import LOST

ENVELOPE = "io.modelcontextprotocol/protocolVersion"
FAILED = -32603


def serve(http: httpx2.Client, user: str, *, lines: Iterable[str], out: TextIO) -> None:
    """Answer every message with one line, until there are no more messages. Raises `InvalidId` if
    the user's id is not valid.
    """
    checked_id(user)
    for line in lines:
        if line.strip() and (answer := _answer(http, user, line)) is not None:
            out.write(answer + "\n")
            out.flush()


def _answer(http: httpx2.Client, user: str, line: str) -> str | None:
    """Return the answer as one line, or None for a notification."""
    try:
        request = json.loads(line)
    except ValueError:
        request = None
    headers = {
        "Content-Type": "application/json",
        **(_headers(request) if isinstance(request, dict) else {}),
    }
    try:
        answer = http.post(
            f"/v1/users/{quote(user, safe='')}/mcp", content=line.encode(), headers=headers
        )
        if answer.is_success and not answer.content:
            return None
        response = answer.json()
    except (*LOST, ValueError, RecursionError) as error:
        response = {"detail": f"The service does not answer ({type(error).__name__})."}
    if not isinstance(response, dict):
        response = {"detail": "What answers is not the service: its answers are objects."}
    if "jsonrpc" not in response:  # a problem of the service or its gateway
        if isinstance(request, dict) and "id" not in request:
            return None
        asked_by = request.get("id") if isinstance(request, dict) else None
        message = str(response.get("detail") or response.get("message"))
        response = {"jsonrpc": "2.0", "id": asked_by, "error": {"code": FAILED, "message": message}}
    return json.dumps(response, separators=(",", ":"))


def _headers(message: dict[str, Any]) -> dict[str, str]:
    """Return the HTTP headers of a message, which MCP requires from its version 2026-07-28 on."""
    params = message.get("params")
    if not isinstance(params, dict):
        return {}
    meta = params.get("_meta")
    if not isinstance(meta, dict) or ENVELOPE not in meta:
        return {}
    stated = {"MCP-Protocol-Version": meta[ENVELOPE], "Mcp-Method": message.get("method")}
    if message.get("method") == "tools/call":
        stated["Mcp-Name"] = params.get("name")
    if message.get("method") == "resources/read":
        stated["Mcp-Name"] = params.get("uri")
    return {name: _encoded(str(value)) for name, value in stated.items() if value is not None}


def _encoded(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="
