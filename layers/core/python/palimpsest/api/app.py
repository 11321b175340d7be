"""The HTTP application. It checks calls, runs operations, answers errors as problems, and writes
one structured log line for each request.
"""

from __future__ import annotations

import hmac
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.utilities.typing import LambdaContext
from cachetools import LRUCache

from palimpsest import tracing
from palimpsest.api import problems
from palimpsest.api.answers import Answering
from palimpsest.api.call import OWNER, Call, Caller, Service
from palimpsest.api.operations import Operation
from palimpsest.api.problems import Failure, challenge, problem
from palimpsest.clock import seconds
from palimpsest.errors import (
    BadRequest,
    FieldError,
    LimitReached,
    PalimpsestError,
    Unavailable,
    Unprocessable,
)
from palimpsest.incoming import guarded, json_object, path_of, read_json
from palimpsest.observability import logger
from palimpsest.scope import Scope as TenantScope

KNOWN_SECONDS = 60  # how long a process relies on a limit of requests that it has read
MOST_KNOWN = 1_000  # tenants whose limits a process knows
UNKNOWN = "is not known"
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every answer. An answer is data for one caller, not a page to show."""


class Rate:
    """Enforces a tenant's limit of requests per second. For a tenant without a limit, nothing is
    counted and no request costs a write.

    A tenant's limit is read once a minute, so a changed limit takes effect within a minute.
    """

    def __init__(self) -> None:
        self._known: LRUCache[TenantScope, tuple[int | None, int]] = LRUCache(MOST_KNOWN)

    def check(self, scope: TenantScope, service: Service) -> None:
        """Raise `LimitReached` (`too_many_requests`) if the tenant has used up its requests of this
        second. If the store of the counts is unavailable, the request continues.
        """
        now, taken = seconds(service.clock.now()), True
        with suppress(Unavailable):
            most = self._most(scope, service, now)
            if most is None:
                return
            taken = service.stores.usages.take(scope, second=now, most=most)
        if not taken:
            detail = f"The tenant may make {most} requests a second."
            raise LimitReached(
                detail,
                code="too_many_requests",
                limit="requests_per_second",
                most=most or 0,
                retry_after=1,
            )

    def _most(self, scope: TenantScope, service: Service, now: int) -> int | None:
        most, read_at = self._known.get(scope, (None, -KNOWN_SECONDS))
        if now - read_at >= KNOWN_SECONDS:
            most = service.stores.tenants.settings(scope).limits.requests_per_second
            self._known[scope] = (most, now)
        return most


_TURN = threading.Lock()
"""Held while Powertools answers a request. Powertools keeps the current request in class
attributes, which all apps of a process share.
"""


class HttpApp:
    """A Lambda handler for HTTP API events, which serves `operations`.

    `service` returns the use cases; it is called for every request. With `is_embedded`, the app
    runs inside the program that calls it. It then logs nothing, and unexpected errors are raised to
    that program.
    """

    def __init__(
        self,
        service: Callable[[], Service],
        operations: tuple[Operation, ...],
        *,
        is_embedded: bool = False,
    ) -> None:
        self._service = service
        self._operations = operations
        self._is_embedded = is_embedded
        self._failed = _expected if is_embedded else _logged
        self._resolver = resolver(operations, failed=self._failed)
        self._rate = Rate()
        self._log_keys: dict[TenantScope, bytes] = {}

    def __call__(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        begun = time.perf_counter()
        request_id = str(event["requestContext"]["requestId"])
        logger.set_correlation_id(request_id)
        seen: dict[str, Any] = {"method": event["requestContext"]["http"]["method"]}
        parent = (event.get("headers") or {}).get(tracing.HEADER) or ""
        with tracing.span("request", kind="server", parent=parent) as span:
            answer = self._answered(event, context, seen)
            span.note("http.request.method", seen["method"])
            span.note("http.route", seen.get("route") or "")
            span.note("http.response.status_code", int(answer["statusCode"]))
            if answer["statusCode"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.note("error.type", str(answer["statusCode"]))
        answer["headers"] = {**SECURITY, **answer["headers"]}
        if self._is_embedded:
            return answer
        tracing.flush()
        bytes_in, bytes_out = len(event.get("body") or ""), len(answer["body"])
        seen |= {"status": answer["statusCode"], "bytes_in": bytes_in, "bytes_out": bytes_out}
        logger.info("request", extra={**seen, "ms": round((time.perf_counter() - begun) * 1000, 1)})
        return answer

    def _answered(
        self, event: Mapping[str, Any], context: LambdaContext, seen: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return self._answer(event, context, seen)
        except Exception as error:  # noqa: BLE001 - the outermost edge: every failure is a typed problem
            answer = _as_event(self._failed(error), str(event["requestContext"]["requestId"]))
            answer["headers"] |= challenge(event, error)
            return answer

    def _answer(
        self, event: Mapping[str, Any], context: LambdaContext, seen: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to a request. `seen` receives the fields of the log line: ids of the
        caller and of the route, and hashes.
        """
        caller = Caller.of(event)
        seen |= {"tenant": caller.tenant.tenant, "key_id": caller.key_id}
        path = path_of(event)
        operation = operation_of(self._operations, seen["method"], path)
        seen |= {"route": operation.path if operation else None} | self._hashed(caller, path)
        caller.require(*(operation.scopes if operation else ()))
        self._rate.check(caller.tenant, self._service())
        if operation is None:
            return _as_event(
                _no_operation(self._operations, path), str(event["requestContext"]["requestId"])
            )
        parameters = operation.parameters
        reads_body = "body" in parameters
        request = guarded(event, method=seen["method"], path=path, reads_body=reads_body)
        if not reads_body:
            _refuse_body(event, parameters)
        with _TURN:
            shows = "read" in caller.scopes or "admin" in operation.scopes
            service = self._service()
            call = Call(caller, request, service.stores.calls, service.clock, shows)
            if operation.makes:
                _ = call.key  # a malformed key is refused even if the call would not use it
            self._resolver.context["given"] = (service, call)
            try:
                return self._resolver.resolve(request, context)
            finally:
                self._resolver.context.clear()
                call.give_back_places()

    def _hashed(self, caller: Caller, path: str) -> dict[str, str]:
        """Return the user or the session that a path names, hashed for the log. The hash can't be
        reversed without the tenant's secret key, which is in no log. Each process reads the key
        once.
        """
        _, _, resource, name, *_ = [*path.split("/"), "", "", ""]
        kind = {"users": "user", "sessions": "session"}.get(resource)
        if kind is None or not name:
            return {}
        try:
            secret = self._log_keys.get(caller.tenant) or self._service().stores.tenants.log_key(
                caller.tenant
            )
        except Unavailable:
            return {}
        self._log_keys[caller.tenant] = secret
        return {kind: hmac.new(secret, name.encode(), "sha256").hexdigest()[:16]}

    def warm(self) -> None:
        """Build the use cases now. Powertools still prepares each operation at its first call, in
        some milliseconds.
        """
        self._service()


