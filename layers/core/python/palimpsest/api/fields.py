"""The fields and parameters that several resources share, with their checks and schemas."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import parse_qs

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

from palimpsest.api.call import Call
from palimpsest.api.encoding import dumps
from palimpsest.clock import EPOCH, milliseconds, stamp
from palimpsest.conversations.configuration import MemoryConfig
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory.record import MAX_DATA
from palimpsest.models.ports import Space
from palimpsest.models.vectors import check_vector
from palimpsest.scope import ID_PATTERN, checked_id

LONGEST_WAIT = 20  # seconds

STRATEGY = "strategy"

Json = dict[str, Any]

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]

LIKE_AN_ID: JsonDict = {"pattern": f"^{ID_PATTERN}$"}


def in_rfc3339(value: str) -> str:
    """Return the text unchanged. Raises `ValueError` unless it is a time with an offset."""
    try:
        moment = datetime.fromisoformat(value)
        moment.astimezone(UTC)  # within the years 1 to 9999 there, too
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment.tzinfo is None or len(value) < len("2026-01-01T00:00Z"):
        raise ValueError("must be a time with its offset, as in RFC 3339")
    return value


Timestamp = Annotated[
    str, AfterValidator(in_rfc3339), Field(json_schema_extra={"format": "date-time"})
]


def _since_1970(time: str) -> str:
    if datetime.fromisoformat(time) < EPOCH:
        raise ValueError("must not be before 1970")
    return time


ValidFrom = Annotated[Timestamp, AfterValidator(_since_1970)]


def _day_or_time(value: str) -> str:
    """Return the text unchanged. Raises `ValueError` unless it is a day, or a time with an
    offset.
    """
    if len(value) != len("2026-01-01"):
        return in_rfc3339(value)
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise ValueError("must be a day (2026-01-05) or a time (2026-01-05T09:00:00Z)") from error


DayOrTime = Annotated[
    str,
    AfterValidator(_day_or_time),
    Field(min_length=10, max_length=40, json_schema_extra={"pattern": r"^\d{4}-\d\d-\d\d"}),
]

UserId = Annotated[str, Path(description="Id of the user", json_schema_extra=LIKE_AN_ID)]

SessionId = Annotated[str, Path(description="Id of the session", json_schema_extra=LIKE_AN_ID)]

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")
]

NOT_BLANK: JsonDict = {"pattern": r"\S"}

MaxTokens = Annotated[
    int,
    Field(
        ge=1, le=10_000_000, description="Budget of the context, in tokens; default: the session's"
    ),
]

WaitSeconds = Annotated[
    float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")
]


def _small(value: Any) -> Any:
    if len(dumps(value).encode()) > MAX_DATA:
        message = f"must have at most {MAX_DATA} bytes as JSON"
        raise ValueError(message)
    return value


JsonValue = Annotated[
    Any, AfterValidator(_small), Field(description="Any JSON value, at most 16,384 bytes")
]

MAX_DIMENSION = 4_096

Values = Annotated[
    list[float],
    Field(
        min_length=1,
        max_length=MAX_DIMENSION,
        description="Numbers of single precision, not all zero",
    ),
]


def check_embedding(values: Sequence[float], space: Space | None, *, field: str) -> None:
    """Raise `Unprocessable` (`no_vectors`, `invalid_vector`) unless the values are a vector that
    the search index can hold.
    """
    if space is None:
        raise Unprocessable("The search index holds no vectors.", code="no_vectors")
    try:
        check_vector(array("f", values), space)
    except (ValueError, OverflowError) as error:
        errors = (FieldError(field, f"must be {space.dimension} finite numbers, not all zero"),)
        raise Unprocessable(
            "The embedding isn't a vector of the index.", code="invalid_vector", errors=errors
        ) from error


class Closed(BaseModel):
    """A body that may have only its own fields. Values are not converted to the types of the
    fields.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Change(Closed):
    """A body that changes the fields that it has; other fields stay. It must have at least one
    field.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    NULLABLE: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must change something")
        if missing := [
            name
            for name in sorted(self.model_fields_set - self.NULLABLE)
            if getattr(self, name) is None
        ]:
            message = f"{missing[0]} can't be null"
            raise ValueError(message)
        return self


class _MemoryFields:
    """The type of a partial memory configuration. Its fields override those of the current
    configuration, and are checked together with it.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the fields of each strategy. The field `strategy` is optional, because the
        current strategy stays without it.
        """
        from pydantic import TypeAdapter

        described = handler(TypeAdapter[Any](MemoryConfig).core_schema)
        for kind in described["oneOf"]:
            strategy = handler.resolve_ref_schema(kind)
            strategy["required"] = [
                name for name in strategy.get("required", ()) if name != STRATEGY
            ]
        return {"anyOf": described["oneOf"]}


MemoryFields = Annotated[Mapping[str, Any], _MemoryFields()]


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def milliseconds_of(time: str | None) -> int | None:
    """Return the epoch milliseconds of an RFC 3339 time; None for None."""
    return None if time is None else milliseconds(datetime.fromisoformat(time))


def rfc3339(moment: int) -> Moment:
    """Return a time, given in epoch milliseconds, as RFC 3339 in UTC."""
    return stamp(EPOCH + timedelta(milliseconds=moment))


def rfc3339_or_null(seconds: int | None) -> Moment | None:
    """Return a time, given in epoch seconds, as RFC 3339 in UTC; None for None."""
    return None if seconds is None else rfc3339(seconds * 1000)


def moment_or_null(milliseconds: int | None) -> Moment | None:
    """Return a time, given in epoch milliseconds, as RFC 3339 in UTC; None for None."""
    return None if milliseconds is None else rfc3339(milliseconds)


def as_sent(call: Call, name: str) -> list[str]:
    """Return the values of a query parameter that may be repeated. Powertools is not used, because
    it would split values at commas.
    """
    return parse_qs(call.request["rawQueryString"], keep_blank_values=True).get(name, [])


def check_ids(**fields: str | None) -> None:
    """Raise `BadRequest` (`invalid_id`) if one of these fields isn't an id. Fields that are None
    pass.
    """
    for name, value in fields.items():
        if value is not None:
            checked_id(value, field=name)
