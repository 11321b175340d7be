"""The whole service in this process, behind HTTP on loopback: what clients are tested against
without a stack.

python -m tests.served     # prints address and key, and serves until its standard input ends.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from palimpsest.api.app import HttpApp, serves
from palimpsest.api.operations import operations_of
from palimpsest.clock import SystemClock
from palimpsest.incoming import MEM0
from palimpsest.models.ports import Embedder
from palimpsest.scope import Scope
from palimpsest_local.in_process import InProcess, in_process

from tests.unit.api.gateway import ALL_SCOPES, http_event, invoked

KEY = "pal_of-this-test"
BLOBS = "/blobs/"
Fault = Callable[[BaseHTTPRequestHandler], bool]
"""Answers a request in the service's place, and says so."""


class WorkingClock(SystemClock):
    """While a request waits, what it waits for is done, unless `work` itself waits."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._is_at_work = work, False

    def sleep(self, seconds: float) -> None:
        super().sleep(min(seconds, 0.01))
        if not self._is_at_work:
            self.work()

    def work(self) -> None:
        self._is_at_work = True
        try:
            self._work()
        finally:
            self._is_at_work = False


class Served:
    """A service of the tenant `acme` with `ALL_SCOPES` for `KEY`; other `keys` have other scopes.

    `before` and `after` hold what befalls the next requests, one each, before the service has seen
    them or after: see `busy` and `lost`. `seen` holds method, path and headers of every request.
    What a request causes (summaries, extraction, indexing) is done before it is answered, unless
    `works` is false. `authorize` says whose a call is, by its header; at first by `keys`. Without
    an `embedder` search compares words only.
    """

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._of_memories = operations_of("memories")
        self._memories = HttpApp(lambda: self.inside.service, self._of_memories)
        self._sessions = HttpApp(lambda: self.inside.service, operations_of("sessions"))
        self._lock = threading.Lock()
        self.begin_anew()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def begin_anew(self) -> None:
        """Forget everything: the service is empty, and nothing befalls it."""
        self._clock = WorkingClock(self._work)
        self.inside: InProcess = in_process(
            Scope("acme"), memory={}, clock=self._clock, embedder=self._embedder
        )  # fmt: skip
        self.inside.service.stores.blobs.link = self._link  # type: ignore[method-assign]
        self.keys = {KEY: ALL_SCOPES}
        self.before: list[Fault] = []
        self.after: list[Fault] = []
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.works = True
        self.authorize = self._by_key

    def _link(self, key: str, *, seconds: int) -> str:
        return f"{self.url}{BLOBS}{quote(key)}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Any, str]:
        """Status, headers and body: what gateway and functions say together."""
        parts = urlsplit(target)
        query: dict[str, str] = {}
        for name, value in parse_qsl(parts.query):
            query[name] = f"{query[name]},{value}" if name in query else value
        who = self.authorize(headers.get("authorization", ""))
        event = http_event(
            method, parts.path, query=query, headers=headers, authorizer={"lambda": who}
        )
        event |= {} if body is None else _as_sent_on(body)
        event["rawQueryString"] = parts.query
        is_mem0 = parts.path.startswith(
            f"{MEM0}/"
        )  # its client calls some operations by other paths
        is_memory = is_mem0 or any(
            serves(operation, method, parts.path) for operation in self._of_memories
        )
        with self._lock:
            answer = invoked(self._memories if is_memory else self._sessions, event)
            self._clock.work()
        return answer["statusCode"], answer["headers"], answer["body"]

    def _by_key(self, credential: str) -> dict[str, Any]:
        """What the function `authorize` says."""
        key = credential.removeprefix("Bearer ").removeprefix("Token ")  # the latter is mem0's
        if key not in self.keys:
            return {"refused": "invalid_key" if key else "unauthenticated"}
        return {"tenant": "acme", "scopes": self.keys[key], "key_id": "k" * 64}

    def _work(self) -> None:
        if self.works:
            self.inside.work()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                if self.path.startswith(
                    BLOBS
                ):  # an address of a file: it takes no key, and refuses one
                    data = served.inside.service.stores.blobs.get(
                        unquote(self.path.removeprefix(BLOBS))
                    )
                    is_fine = data is not None and "Authorization" not in self.headers
                    respond(
                        self, 200 if is_fine else 403, (data or b"").decode() if is_fine else ""
                    )
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                headers = {name.lower(): value for name, value in self.headers.items()}
                served.seen.append((self.command, self.path, headers))
                if served.before and served.before.pop(0)(self):
                    return
                status, more, text = served.answer(self.command, self.path, body, headers)
                if served.after and served.after.pop(0)(self):
                    return
                respond(self, status, text, **more)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _as_sent_on(body: bytes) -> dict[str, object]:
    """A body in an event, as a gateway puts it there."""
    try:
        return {"body": body.decode(), "isBase64Encoded": False}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def respond(to: BaseHTTPRequestHandler, status: int, text: str, **headers: str) -> None:
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name, value)
    to.send_header("Content-Length", str(len(text.encode())))
    to.end_headers()
    to.wfile.write(text.encode())


def busy(status: int = 503, *, retry_after: str | None = None, code: str | None = None) -> Fault:
    """The request is refused for now, by a gateway, or with a `code` by the service."""
    body = (
        {"message": "Too Many Requests"}
        if code is None
        else {"code": code, "retryable": True, "detail": code}
    )

    def befalls(to: BaseHTTPRequestHandler) -> bool:
        headers = {"Retry-After": retry_after} if retry_after else {}
        respond(to, status, json.dumps(body), **headers, **{"Content-Type": "application/json"})
        return True

    return befalls


def lost(to: BaseHTTPRequestHandler) -> bool:
    """The connection breaks instead of an answer."""
    to.close_connection = True
    to.connection.shutdown(2)
    return True


if __name__ == "__main__":
    with Served() as running:
        print(json.dumps({"url": running.url, "api_key": KEY}), flush=True)
        sys.stdin.read()
