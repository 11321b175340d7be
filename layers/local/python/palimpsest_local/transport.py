"""Carries a client's requests to a service in the same process. It uses no socket, and the same
handlers as HTTP.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx2
from aws_lambda_powertools.utilities.typing import LambdaContext
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.clock import Clock
from palimpsest.scope import Scope
from palimpsest.service.service import Service
from palimpsest_client.connection import FINAL

SCOPES = "read write admin"
SHORT = 0.01  # seconds that a waiting call sleeps, before it does the work that it waits for


class InProcessTransport(httpx2.BaseTransport):
    """Answers the requests of one tenant. After each request, `work` does the work that the request
    caused, before the program gets the answer.
    """

    def __init__(self, service: Service, *, tenant: Scope, work: Callable[[], None]) -> None:
        operations = (*operations_of("sessions"), *operations_of("memories"))
        self._app = HttpApp(lambda: service, operations, is_embedded=True)
        self._tenant = tenant
        self._work = work

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._app(_event(request, self._tenant), LambdaContext())
        if request.method != "GET":
            self._work()
        return httpx2.Response(
            answer["statusCode"],
            headers=answer["headers"],
            content=answer["body"].encode(),
            extensions={FINAL: True},
        )


class WorkingClock:
    """A clock for calls that wait for work. The clock does the work while they wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_at_work = False
        self.todo: Callable[[], None] = _nothing

    def now(self) -> datetime:
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(min(seconds, SHORT))
        if not self._is_at_work:
            self.work()

    def work(self) -> None:
        """Do the pending work. If that work waits for other work, nothing more is done."""
        self._is_at_work = True
        try:
            self.todo()
        finally:
            self._is_at_work = False


def _nothing() -> None:
    """Do nothing, because there is no work before the service exists."""


def _event(request: httpx2.Request, tenant: Scope) -> dict[str, Any]:
    """Return the request as a gateway passes it to a function."""
    query: dict[str, str] = {}
    for name, value in request.url.params.multi_items():
        query[name] = f"{query[name]},{value}" if name in query else value
    path, body = request.url.raw_path.partition(b"?")[0].decode(), request.read().decode()
    caller = {"tenant": tenant.tenant, "scopes": SCOPES, "key_id": None}
    context = {
        "accountId": "",
        "apiId": "",
        "authorizer": {"lambda": caller},
        "domainName": "in-process",
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "",
            "userAgent": "",
        },
        "requestId": uuid.uuid4().hex,
        "routeKey": "$default",
        "stage": "$default",
        "time": "",
        "timeEpoch": 0,
    }
    optional = {"queryStringParameters": query, "body": body}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": request.url.query.decode(),
        "headers": {name.lower(): value for name, value in request.headers.items()},
        "requestContext": context,
        "isBase64Encoded": False,
        **{name: value for name, value in optional.items() if value},
    }
