"""A stand-in for an OpenSearch server over real HTTP on loopback, for what a healthy one does not
do.

    with OpenSearchApi({"_alias": {...}, "_bulk": Said(status=429)}) as api:
        client = connected(api.endpoint)

What it says is chosen by the last part of the path; a list is said one after the other, its last
element for ever.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.doubles.http_double import HttpDouble

INDEX = "memories.words.1"
ALIASES: dict[str, Any] = {INDEX: {"aliases": {"memories": {}, f"{INDEX}.in": {}}}}


@dataclass(frozen=True, kw_only=True)
class Said:
    status: int = 200
    body: Any = None  # as JSON; bytes as they are
    delay: float = 0.0


@dataclass(frozen=True)
class Request:
    """`headers` are named in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class OpenSearchApi(HttpDouble):
    says: Mapping[str, Said | Sequence[Said] | dict[str, Any]]
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lock = threading.Lock()

    def asked(self, last: str) -> list[Request]:
        return [request for request in self.requests if _last(request.path) == last]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = outer._say(Request(self.command, self.path, headers, body))
                outer._closing.wait(answer.delay)
                data = (
                    answer.body
                    if isinstance(answer.body, bytes)
                    else json.dumps(answer.body or {}).encode()
                )
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        return Handler

    def _say(self, request: Request) -> Said:
        with self._lock:
            before = len(self.asked(_last(request.path)))
            self.requests.append(request)
        answer = self.says[_last(request.path)]
        if isinstance(answer, Said):
            return answer
        return (
            Said(body=answer) if isinstance(answer, dict) else answer[min(before, len(answer) - 1)]
        )


def _last(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[2]
