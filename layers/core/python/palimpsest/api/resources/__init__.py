"""What the API serves, each resource in a module or package: its operations, the bodies that they take, their answers.
Here is what they share: fields, parameters, bodies, and answers as JSON that stay under the limit of an answer.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import update_wrapper
from inspect import Signature, signature
from typing import Annotated, Any, ClassVar, Literal, Self, get_args
from urllib.parse import parse_qs

from aws_lambda_powertools.event_handler import Response, content_types
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from palimpsest.api import Operation
from palimpsest.api.call import call
from palimpsest.clock import EPOCH, milliseconds, stamp
from palimpsest.conversations.configuration import MemoryConfig
from palimpsest.conversations.session import Head
from palimpsest.errors import FieldError, TooLarge, Unprocessable
from palimpsest.memory import MAX_DATA, ListedType, Source
from palimpsest.models import Space, check_vector
from palimpsest.scope import ID_PATTERN, checked_id

LONGEST_WAIT = 20  # seconds
STRATEGY = "strategy"
MAX_BYTES = 5_000_000
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=dict)
dumps = _ENCODER.encode

Json = dict[str, Any]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
LIKE_AN_ID: JsonDict = {"pattern": f"^{ID_PATTERN}$"}


def in_rfc3339(value: str) -> str:
    """The text itself. Raises `ValueError` unless it is a time with its offset."""
    try:
        moment = datetime.fromisoformat(value)
        moment.astimezone(UTC)  # within the years 1 to 9999 there, too
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment.tzinfo is None or len(value) < len("2026-01-01T00:00Z"):
        raise ValueError("must be a time with its offset, as in RFC 3339")
    return value


Timestamp = Annotated[str, AfterValidator(in_rfc3339), Field(json_schema_extra={"format": "date-time"})]


def _since_1970(time: str) -> str:
    if datetime.fromisoformat(time) < EPOCH:
        raise ValueError("must not be before 1970")
    return time


ValidFrom = Annotated[Timestamp, AfterValidator(_since_1970)]
UserId = Annotated[str, Path(description="Id of the user", json_schema_extra=LIKE_AN_ID)]
SessionId = Annotated[str, Path(description="Id of the session", json_schema_extra=LIKE_AN_ID)]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]
NOT_BLANK: JsonDict = {"pattern": r"\S"}

MaxTokens = Annotated[
    int, Field(ge=1, le=10_000_000, description="Budget of the context, in tokens; default: the session's")
]
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]


def _small(value: Any) -> Any:
    if len(dumps(value).encode()) > MAX_DATA:
        message = f"must have at most {MAX_DATA} bytes as JSON"
        raise ValueError(message)
    return value


JsonValue = Annotated[Any, AfterValidator(_small), Field(description="Any JSON value, at most 16,384 bytes")]


MAX_DIMENSION = 4_096
Values = Annotated[
    list[float], Field(min_length=1, max_length=MAX_DIMENSION, description="Numbers of single precision, not all zero")
]


def check_embedding(values: Sequence[float], space: Space | None, *, field: str) -> None:
    """Raise `Unprocessable` (`no_vectors`, `invalid_vector`) unless the values are a vector of the search index."""
    if space is None:
        raise Unprocessable("There are no vectors here.", code="no_vectors")
    try:
        check_vector(array("f", values), space)
    except (ValueError, OverflowError) as error:
        errors = (FieldError(field, f"{space.dimension} finite numbers, not all zero"),)
        raise Unprocessable("The embedding is no vector of the index.", code="invalid_vector", errors=errors) from error


class Closed(BaseModel):
    """A body whose values are not converted, and which may hold only the fields that it names."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Change(Closed):
    """A body of which something must be given. What is given changes, the rest stays."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    NULLABLE: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must change something")
        if missing := [name for name in sorted(self.model_fields_set - self.NULLABLE) if getattr(self, name) is None]:
            message = f"{missing[0]} can't be null"
            raise ValueError(message)
        return self


class _MemoryFields:
    """Some fields of a memory configuration. They are laid over the configuration that holds, and checked with it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Each strategy with its fields. The strategy itself may be left out: then the one that holds stays."""
        from pydantic import TypeAdapter

        described = handler(TypeAdapter[Any](MemoryConfig).core_schema)
        for each in described["oneOf"]:
            strategy = handler.resolve_ref_schema(each)
            strategy["required"] = [name for name in strategy.get("required", ()) if name != STRATEGY]
        return {"anyOf": described["oneOf"]}


MemoryFields = Annotated[Mapping[str, Any], _MemoryFields()]


class Provenance(TypedDict):
    """Where something comes from: messages of a session, and the words in them that it rests on."""

    session_id: str | None
    message_ids: Sequence[str]
    seqs: Sequence[int]
    quote: str | None
    text: Annotated[str | None, Field(description="Where it comes from, in the words of the caller who stored it")]


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def milliseconds_of(given: str | None) -> int | None:
    """Epoch milliseconds of an RFC 3339 time."""
    return None if given is None else milliseconds(datetime.fromisoformat(given))


def rfc3339(moment: int) -> Moment:
    """A time, in epoch milliseconds, as RFC 3339 in UTC."""
    return stamp(EPOCH + timedelta(milliseconds=moment))


def rfc3339_or_null(seconds: int | None) -> Moment | None:
    """A time, in epoch seconds, as RFC 3339 in UTC."""
    return None if seconds is None else rfc3339(seconds * 1000)


def provenance(source: Source) -> Provenance:
    return {
        "session_id": source.session,
        "message_ids": source.message_ids,
        "seqs": source.seqs,
        "quote": source.quote,
        "text": source.text,
    }


class Deleted(TypedDict):
    id: str
    deleted: Literal[True]


class WouldForget(TypedDict):
    """What a request to forget would delete now. Nothing is deleted."""

    dry_run: Literal[True]
    count: int
    ids: Sequence[str]


class Window(TypedDict):
    """What the model would see of the conversation. `is_full`: its next overflow is due."""

    messages: int
    tokens: int
    max_tokens: int
    is_full: bool


def window(head: Head) -> Window:
    return {
        "messages": head.window_messages,
        "tokens": head.tokens,
        "max_tokens": head.max_tokens,
        "is_full": head.is_full,
    }


class Page(Json):
    """A page of a list, with its JSON in `text`: it was measured, and is not written twice. Nobody changes it."""

    text: str


class Answering:
    """An operation's code as Powertools calls it: an object that it returns is the JSON of its usual answer. Code that
    chooses status, headers or format itself returns a `Response`.
    """

    def __init__(self, operation: Operation) -> None:
        handler = self._handler = operation.handler
        self._status = operation.status
        update_wrapper(self, handler)
        self.__globals__ = handler.__globals__  # there Powertools looks up what annotations name

    @property
    def __signature__(self) -> Signature:
        """The parameters of the code. Only the operation that is called needs them."""
        return signature(self._handler).replace(return_annotation=Response[str])

    def __call__(self, **sent: Any) -> Response[str]:
        made = self._handler(**sent)
        return made if isinstance(made, Response) else answered(made, status=self._status)


def answered(
    value: Mapping[str, Any], *, status: int = 200, headers: dict[str, str] | None = None, most: int = MAX_BYTES
) -> Response[str]:
    """The value as a JSON answer, without what is stored if the caller may not read. Raises `TooLarge`
    (`answer_too_large`) if it is larger than an answer may be.
    """
    shown = value if call().shows else unread(value)
    body = shown.text if isinstance(shown, Page) else dumps(shown)
    if size_in_answer(body) > most:
        raise TooLarge("The answer is larger than an answer may be: ask for less.", code="answer_too_large")
    return json_answer(body, status=status, headers=headers)


WRITERS_KNOW = frozenset({
    "appended", "armed", "attempt", "compaction", "count", "created", "created_at", "deleted",
    "dry_run", "error", "expires_at", "id", "job_id", "kind", "last_extracted", "last_seq",
    "ledger", "method", "outcome", "overflow", "range", "receipt", "replayed", "result", "seq",
    "session_id", "state", "status", "tokens", "totals", "updated_at", "usage", "version",
    "window",
})  # fmt: skip
"""Fields that a caller without the scope `read` gets: what it made, how far that is, counts, times of the service."""
TYPES = frozenset(get_args(ListedType))
"""Types of memories are words of the service. Types in the graph are words of the callers, and are blank."""
NO_SOURCE: Provenance = {"session_id": None, "message_ids": (), "seqs": (), "quote": None, "text": None}
BLANK: Mapping[str, Any] = {"source": NO_SOURCE, "valid_from": rfc3339(0), "valid_to": None}
"""Fields whose blank value is not the empty one of their type."""


def unread(value: Mapping[str, Any]) -> dict[str, Any]:
    """The answer for a caller who may write but not read: every other field is there, without its value."""
    return {name: field if name in WRITERS_KNOW else _blank(name, field) for name, field in value.items()}


def _blank(name: str, field: Any) -> Any:
    if name in ("messages", "memories", "preferences", "entities", "relationships"):
        return [unread(row) for row in field]
    if name in BLANK:
        return BLANK[name]
    if isinstance(field, str):
        return field if name == "type" and field in TYPES else ""
    return {} if isinstance(field, Mapping) else field and type(field)()


def json_answer(body: str, *, status: int = 200, headers: Mapping[str, str | list[str]] | None = None) -> Response[str]:
    return Response(status_code=status, content_type=content_types.APPLICATION_JSON, body=body, headers=headers)


def size_in_answer(text: str) -> int:
    """Bytes within the function's own answer, which is JSON around this text: quotes are escaped again."""
    return len(text.encode()) + text.count('"') + text.count("\\")


def as_sent(name: str) -> list[str]:
    """The values of a query parameter that may come several times. Powertools would divide each at its commas."""
    return parse_qs(call().request["rawQueryString"], keep_blank_values=True).get(name, [])


def check_ids(**given: str | None) -> None:
    """Raise `BadRequest` (`invalid_id`) if one of the fields that are given is no id."""
    for name, value in given.items():
        if value is not None:
            checked_id(value, field=name)
