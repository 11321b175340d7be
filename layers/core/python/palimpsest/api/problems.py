"""The problems (RFC 9457) that answer errors, with one table from errors to statuses. No problem
repeats stored or sent text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, NotRequired
from urllib.parse import quote

from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from palimpsest.conversations.blocks import PRIORITY
from palimpsest.conversations.message import CHAT_FIELDS, ITEM
from palimpsest.errors import (
    BadRequest,
    BudgetTooSmall,
    CommitLost,
    Conflict,
    DamagedJob,
    FieldError,
    LimitReached,
    MissingScope,
    ModelFailed,
    NewerJob,
    NotFound,
    PalimpsestError,
    ReadOnlyBlock,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unprocessable,
)

CONTENT_TYPE = "application/problem+json"
STATUS: dict[type[PalimpsestError], HTTPStatus] = {
    BadRequest: HTTPStatus.BAD_REQUEST,
    Unprocessable: HTTPStatus.UNPROCESSABLE_ENTITY,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    MissingScope: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    ReadOnlyBlock: HTTPStatus.METHOD_NOT_ALLOWED,
    Conflict: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    LimitReached: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    CommitLost: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelFailed: HTTPStatus.SERVICE_UNAVAILABLE,
}
TITLES = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Content Too Large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Unprocessable Content",
}
"""The names of RFC 9110 for statuses that Python before 3.13 names differently."""
HEADERS = {HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"}}
METADATA = "/.well-known/oauth-protected-resource"
IN_PATHS = "/:@+=%"  # besides letters, digits and -._~; a path may be encoded already
RETRY_AFTER = "1"  # seconds, sent with every error that may be retried
INTERNAL_ERROR = "internal_error"
INVALID_ID = "invalid_id"  # also the type of pydantic's fault for an invalid id
MAX_ERRORS = 20  # a body may have thousands of faults
MAX_FIELD = 200  # characters of a field's path, which may end in the caller's own text
TAGS = frozenset({*CHAT_FIELDS, ITEM, "function", "custom", *PRIORITY})
"""The names that pydantic adds to a path to say which kind of message, call or block it was
validating.
"""

MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not known",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}


class FieldProblem(TypedDict):
    field: str
    message: str


class Limit(TypedDict):
    """The limit of the tenant that was reached, and the seconds after which the same call works
    again.
    """

    name: str
    most: int
    retry_after: Annotated[
        int | None,
        Field(
            description="null: the call works only after something is removed or the limit is "
            "raised"
        ),
    ]


class Problem(TypedDict):
    """A problem in the form of RFC 9457. `code` is stable. If `retryable` is true, the same call
    may work later.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
    errors: list[FieldProblem]
    minimum: NotRequired[
        Annotated[int, Field(description="The smallest budget that fits, with `budget_too_small`")]
    ]
    limit: NotRequired[Annotated[Limit, Field(description="The limit that was reached, with 429")]]


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer to an error. `more` has fields that only this problem has."""

    status: HTTPStatus
    code: str
    detail: str
    retryable: bool = False
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def body(self, request_id: str) -> str:
        answer: Problem = {
            "type": f"urn:palimpsest:problem:{self.code}",
            "title": title(self.status),
            "status": self.status.value,
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id,
            "retryable": self.retryable,
            "errors": [{"field": error.field, "message": error.message} for error in self.errors],
        }
        return json.dumps({**answer, **self.more}, separators=(",", ":"))


def title(status: HTTPStatus) -> str:
    return TITLES.get(status, status.phrase)


def problem(error: Exception) -> Failure:
    """Return the failure that answers an error. An unexpected error becomes 500 `internal_error`,
    without its text.
    """
    if isinstance(error, RequestValidationError):
        return problem(refusal(error.errors()))
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), None)
    is_ours = isinstance(error, DamagedJob | NewerJob)
    if not isinstance(error, PalimpsestError) or is_ours or status is None:
        return Failure(
            HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR, "Something went wrong on our side."
        )
    return Failure(
        status,
        error.code,
        error.detail,
        retryable=error.retryable,
        errors=error.errors,
        headers=_headers(error, status),
        more=_more(error),
    )


def _headers(error: PalimpsestError, status: HTTPStatus) -> Mapping[str, str]:
    if isinstance(error, LimitReached) and error.retry_after is not None:
        return {"Retry-After": str(error.retry_after)}
    return {"Retry-After": RETRY_AFTER} if error.retryable else HEADERS.get(status, {})


def challenge(event: Mapping[str, Any], error: Exception) -> dict[str, str]:
    """Return the `WWW-Authenticate` header for a refused call (RFC 6750), if the service takes
    tokens. The header names the page with the issuer of these tokens (RFC 9728).
    """
    context = event["requestContext"]
    takes_tokens = ((context.get("authorizer") or {}).get("lambda") or {}).get("issuer")
    if not takes_tokens or not isinstance(error, (Unauthenticated, MissingScope)):
        return {}
    page = f"https://{context['domainName']}{METADATA}{quote(event['rawPath'], safe=IN_PATHS)}"
    parameters = [f'resource_metadata="{page}"']
    if isinstance(error, MissingScope):
        parameters += ['error="insufficient_scope"', f'scope="{" ".join(error.needed)}"']
    elif any(name.lower() == "authorization" for name in event.get("headers") or {}):
        parameters += ['error="invalid_token"']
    return {"WWW-Authenticate": f"Bearer {', '.join(parameters)}"}


def _more(error: PalimpsestError) -> Mapping[str, Any]:
    match error:
        case BudgetTooSmall():
            return {"minimum": error.minimum}
        case LimitReached():
            limit: Limit = {
                "name": error.limit,
                "most": error.most,
                "retry_after": error.retry_after,
            }
            return {"limit": limit}
    return {}


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn pydantic's errors within this block into `Unprocessable` errors of the field `name`. Use
    it for a field that is validated later than the rest of the body.
    """
    try:
        yield
    except ValidationError as error:
        errors = fields(
            {**fault, "loc": ("body", name, *fault["loc"][1:])} for fault in error.errors()
        )
        raise Unprocessable(_detail(errors), errors=errors) from error


