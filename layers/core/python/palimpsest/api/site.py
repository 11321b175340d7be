"""The pages that need no key: health, the API's description, a page that shows the description, and
the memory console. Each page is self-contained.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any, Literal

from typing_extensions import TypedDict

from palimpsest.api.operations import operations_on

operation = operations_on("site", function="site")

HTML = "text/html; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"
MOST_ERRORS = 20  # a request may have any number of parameters
MOST_FIELD = 200  # characters of a name that a caller sent
CONSOLE = "palimpsest_console"
CONSOLE_PARTS = {"style": "style.css", "app": "app.js"}
REFERENCE_SCRIPTS = {"rapidoc": "rapidoc.js", "page": "reference.js"}


class Health(TypedDict):
    status: Literal["ok"]
    stage: str


class ProtectedResource(TypedDict):
    """The metadata of a resource (RFC 9728), which say whose tokens the resource takes."""

    resource: str
    authorization_servers: list[str]
    scopes_supported: list[str]
    bearer_methods_supported: list[str]


def page(
    event: Mapping[str, Any], *, stage: str, request_id: str, issuer: str = ""
) -> dict[str, Any]:
    """Return the answer to an HTTP API event. An unknown page is a 404 problem. Parameters or a
    body are a 422 problem, because a page reads only its path.

    `issuer` is the issuer whose tokens the service takes, if it takes any.
    """
    answer = _found(event, stage=stage, issuer=issuer)
    if answer is None:
        detail = "There is no such route."
        return _problem(HTTPStatus.NOT_FOUND, "route_not_found", detail, request_id=request_id)
    if sent := _not_read(event):
        detail, errors = (
            "A page takes no parameters and no body.",
            dict.fromkeys(sent, "is not known"),
        )
        return _problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", detail, request_id=request_id, errors=errors
        )
    return answer


def _found(event: Mapping[str, Any], *, stage: str, issuer: str) -> dict[str, Any] | None:
    if (
        issuer
        and event["requestContext"]["http"]["method"] == "GET"
        and (resource := _resource(event))
    ):
        return _answer(JSON, json.dumps(protected_resource(resource, issuer)))
    below = str(event["rawPath"]).removeprefix(
        f"/{event['requestContext'].get('stage', '$default')}"
    )
    match [event["requestContext"]["http"]["method"], below]:
        case ["GET", "/v1/health"]:
            return _answer(JSON, json.dumps(health(stage)))
        case ["GET", "/v1/openapi.json"]:
            return _packed(JSON, openapi(), event)
        case ["GET", "/v1/docs"]:
            return _packed(HTML, docs(), event, policy=docs_policy())
        case ["GET", "/v1/console"]:
            return _packed(HTML, console(), event, policy=console_policy())
    return None


def _not_read(event: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that were sent, and `body` if a body was sent. A page
    reads only its path.
    """
    body = (event.get("body") or "").strip() not in ("", "{}")
    return [*sorted(event.get("queryStringParameters") or {}), *(["body"] if body else [])][
        :MOST_ERRORS
    ]


def _problem(
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    request_id: str,
    errors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a problem in the same form as `problems.py`. That module is not imported, so that this
    function loads less code.
    """
    problem = {
        "type": f"urn:palimpsest:problem:{code}",
        "title": {HTTPStatus.UNPROCESSABLE_ENTITY: "Unprocessable Content"}.get(
            status, status.phrase
        ),
        "status": status.value,
        "detail": detail,
        "code": code,
        "request_id": request_id,
        "retryable": False,
        "errors": [
            {"field": name[:MOST_FIELD], "message": message}
            for name, message in (errors or {}).items()
        ],
    }
    return _answer(PROBLEM, json.dumps(problem), status=status)


@operation("GET /v1/health", answers={200: "Health"})
def health(stage: str) -> Health:
    """Check that the service answers.

    No key is needed.
    """
    return {"status": "ok", "stage": stage}


@operation("GET /v1/openapi.json", answers={200: JSON})
@cache
def openapi() -> str:
    """Read this description.

    No key is needed.
    """
    return _file("palimpsest_description", "openapi.json")


@operation("GET /v1/docs", answers={200: HTML})
@cache
def docs() -> str:
    """Read this description as a page.

    No key is needed.
    """
    return _filled("palimpsest_description", "reference.html", REFERENCE_SCRIPTS)


@cache
def docs_policy() -> str:
    """Return the content security policy of the page that shows the description. Inline styles are
    allowed, because RapiDoc writes styles into its elements. Scripts are allowed by their hashes.
    """
    scripts = " ".join(
        _hash_of("palimpsest_description", file) for file in REFERENCE_SCRIPTS.values()
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@operation(
    "GET /.well-known/oauth-protected-resource", answers={200: "ProtectedResource"}, refuses=(404,)
)
def protected_resource(resource: str, issuer: str) -> ProtectedResource:
    """Find whose tokens are taken (RFC 9728).

    Available only with `auth=jwt`. An MCP client reads here which server gives it a token. The path
    of a resource, such as `/v1/users/{user_id}/mcp`, may follow. No key is needed.
    """
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": ["read", "write", "admin"],
        "bearer_methods_supported": ["header"],
    }


def _resource(event: Mapping[str, Any]) -> str | None:
    """Return the URL of the resource whose metadata is requested; None if the path requests
    none.
    """
    _, is_metadata, path = str(event["rawPath"]).partition("/.well-known/oauth-protected-resource")
    if not is_metadata or not (path == "" or path.startswith("/")):
        return None
    return f"https://{event['requestContext']['domainName']}{path}"


@operation("GET /v1/console", answers={200: HTML})
@cache
def console() -> str:
    """Open the memory console.

    The console is one page over this API. It shows users and their memories, sessions, recall, jobs
    and settings. It asks for a key and keeps it in the browser's tab; the page itself needs none.
    """
    return _filled(CONSOLE, "page.html", CONSOLE_PARTS)


@cache
def console_policy() -> str:
    """Return the content security policy of the console page. Only the page's own script and style
    are allowed, by their hashes.
    """
    style, script = (_hash_of(CONSOLE, file) for file in CONSOLE_PARTS.values())
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    )


def _filled(package: str, page: str, parts: Mapping[str, str]) -> str:
    """Return the page with each file of `parts` in the place of its name."""
    text = _file(package, page)
    for name, file in parts.items():
        text = text.replace(f"{{{{{name}}}}}", _file(package, file))
    return text


def _file(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text()


def _hash_of(package: str, name: str) -> str:
    digest = hashlib.sha256(_file(package, name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _packed(
    content_type: str, text: str, event: Mapping[str, Any], *, policy: str = ""
) -> dict[str, Any]:
    headers_sent = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    headers = {"Content-Security-Policy": policy} if policy else {}
    if "gzip" not in headers_sent.get("accept-encoding", ""):
        return _answer(content_type, text, headers=headers)
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return _answer(
        content_type, packed, is_base64=True, headers={"Content-Encoding": "gzip", **headers}
    )


def _answer(
    content_type: str,
    body: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    is_base64: bool = False,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "statusCode": status.value,
        "headers": {
            "Content-Type": content_type,
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        },
        "body": body,
        "isBase64Encoded": is_base64,
    }
