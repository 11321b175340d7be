"""A stand-in for the OpenAI API over real HTTP on loopback, with scripted faults.

    with OpenAIApi() as api:
        api.script(Step(status=429, retry_after="2"), OK)  # the first call fails, the next is answered
        model = OpenAIChatModel(key=Known("test"), base_url=api.base_url, model="gpt-4.1-nano")

Steps are taken in order; when there is none left, `answer` answers. It says what the assistant says, or gives the
whole assistant message (tool calls, say). With `stream` a text comes word by word.
"""

import json
import re
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.doubles.http_double import HttpDouble

Answer = Callable[[dict[str, Any]], str | dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one call meets. Without anything set it is a good answer."""

    status: int = 200
    retry_after: str | None = None
    retry_after_ms: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  # more of the answer
    code: str | None = None  # of an error
    param: str | None = None
    delay: float = 0.0  # seconds before the first byte
    held: threading.Event | None = None  # the first byte comes once it is set
    drip: float = 0.0  # seconds before each tenth of the body
    body: bytes | None = None  # instead of the right one
    content: str | None = None  # what the assistant says
    finish: str = "stop"
    refusal: str | None = None
    reset: bool = False  # the connection is torn before the first byte
    truncated: bool = False  # half the body, then the connection is closed


OK = Step()


@dataclass(frozen=True)
class Request:
    """`headers` are named in lower case, and `sent` are the bytes of the body."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    sent: bytes = b""


@dataclass(frozen=True)
class Answered:
    """An answer as it was sent. `headers` are those that the server chose."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def echo(request: dict[str, Any]) -> str:
    return f"echo: {request['messages'][-1]['content']}"


@dataclass
class OpenAIApi(HttpDouble):
    """The server; `requests` is what it was asked, and `answers` what it answered, in order."""

    answer: Answer = echo
    requests: list[Request] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._steps: deque[Step] = deque()
        self._lock = threading.Lock()
        self.base_url = f"{self.endpoint}/v1"

    def script(self, *steps: Step) -> None:
        with self._lock:
            self._steps.extend(steps)

    def forget_script(self) -> None:
        """From now on every call is answered well."""
        with self._lock:
            self._steps.clear()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = (
                True  # else an answer on a kept connection waits 40 ms for an acknowledgement
            )

            def do_POST(self) -> None:
                self.sent = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.loads(self.sent)
                headers = {name.lower(): value for name, value in self.headers.items()}
                step = outer._take(Request(self.path.removeprefix("/v1"), headers, body, self.sent))
                try:
                    outer._play(self, step, body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        return Handler

    def _take(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            return self._steps.popleft() if self._steps else OK

    def _play(self, handler: BaseHTTPRequestHandler, step: Step, request: dict[str, Any]) -> None:
        self._closing.wait(step.delay)
        while step.held and not step.held.wait(0.01) and not self._closing.is_set():
            pass
        if step.reset:
            handler.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            handler.close_connection = True
            handler.connection.close()
            return
        is_stream = bool(request.get("stream")) and step.status < 400
        body = step.body if step.body is not None else self._right(step, request, is_stream)
        kind = "text/event-stream" if is_stream else "application/json"
        _head(handler, step, len(body), kind=kind)
        self.answers.append(Answered(step.status, {"content-type": kind, **step.headers}, body))
        if step.truncated:
            handler.close_connection = True
            body = body[: len(body) // 2]
        size = -(-len(body) // 10) if step.drip else max(1, len(body))
        for start in range(0, len(body), size):
            self._closing.wait(step.drip)
            handler.wfile.write(body[start : start + size])

    def _right(self, step: Step, request: dict[str, Any], is_stream: bool) -> bytes:  # noqa: FBT001
        body = self._body(step, request)
        return _streamed(body) if is_stream else json.dumps(body).encode()

    def _body(self, step: Step, request: dict[str, Any]) -> dict[str, Any]:
        if step.status >= 400:
            error = {
                "message": f"scripted {step.status}",
                "type": "test",
                "param": step.param,
                "code": step.code,
            }
            return {"error": error}
        content = step.content if step.content is not None else self.answer(request)
        message = (
            content if isinstance(content, dict) else {"content": None if step.refusal else content}
        )
        message = {"role": "assistant", "refusal": step.refusal, **message}
        choice = {"index": 0, "finish_reason": step.finish, "logprobs": None, "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        answer = {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
        }
        return {**answer, "choices": [choice], "usage": usage}


def _streamed(answer: dict[str, Any]) -> bytes:
    """A whole answer, as the API streams it."""
    (choice,) = answer.pop("choices")
    words = re.findall(r"\S+\s*", choice["message"]["content"])
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [*(({"content": word}, None) for word in words), ({}, choice["finish_reason"])]
    chunks = [
        {
            **answer,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": ended}],
        }
        for delta, ended in deltas
    ]
    return "".join(f"data: {event}\n\n" for event in (*map(json.dumps, chunks), "[DONE]")).encode()


def _head(handler: BaseHTTPRequestHandler, step: Step, length: int, *, kind: str) -> None:
    handler.send_response(step.status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(length))
    for name, value in (("Retry-After", step.retry_after), ("Retry-After-Ms", step.retry_after_ms)):
        if value is not None:
            handler.send_header(name, value)
    for name, value in step.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