def resolver(
    operations: tuple[Operation, ...], *, failed: Callable[[Exception], Failure] | None = None
) -> APIGatewayHttpResolver:
    """Return a Powertools resolver that has the operations as routes and validates their
    parameters. `failed` turns an error into a problem; by default, unexpected errors are logged
    too.
    """
    app = APIGatewayHttpResolver(
        enable_validation=True, json_body_deserializer=json_object, debug=False
    )

    def given() -> tuple[Service, Call]:
        """Return the service and the call, which an operation gets beside its parameters."""
        service, call = app.context["given"]
        return service, call

    app.use(
        [
            _only_known_parameters(
                {operation.name for operation in operations if operation.takes_owner}
            )
        ]
    )
    for operation in operations:
        app.route(
            operation.route,
            method=operation.method,
            operation_id=operation.name,
            tags=[operation.tag],
            status_code=operation.status,
        )(Answering(operation, given))

    def answered(error: Exception) -> Response[str]:
        return _response(app, (failed or _logged)(error))

    app.exception_handler(Exception)(answered)
    return app


def operation_of(operations: tuple[Operation, ...], method: str, path: str) -> Operation | None:
    """Return the operation that serves this method and decoded path; None if there is none."""
    return next((operation for operation in operations if serves(operation, method, path)), None)


