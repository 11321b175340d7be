"""Checks requests before anything else reads them: paths, bodies and JSON."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NoReturn
from urllib.parse import unquote

from palimpsest.errors import BadRequest, FieldError, TooLarge
from palimpsest.scope import checked_id

MAX_BYTES = 5_000_000
MAX_DEPTH = 64  # JSON is read and checked by recursion
PARAMETER = re.compile(r"\{(\w+)\+?\}")
ENCODED_LETTER = re.compile(r"%(?:3\d|[46][1-9A-Fa-f]|[57][\dAa])")
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
REPLACEMENT = "\ufffd"
"""The character with which a gateway replaces bytes that are not UTF-8. The received body then has
another length than the sent body.
"""
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
"""Paths of the client of mem0's platform, and the paths of the same operations on its server. v1
has the same paths.
"""


def _as_mem0s_server(path: str) -> str:
    path = path.rstrip("/")
    return MEM0_NAMES.get(path, path.replace(f"{MEM0}/v1/", f"{MEM0}/", 1))


def path_of(event: Mapping[str, Any]) -> str:
    """Return the decoded path below the stage.

    An HTTP API passes on a decoded path, cut at a decoded `?`. If the event states the parameters
    of the route, the path is not decoded again. A path that contradicts these parameters is
    refused, because it could name another owner. If the event states no parameters, the path is
    decoded here, once.

    Raises `BadRequest` (`invalid_id`) for a path that contradicts its parameters, and for a segment
    that is not an id.
    """
    path, stage = str(event["rawPath"]), event["requestContext"].get("stage", "$default")
    if stage != "$default":
        path = path.removeprefix(f"/{stage}")
    is_decoded = bool(event.get("pathParameters"))
    if is_decoded:
        _check_parameters(path, event)
    if path.startswith(f"{MEM0}/"):
        path = _as_mem0s_server(path)
    segments = path.removeprefix("/").split("/")
    named = "path"
    for number, segment in enumerate(segments):
        segments[number] = checked_id(
            segment if is_decoded else _decoded(segment, named), field=named
        )
        named = NAMED_BY.get(segment, "path") if number % 2 else "path"
    return "/" + "/".join(segments)


def _check_parameters(path: str, event: Mapping[str, Any]) -> None:
    """Raise `BadRequest` (`invalid_id`) unless the route, filled with its parameters, equals the
    path. Parameters may be encoded, except for letters and digits, because clients don't encode
    these.
    """
    values = event["pathParameters"]
    route = str(event.get("routeKey", "")).partition(" ")[2]
    filled = PARAMETER.sub(lambda name: str(values.get(name[1], "")), route).rstrip("/")
    decoded = filled if ENCODED_LETTER.search(filled) else unquote(filled)
    if route and path.rstrip("/") not in (filled, decoded):
        errors = (FieldError("path", "has an id with characters that an id can't have"),)
        raise BadRequest("An id in the path is not valid.", code="invalid_id", errors=errors)


def _decoded(segment: str, named: str) -> str:
    try:
        return unquote(segment, errors="strict") if "%" in segment else segment
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"{named} is not a valid id.",
            code="invalid_id",
            errors=(FieldError(named, "is not UTF-8"),),
        ) from error


def guarded(
    event: Mapping[str, Any], *, method: str, path: str, reads_body: bool
) -> dict[str, Any]:
    """Return the event for the routes, with path and body decoded.

    The body is read as JSON, whatever its Content-Type. If the operation reads no body, the body is
    removed. The JSON is not parsed here.

    Raises `TooLarge` and `BadRequest` (`unsupported_encoding`, `missing_body`, `invalid_json`,
    `invalid_unicode`).
    """
    headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
    body = _body(event, headers) if reads_body else None
    if method == "PUT" and not body:
        raise BadRequest("A PUT needs a body. Send {} for the defaults.", code="missing_body")
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
    if (
        not is_encoded
        and REPLACEMENT in text
        and headers.get("content-length", "").strip() not in ("", str(len(raw)))
    ):
        raise BadRequest("The body is not UTF-8.", code="invalid_unicode")
    return text.strip() and text


def _too_large() -> TooLarge:
    return TooLarge(f"The body is larger than {MAX_BYTES} bytes.", code="body_too_large")


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in the text. Raises `BadRequest` (`invalid_json`) if the JSON is not
    an object, and the errors of `read_json`.
    """
    value = read_json(text)
    if not isinstance(value, dict):
        raise BadRequest("The JSON must be an object.", code="invalid_json")
    return value


def read_json(text: str) -> Any:
    """Return the value of a JSON text. Raises `BadRequest` (`invalid_json`) if it isn't JSON, is
    nested too deep, or holds NaN or a number too large for a double. Raises `BadRequest`
    (`invalid_unicode`) for half a surrogate pair, which no store or model can hold.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # JSONDecodeError, or a number with too many digits
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadRequest(f"The text is not JSON{where}.", code="invalid_json") from error
    _check_depth(value)
    if ESCAPED_SURROGATE.search(text):
        _check_unicode(value)
    return value


def _no_number(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON.", code="invalid_json")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number("A number too large for a double")


def _too_deep() -> BadRequest:
    return BadRequest(f"The JSON is nested deeper than {MAX_DEPTH} levels.", code="invalid_json")


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [
            child for node in level for child in _children(node) if isinstance(child, dict | list)
        ]
    raise _too_deep()


def _children(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node


def _check_unicode(value: Any) -> None:
    for path, text in _texts(value, ""):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            errors = (FieldError(path or "body", "holds half of a surrogate pair"),)
            detail = f"{path or 'body'} is not Unicode text."
            raise BadRequest(detail, code="invalid_unicode", errors=errors) from error


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every text in the value with its path. A key counts as a text of its object."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{path}.{number}".lstrip("."))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, f"{path}.{key}".lstrip("."))
