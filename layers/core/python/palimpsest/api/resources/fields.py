"""Fields and parameters that several operations share, and what every body and answer is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from palimpsest.api.resources.chat import LIKE_AN_ID
from palimpsest.clock import stamp
from palimpsest.conversations.configuration import MemoryConfig
from palimpsest.memory.records import Source

LONGEST_WAIT = 20  # seconds
DEFAULT_LIMIT = 50
STRATEGY = "strategy"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Json = dict[str, Any]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
NextCursor = Annotated[str | None, Field(description="Where the next page begins; null at the end")]

UserId = Annotated[str, Path(description="Id of the user", json_schema_extra=LIKE_AN_ID)]
SessionId = Annotated[str, Path(description="Id of the session", json_schema_extra=LIKE_AN_ID)]
Limit = Annotated[int, Query(ge=1, le=100, description="The most items on a page; a page of large items may hold less")]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the page before")]
Order = Annotated[Literal["asc", "desc"], Query(description="asc: oldest first; desc: newest first")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]

MaxTokens = Annotated[
    int, Field(ge=1, le=10_000_000, description="Budget of the context, in tokens; default: the session's")
]
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]


class Closed(BaseModel):
    """A body whose values are not converted, and which may hold only the fields that it names."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


def rfc3339(milliseconds: int) -> Moment:
    """A time, in epoch milliseconds, as RFC 3339 in UTC."""
    return stamp(EPOCH + timedelta(milliseconds=milliseconds))


def rfc3339_or_null(seconds: int | None) -> Moment | None:
    """A time, in epoch seconds, as RFC 3339 in UTC."""
    return None if seconds is None else rfc3339(seconds * 1000)


def provenance(source: Source) -> Provenance:
    return {"session_id": source.session, "message_ids": source.message_ids, "seqs": source.seqs, "quote": source.quote}


class Deleted(TypedDict):
    id: str
    deleted: Literal[True]


class WouldForget(TypedDict):
    """What a request to forget would delete now. Nothing is deleted."""

    dry_run: Literal[True]
    count: int
    ids: Sequence[str]
