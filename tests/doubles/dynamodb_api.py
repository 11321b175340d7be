"""DynamoDB over real HTTP on loopback with scripted faults; whatever is not scripted goes on to a
real engine.

with DynamoDbApi(engine) as api: api.script(THROTTLED, Step(loses_answer=True))  # the first call is
throttled, the second done but not answered store = DynamoDbSessions(table, endpoint=api.endpoint)
"""

import json
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.doubles.http_double import HttpDouble

NAMESPACE = "com.amazonaws.dynamodb.v20120810"


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one call meets: an error (`code`), an answer (`answer`), or the engine, in time or
    not.
    """

    code: str | None = None
    status: int = 400
    reasons: tuple[str, ...] = ()  # of a cancelled transaction, one for each action
    answer: Mapping[str, Any] | None = None
    loses_answer: bool = False  # the engine does it, but the connection is closed without a word
    delay: float = 0.0  # seconds before the answer, after the engine has done it


FORWARDED = Step()
THROTTLED = Step(code="ProvisionedThroughputExceededException")
BROKEN = Step(code="InternalServerError", status=500)


def cancelled(*reasons: str) -> Step:
    return Step(code="TransactionCanceledException", reasons=reasons)


@dataclass(frozen=True)
class Call:
    operation: str
    body: dict[str, Any]


@dataclass
class DynamoDbApi(HttpDouble):
    """The server; `calls` is what it was asked, in order."""

    engine: str
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._steps: deque[Step] = deque()
        self._failing: Callable[[Call], bool] = lambda call: False

    def script(self, *steps: Step) -> None:
        self._steps.extend(steps)

    @property
    def left(self) -> int:
        """Steps that no call has met yet."""
        return len(self._steps)

    def fail(self, failing: Callable[[Call], bool]) -> None:
        """From now on every call that this is true of is answered by `BROKEN`, and takes no step of
        the script.
        """
        self._failing = failing

    def _answer(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes] | None:
        """Status and body; None if the connection is to be closed instead."""
        call = Call(headers["X-Amz-Target"].partition(".")[2], json.loads(body))
        self.calls.append(call)
        step = self._step(call)
        if step.code is not None:
            reasons = [{"Code": reason, "Message": "as scripted"} for reason in step.reasons]
            error = {
                "__type": f"{NAMESPACE}#{step.code}",
                "message": "as scripted",
                "CancellationReasons": reasons,
            }
            return step.status, json.dumps(error).encode()
        answer = (
            (200, json.dumps(step.answer).encode())
            if step.answer is not None
            else self._forward(headers, body)
        )
        self._closing.wait(step.delay)
        return None if step.loses_answer else answer

    def _step(self, call: Call) -> Step:
        if self._failing(call):
            return BROKEN
        return self._steps.popleft() if self._steps else FORWARDED

    def _forward(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        passed = {name: value for name, value in headers.items() if name.lower() != "host"}
        request = urllib.request.Request(self.engine, data=body, headers=passed, method="POST")  # noqa: S310 loopback
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 loopback
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer in one piece

            def do_POST(self) -> None:
                answer = api._answer(
                    dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))
                )
                if answer is None:
                    self.close_connection = True
                    return
                status, body = answer
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        return Handler
