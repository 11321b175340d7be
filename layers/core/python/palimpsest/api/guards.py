"""The guards in front of every route: limits, ids in paths, bodies that are text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import unquote

from cachetools import LRUCache

from palimpsest.clock import Clock, seconds
from palimpsest.errors import BadRequest, FieldError, LimitReached, TooLarge, Unavailable
from palimpsest.scope import Scope, checked_id
from palimpsest.tenants.ports import Tenants
from palimpsest.usage.ports import Usages

MAX_BYTES = 5_000_000
KNOWN_SECONDS = 60  # that a process goes by a limit of requests that it has read
MOST_KNOWN = 1_000  # tenants whose limits a process knows
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
REPLACEMENT = "\ufffd"
"""What a gateway puts where bytes are not UTF-8: the body that arrives then has another length than the one sent."""
NAMED_BY = {
    "sessions": "session_id",
    "jobs": "job_id",
    "compactions": "n",
    "users": "user_id",
    "memories": "memory_id",
    "tools": "name",
    "static-facts": "id",
    "messages": "seq",
}


MEM0 = "/compat/mem0"
MEM0_NAMES = {
    f"{MEM0}/v3/memories": f"{MEM0}/memories/list",
    f"{MEM0}/v3/memories/add": f"{MEM0}/memories",
    f"{MEM0}/v3/memories/search": f"{MEM0}/search",
}
"""What the client of mem0's platform calls the operations that its server has under other paths; v1 has the same."""


def _as_mem0s_server(path: str) -> str:
    path = path.rstrip("/")
    return MEM0_NAMES.get(path, path.replace(f"{MEM0}/v1/", f"{MEM0}/", 1))


def path_of(event: Mapping[str, Any]) -> str:
    """The path below the stage, decoded once.

    Raises `BadRequest` (`invalid_id`) for a segment that is not an id, such as one with an encoded slash or NUL.
    """
    path, stage = str(event["rawPath"]), event["requestContext"].get("stage", "$default")
    if stage != "$default":
        path = path.removeprefix(f"/{stage}")
    if path.startswith(f"{MEM0}/"):
        path = _as_mem0s_server(path)
    segments = path.removeprefix("/").split("/")
    named = "path"
    for number, segment in enumerate(segments):
        segments[number] = checked_id(_decoded(segment, named), field=named)
        named = NAMED_BY.get(segment, "path") if number % 2 else "path"
    return "/" + "/".join(segments)


def _decoded(segment: str, named: str) -> str:
    try:
        return unquote(segment, errors="strict") if "%" in segment else segment
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"{named} is not a valid id.", code="invalid_id", errors=(FieldError(named, "not UTF-8"),)
        ) from error


def guarded(event: Mapping[str, Any], *, method: str, path: str) -> dict[str, Any]:
    """The event for the routes: path and body decoded, the body taken for JSON whatever its Content-Type.

    Raises `TooLarge` and `BadRequest` (`unsupported_encoding`, `missing_body`, `invalid_json`, `invalid_unicode`).
    The JSON is not parsed here.
    """
    headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
    body = _body(event, headers) if method in WITH_BODY else None
    if method == "PUT" and not body:
        raise BadRequest("A PUT needs a body, {} for the defaults.", code="missing_body")
    return {
        **event,
        "rawPath": path,
        "requestContext": {**event["requestContext"], "stage": "$default"},
        "headers": {**headers, "content-type": "application/json"},
        "body": None if body is None else body or "{}",
        "isBase64Encoded": False,
    }


def _body(event: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    if headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise BadRequest("Send the body without a Content-Encoding.", code="unsupported_encoding")
    body = event.get("body") or ""
    is_encoded = bool(event.get("isBase64Encoded"))
    if len(body) > (MAX_BYTES * 4 // 3 + 4 if is_encoded else MAX_BYTES):
        raise _too_large()
    try:
        raw = base64.b64decode(body, validate=True) if is_encoded else body.encode()
        text = raw.decode() if is_encoded else body
    except UnicodeError as error:
        raise BadRequest("The body is not UTF-8.", code="invalid_unicode") from error
    except binascii.Error as error:
        raise BadRequest("The body is not base64.", code="invalid_json") from error
    if len(raw) > MAX_BYTES:
        raise _too_large()
    if not is_encoded and REPLACEMENT in text and headers.get("content-length", "").strip() not in ("", str(len(raw))):
        raise BadRequest("The body is not UTF-8.", code="invalid_unicode")
    return text.strip() and text


def _too_large() -> TooLarge:
    return TooLarge(f"The body is larger than {MAX_BYTES} bytes.", code="body_too_large")


class Counting(Protocol):
    @property
    def tenants(self) -> Tenants: ...
    @property
    def usages(self) -> Usages: ...
    @property
    def clock(self) -> Clock: ...


class Rate:
    """How many requests a second a tenant may make, if it has set a limit; without one nothing is counted.

    Reads a tenant's limit once a minute, so that a new one holds within a minute. Only where there is one does a
    request cost a write.
    """

    def __init__(self) -> None:
        self._known: LRUCache[Scope, tuple[int | None, int]] = LRUCache(MOST_KNOWN)

    def check(self, scope: Scope, wired: Counting) -> None:
        """Raise `LimitReached` (`too_many_requests`) if the tenant has made its requests of this second. If they can't
        be counted now, the request goes on: its own work says what is wrong.
        """
        now, taken = seconds(wired.clock.now()), True
        with suppress(Unavailable):
            most = self._most(scope, wired, now)
            if most is None:
                return
            taken = wired.usages.take(scope, second=now, most=most)
        if not taken:
            detail = f"The tenant may make {most} requests a second."
            raise LimitReached(
                detail, code="too_many_requests", limit="requests_per_second", most=most or 0, retry_after=1
            )

    def _most(self, scope: Scope, wired: Counting, now: int) -> int | None:
        most, read_at = self._known.get(scope, (None, -KNOWN_SECONDS))
        if now - read_at >= KNOWN_SECONDS:
            most = wired.tenants.settings(scope).limits.requests_per_second
            self._known[scope] = (most, now)
        return most