def serves(operation: Operation, method: str, path: str) -> bool:
    """Return whether the operation serves this method and decoded path."""
    return method == operation.method and _has_path(operation, path)


def _has_path(operation: Operation, path: str) -> bool:
    own, requested = operation.path.split("/"), path.split("/")
    same = len(own) == len(requested)
    return same and all(
        a == b or (a.startswith("{") and bool(b)) for a, b in zip(own, requested, strict=True)
    )


def _refuse_body(event: Mapping[str, Any], parameters: Collection[str]) -> None:
    """Raise `Unprocessable` if a body was sent to an operation that reads none. `{}` is allowed,
    because it says nothing. `parameters` are those of the operation; if a field of the body belongs
    in the query, the error says so.
    """
    try:
        fields = read_json(event.get("body") or "{}")
    except BadRequest:
        fields = None
    if fields == {}:
        return
    if not isinstance(fields, dict):
        raise _unknown({"body": "must be empty"})
    raise _unknown(
        {
            name: "is read from the query, not from a body" if name in parameters else UNKNOWN
            for name in fields
        }
    )


def _unknown(reasons: Mapping[str, str]) -> Unprocessable:
    """Return the error for parameters and fields that an operation does not read. `reasons` has
    the reason for each name.
    """
    named = sorted(reasons)[: problems.MAX_ERRORS]
    errors = tuple(FieldError(name[: problems.MAX_FIELD], reasons[name]) for name in named)
    return Unprocessable(
        f"The request breaks the schema: {errors[0].field}: {errors[0].message}", errors=errors
    )


def _only_known_parameters(with_owner: set[str]) -> Callable[..., Response[Any]]:
    """Return a middleware that refuses unknown query parameters, which would otherwise silently do
    nothing. `with_owner` has the names of the operations that also take `user_id`.
    """

    def middleware(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
        route = app.context["_route"]
        known = {parameter.alias for parameter in route.dependant.query_params}
        unknown = set(app.current_event.query_string_parameters) - known
        if route.operation_id in with_owner:
            unknown -= {OWNER}
        if unknown:
            raise _unknown(dict.fromkeys(unknown, UNKNOWN))
        return next_middleware(app)

    return middleware


def _no_operation(operations: tuple[Operation, ...], path: str) -> Failure:
    """Return the answer to a call that no operation serves: 405 if the path takes other methods,
    else 404. Only the method and the path of the call are read.
    """
    methods = sorted({operation.method for operation in operations if _has_path(operation, path)})
    if not methods:
        return Failure(HTTPStatus.NOT_FOUND, "route_not_found", "There is no such route.")
    allowed = ", ".join(methods)
    detail = f"This route takes {allowed}."
    return Failure(
        HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", detail, headers={"Allow": allowed}
    )


def _logged(error: Exception) -> Failure:
    """Return the problem that answers an error. An unexpected error is logged first, with the place
    where it was raised but without its text.
    """
    if _is_expected(error):
        return problem(error)
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    where = [f"{frame.filename.rsplit('/', 2)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    logger.error("unexpected failure", extra={"error": type(error).__name__, "where": where})
    return problem(error)


def _expected(error: Exception) -> Failure:
    """Return the problem that answers an expected error. An unexpected error is raised again."""
    if not _is_expected(error):
        raise error
    return problem(error)


def _is_expected(error: Exception) -> bool:
    is_of_powertools = type(error).__module__.startswith("aws_lambda_powertools")
    return isinstance(error, PalimpsestError) or is_of_powertools


def _response(app: APIGatewayHttpResolver, failure: Failure) -> Response[str]:
    body = failure.body(app.current_event.request_context.request_id)
    return Response(
        status_code=failure.status,
        content_type=problems.CONTENT_TYPE,
        body=body,
        headers=dict(failure.headers),
    )


def _as_event(failure: Failure, request_id: str) -> dict[str, Any]:
    return {
        "statusCode": failure.status.value,
        "headers": {"Content-Type": problems.CONTENT_TYPE, **failure.headers},
        "body": failure.body(request_id),
        "isBase64Encoded": False,
        "cookies": [],
    }