def refusal_of(error: ValidationError) -> PalimpsestError:
    """Return the error for a body that was validated outside of a route, which is the error that a
    route gives for the same fault.
    """
    return refusal([{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()])


def refusal(faults: Sequence[Mapping[str, Any]]) -> PalimpsestError:
    """Return the error for pydantic's faults: `BadRequest` if an id is invalid, otherwise
    `Unprocessable`.
    """
    errors = fields(faults)
    if any(fault["type"] == INVALID_ID for fault in faults):
        return BadRequest(_detail(errors), code=INVALID_ID, errors=errors)
    return Unprocessable(_detail(errors), errors=errors)


def fields(faults: Iterable[Mapping[str, Any]]) -> tuple[FieldError, ...]:
    """Return pydantic's faults as paths in the request and messages. They repeat no value that was
    sent.
    """
    return tuple(_field_error(fault) for _, fault in zip(range(MAX_ERRORS), faults, strict=False))


def _field_error(fault: Mapping[str, Any]) -> FieldError:
    kind, path, context = fault["type"], _path(fault["loc"]), fault.get("ctx") or {}
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path.append(str(context["discriminator"]).strip("'"))
        message = (
            f"must be one of {context['expected_tags']}"
            if "expected_tags" in context
            else MESSAGES["missing"]
        )
    else:
        message = (
            str(context["error"])
            if kind == "value_error"
            else MESSAGES.get(kind, str(fault["msg"]))
        )
    return FieldError(".".join(path)[:MAX_FIELD] or "body", message)


def _path(location: Sequence[int | str]) -> list[str]:
    """Return the path of a fault within the body or the query, without the tags of unions."""
    steps = list(location[1:])
    shown = []
    for number, step in enumerate(steps):
        before = steps[number - 1] if number else None
        is_tag = step in TAGS and (isinstance(before, int) or before in ("message", "system"))
        if not is_tag and not (isinstance(step, str) and step.startswith("<")):
            shown.append(str(step))
    return shown


def _detail(errors: Sequence[FieldError]) -> str:
    first = errors[0]
    return f"The request breaks the schema: {first.field}: {first.message}"
