"""The guard before the local AWS. It refuses web pages of other origins, foreign host names, and
requests that are not signed.
"""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, quote

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/_ministack/health"
CLOSED = ("/_ministack", "/_localstack")
API_PATH = "/_aws/execute-api/"
API_NAME = re.compile(r"([a-z0-9]+)\.execute-api\.localhost")
OWN_NAME = re.compile(r"127\.0\.0\.1|(?:[a-z0-9_-]+\.)*localhost")
SAME_PAGE = (None, "same-origin", "none")
"""The permitted values of `Sec-Fetch-Site`: nothing (no browser), a page of this origin, or a
person who typed the address.
"""
ONCE = ("host", "origin", "authorization", "sec-fetch-site")
"""Headers that two readers could understand differently if they were repeated."""


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request as it arrived. Names of headers are in lower case, the query is decoded, and
    the path is still encoded.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: bytes = b""


class Refused(Exception):
    """A request is refused. The message says why."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Passes permitted requests on to `app`.

    `port` is the port of the local AWS. `claims_key` returns whether a request names any AWS
    credential. `is_signed` returns whether its signature is valid, which means made with a key that
    this start issued.
    """

    app: App
    port: int
    claims_key: Callable[[Request], bool]
    is_signed: Callable[[Request], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            check_place(scope, port=self.port)
            scope, receive = await self._checked(scope, receive)
        except Refused as refused:
            await _refuse(scope["type"], send, str(refused))
        else:
            await self.app(scope, receive, _without_cors(send))

    async def _checked(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
        """Return the request as it is passed on. Only health and the APIs of the gateway need no
        AWS signature.
        """
        if scope["path"] == HEALTH:
            return scope, receive
        request = _request(scope)
        if self.claims_key(request):
            body = await _body(receive)
            if not self.is_signed(replace(request, body=body)):
                raise Refused(
                    "The access key of the signature was not issued by this start of the stack"
                )
            return scope, _replay(body, receive)
        api = as_api_path(scope, port=self.port)
        if api is None:
            raise Refused(
                "Requests to the local AWS must be signed with the access key of this start"
            )
        return api, receive


def check_place(scope: Scope, *, port: int) -> None:
    """Raise `Refused` for a request from another origin, with another host name, or to a closed
    route.
    """
    named = [
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in scope["headers"]
    ]
    times = Counter(name for name, _ in named)
    if any(times[name] > 1 for name in ONCE):
        raise Refused("A header that may occur only once is repeated")
    headers = dict(named)
    host = headers.get("host", "").lower()
    name, _, number = host.partition(":")
    if not OWN_NAME.fullmatch(name) or (number or "80") != str(port):
        raise Refused("The Host header names another server")
    if (
        headers.get("origin", f"http://{host}") != f"http://{host}"
        or headers.get("sec-fetch-site") not in SAME_PAGE
    ):
        raise Refused("Web pages of other origins have no access")
    if scope["type"] == "websocket":
        raise Refused("Nothing here speaks WebSocket")
    if scope["path"] != HEALTH and scope["path"].startswith(CLOSED):
        raise Refused("The local AWS's own routes are closed")


def as_api_path(scope: Scope, *, port: int) -> Scope | None:
    """Return the scope of a request to an API of the gateway, addressed by its path. Return None
    for any other request.

    An API that is named by its host is from here on addressed by path, because the local AWS looks
    at some paths before any host.
    """
    if scope["path"].startswith(API_PATH):
        return scope
    host = next(value for name, value in scope["headers"] if name.lower() == b"host").decode(
        "latin-1"
    )
    named = API_NAME.fullmatch(host.lower().partition(":")[0])
    if named is None:
        return None
    prefix = f"{API_PATH}{named[1]}"
    others = [(name, value) for name, value in scope["headers"] if name.lower() != b"host"]
    return {
        **scope, "path": prefix + scope["path"], "raw_path": prefix.encode() + _raw_path(scope),
        "headers": [(b"host", f"127.0.0.1:{port}".encode()), *others],
    }  # fmt: skip


def _request(scope: Scope) -> Request:
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]},{text}" if name in headers else text
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    return Request(scope["method"], _raw_path(scope).decode("latin-1"), headers, query)


def _raw_path(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw


async def _body(receive: Receive) -> bytes:
    """Return the whole body, or the part of it that came before a disconnection."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _without_cors(send: Send) -> Send:
    async def sifted(message: Message) -> None:
        if "headers" in message:
            kept = [
                (name, text)
                for name, text in message["headers"]
                if not name.lower().startswith(b"access-control-")
            ]
            message = {**message, "headers": kept}
        await send(message)

    return sifted


async def _refuse(kind: str, send: Send, reason: str) -> None:
    if kind == "websocket":
        # before acceptance, so the client gets 403
        await send({"type": "websocket.close", "code": 1008})
        return
    body = json.dumps({"__type": "AccessDeniedException", "message": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
