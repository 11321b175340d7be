"""The HTTP application: guards, routes and problems around the use cases, one structured log line a request."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.utilities.typing import LambdaContext

from palimpsest.api import problems
from palimpsest.api.call import CURRENT, Call, MemoryUseCases, UseCases
from palimpsest.api.caller import Caller, scopes_of
from palimpsest.api.guards import guarded, json_object, path_of
from palimpsest.api.problems import Problem, problem
from palimpsest.errors import FieldError, PalimpsestError, Unprocessable
from palimpsest.observability import logger


class HttpApp:
    """A Lambda handler for HTTP API events. `wired` gives the use cases, and is asked anew for every call."""

    def __init__(self, wired: Callable[[], UseCases | MemoryUseCases], routers: Sequence[Router]) -> None:
        self._wired = wired
        self._resolver = resolver(routers)
        self._turn = threading.Lock()

    def __call__(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        begun = time.perf_counter()
        request_id = str(event["requestContext"]["requestId"])
        logger.set_correlation_id(request_id)
        seen: dict[str, Any] = {"method": event["requestContext"]["http"]["method"]}
        try:
            answer = self._answer(event, context, seen)
        except Exception as error:  # noqa: BLE001 - the outermost edge: every failure is a typed problem
            answer = _on_wire(_told(error), request_id)
        bytes_in, bytes_out = len(event.get("body") or ""), len(answer["body"])
        seen |= {"status": answer["statusCode"], "bytes_in": bytes_in, "bytes_out": bytes_out}
        logger.info("request", extra={**seen, "ms": round((time.perf_counter() - begun) * 1000, 1)})
        return answer

    def _answer(self, event: Mapping[str, Any], context: LambdaContext, seen: dict[str, Any]) -> dict[str, Any]:
        """`seen` takes what the log may show: ids that were checked, nothing that was sent."""
        caller = Caller.of(event)
        seen |= {"tenant": caller.tenant.tenant, "key_id": caller.key_id}
        path = seen["path"] = path_of(event)
        caller.require(*scopes_of(seen["method"], path))
        request = guarded(event, method=seen["method"], path=path)
        with self._turn:  # Powertools keeps the current request in attributes that all share
            token = CURRENT.set(Call(caller, self._wired()))
            try:
                return self._resolver.resolve(request, context)
            finally:
                CURRENT.reset(token)

    def warm(self) -> None:
        """Do now what the first request of each route would wait for."""
        self._wired()
        for route in self._resolver._static_routes + self._resolver._dynamic_routes:  # noqa: SLF001 - no public way
            _ = route.dependant


def resolver(routers: Sequence[Router]) -> APIGatewayHttpResolver:
    """The routes, with validation, and every failure as a problem."""
    app = APIGatewayHttpResolver(enable_validation=True, json_body_deserializer=json_object, debug=False)
    app.use([_only_known_parameters])
    for router in routers:
        app.include_router(router)

    @app.not_found
    def not_found(_: NotFoundError) -> Response[str]:
        return _response(app, _no_route(app))

    def failed(error: Exception) -> Response[str]:
        return _response(app, _told(error))

    app.exception_handler(Exception)(failed)
    return app


def _only_known_parameters(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """A parameter that nobody reads is a mistake of the caller's, and is said to be one."""
    known = {parameter.alias for parameter in app.context["_route"].dependant.query_params}
    unknown = sorted(set(app.current_event.query_string_parameters) - known)
    if unknown and app.context["_route"].tags:
        errors = tuple(
            FieldError(name[: problems.MAX_FIELD], "is not known") for name in unknown[: problems.MAX_ERRORS]
        )
        raise Unprocessable(f"The request breaks the schema: {errors[0].field}: is not known", errors=errors)
    return next_middleware(app)


def _no_route(app: APIGatewayHttpResolver) -> Problem:
    routes = app._static_routes + app._dynamic_routes  # noqa: SLF001 - no public way to ask for them
    methods = sorted({route.method for route in routes if route.rule.match(app.current_event.path)})
    if not methods:
        return Problem(HTTPStatus.NOT_FOUND, "route_not_found", "There is no such route.")
    allowed = ", ".join(methods)
    detail = f"This route takes {allowed}."
    return Problem(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", detail, headers={"Allow": allowed})


def _told(error: Exception) -> Problem:
    """The problem, after the log was told of what nobody expected: where it was, not what was being handled."""
    if isinstance(error, PalimpsestError) or type(error).__module__.startswith("aws_lambda_powertools"):
        return problem(error)
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    where = [f"{frame.filename.rsplit('/', 2)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    logger.error("unexpected failure", extra={"error": type(error).__name__, "where": where})
    return problem(error)


def _response(app: APIGatewayHttpResolver, found: Problem) -> Response[str]:
    body = found.body(app.current_event.request_context.request_id)
    return Response(
        status_code=found.status, content_type=problems.CONTENT_TYPE, body=body, headers=dict(found.headers)
    )


def _on_wire(found: Problem, request_id: str) -> dict[str, Any]:
    return {
        "statusCode": found.status.value,
        "headers": {"Content-Type": problems.CONTENT_TYPE, **found.headers},
        "body": found.body(request_id),
        "isBase64Encoded": False,
        "cookies": [],
    }
