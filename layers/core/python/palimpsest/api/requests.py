"""What callers may ask: the bodies of requests. Fields that nobody knows are refused, messages excepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from palimpsest.api.chat import ChatMessage, Given, Id, Metadata, System
from palimpsest.conversations.configuration import MemoryConfig
from palimpsest.conversations.messages import MAX_MESSAGES_PER_APPEND
from palimpsest.errors import FieldError, TooLarge
from palimpsest.tenants.ports import TenantSettings

LONGEST_WAIT = 20  # seconds

MaxTokens = Annotated[
    int, Field(ge=1, le=10_000_000, description="Budget of the context, in tokens; default: the session's")
]
Model = Annotated[
    str, Field(min_length=1, max_length=128, description="The model that will read it: its window is the budget")
]
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the job, 0 to 20")]


class _MemoryFields:
    """Some fields of a memory configuration: they are laid over what holds, and checked together with it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(handler_schema())


def handler_schema() -> CoreSchema:
    """The strategies as pydantic knows them."""
    from pydantic import TypeAdapter

    return TypeAdapter[Any](MemoryConfig).core_schema


MemoryFields = Annotated[Mapping[str, Any], _MemoryFields()]


def _few_enough(messages: Any) -> Any:
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES_PER_APPEND:
        error = FieldError("messages", f"{len(messages)} of at most {MAX_MESSAGES_PER_APPEND}")
        raise TooLarge("There are too many messages in one append.", code="too_many_messages", errors=(error,))
    return messages


class Closed(BaseModel):
    """A body that is what it says: nothing is converted, and a field that nobody knows is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SessionSetup(Closed):
    """PUT: what is not said goes back to the tenant's defaults."""

    user_id: Annotated[
        Id | None, Field(description="Whose session it is: begins the session if there is none, and can't change")
    ] = None
    agent_id: Annotated[Id | None, Field(description="Whose agent's session it is")] = None
    system: Annotated[System | None, Field(description="System message: text, or a system or developer message")] = None
    memory: Annotated[MemoryFields | None, Field(description="Fields over the tenant's defaults")] = None
    metadata: Metadata | None = None


class NewSession(SessionSetup):
    session_id: Annotated[Id | None, Field(description="Chosen by us if it is not given")] = None
    user_id: Id


class SessionChange(SessionSetup):
    """PATCH: what is said changes. `memory` merges field by field, `metadata` key by key; null removes."""


class ContextOptions(Closed):
    max_tokens: MaxTokens | None = None
    model: Model | None = None
    compact: Annotated[
        Literal["sync"] | None, Field(description="sync: fold what overflows first, waiting up to 20 s for it")
    ] = None
    explain: Annotated[bool, Field(description="Say why each part is there, and what was left out")] = False
    at: Annotated[int | None, Field(ge=1, description="The window as it stood after this message, alone")] = None


class ContextRequest(ContextOptions):
    message: Annotated[
        Given | None, Field(description="The user's message about to be sent, as text or message: weighed, not stored")
    ] = None


class AppendRequest(Closed):
    user_id: Annotated[Id | None, Field(description="Begins the session if it is not there")] = None
    agent_id: Id | None = None
    messages: Annotated[
        list[ChatMessage], BeforeValidator(_few_enough), Field(min_length=1, max_length=MAX_MESSAGES_PER_APPEND)
    ]
    context: Annotated[ContextOptions | None, Field(description="Give the context in the same answer")] = None
    allow_repeat: Annotated[bool, Field(description="Without a key: store even what equals the last append")] = False


class PruneRequest(Closed):
    strategy: Annotated[
        Literal["fifo", "summarize"], Field(description="fifo drops the oldest turns, summarize folds them")
    ]
    max_tokens: MaxTokens | None = None
    message: Given | None = None
    wait: WaitSeconds = 0


class ExtractRequest(Closed):
    if_needed: Annotated[bool, Field(description="Only if at least `max_buffer_turns` turns wait")] = False
    max_buffer_turns: Annotated[
        int | None, Field(ge=1, le=1_000, description="How many turns are enough; default: the session's own number")
    ] = None
    wait: WaitSeconds = 0


class ForgetSessionsRequest(Closed):
    """At least one limit: which sessions."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    user_id: Annotated[Id | None, Field(description="Only this user's")] = None
    agent_id: Annotated[Id | None, Field(description="Only this agent's")] = None
    status: Annotated[Literal["active", "ended"] | None, Field(description="Only those in this state")] = None
    keep_memories: Annotated[bool, Field(description="Leave every memory that came of them")] = False
    dry_run: Annotated[bool, Field(description="Only say which would be deleted")] = False
    wait: WaitSeconds = 0

    @model_validator(mode="after")
    def _limits_something(self) -> ForgetSessionsRequest:
        if (self.user_id, self.agent_id, self.status) == (None, None, None):
            raise ValueError("must hold at least one limit")
        return self


class NewTenantSettings(Closed):
    memory: Annotated[MemoryFields, Field(description="Fields over the built-in defaults")] = {}
    retention_days: Annotated[
        int | None, Field(ge=1, le=36_500, description="Days from the last activity; null = for ever")
    ] = TenantSettings().retention_days
    memory_days: Annotated[
        int | None,
        Field(
            ge=1, le=36_500, description="Days that facts, events and instructions are kept after they were last said"
        ),
    ] = TenantSettings().memory_days
