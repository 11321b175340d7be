"""The bodies and answers of the operations on messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

from palimpsest.api.answers import MATERIAL, Window
from palimpsest.api.fields import (
    NOT_BLANK,
    Closed,
    Json,
    MemoryFields,
    Moment,
    WaitSeconds,
    not_blank,
)
from palimpsest.api.pages import NextCursor
from palimpsest.api.resources.chat import ChatMessage, Id, Metadata
from palimpsest.api.resources.context.shapes import Context, ContextOptions
from palimpsest.conversations.drafts import MAX_MESSAGES_PER_APPEND
from palimpsest.errors import FieldError, TooLarge

IF_LAST = (
    "Only if this is the sequence number of the newest message (0: there is none); else 409 "
    "`history_moved_on`"
)


def _few_enough(messages: Any) -> Any:
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES_PER_APPEND:
        error = FieldError(
            "messages", f"has {len(messages)}; at most {MAX_MESSAGES_PER_APPEND} are allowed"
        )
        raise TooLarge(
            "There are too many messages in one append.", code="too_many_messages", errors=(error,)
        )
    return messages


Tokens = Annotated[int, Field(ge=0, le=100_000_000)]


class CallUsage(Closed):
    model: Annotated[
        str | None,
        Field(
            min_length=1, max_length=128, description="The cost of an unknown model is not counted"
        ),
    ] = None
    tokens_in: Annotated[Tokens, Field(description="The tokens of the whole prompt")]
    cached_tokens: Annotated[
        Tokens, Field(description="The part of `tokens_in` that a prompt cache served")
    ] = 0
    written_tokens: Annotated[
        Tokens, Field(description="The part of `tokens_in` that was written into a prompt cache")
    ] = 0
    tokens_out: Tokens = 0

    @model_validator(mode="after")
    def _are_parts(self) -> Self:
        if self.cached_tokens + self.written_tokens > self.tokens_in:
            raise ValueError("cached_tokens and written_tokens together exceed tokens_in")
        return self


class AppendRequest(Closed):
    user_id: Annotated[
        Id | None,
        Field(
            description="The user of the session. If the session does not exist, it is begun for "
            "this user"
        ),
    ] = None
    agent_id: Id | None = None
    memory: Annotated[
        MemoryFields | None,
        Field(
            description="Fields that override the tenant's defaults, if this append begins the "
            "session; they do not change an existing session"
        ),
    ] = None
    messages: Annotated[
        list[ChatMessage],
        BeforeValidator(_few_enough),
        Field(min_length=1, max_length=MAX_MESSAGES_PER_APPEND),
    ]
    context: Annotated[
        ContextOptions | None,
        Field(description="Add the context to the answer, with memories for the user's message"),
    ] = None
    allow_repeat: Annotated[
        bool,
        Field(description="Without a key: store the messages even if they equal the last append"),
    ] = False
    if_last: Annotated[int | None, Field(ge=0, description=IF_LAST)] = None
    usage: Annotated[
        CallUsage | None,
        Field(description="The usage of the model call that made these messages, for GET usage"),
    ] = None


class Redaction(Closed):
    content: Annotated[
        str,
        Field(
            max_length=100_000,
            json_schema_extra=NOT_BLANK,
            description="The text that replaces the old text",
        ),
    ]
    metadata: Annotated[
        Metadata | None,
        Field(description="New metadata; if this is left out, the old metadata stay"),
    ] = None
    wait: WaitSeconds = 0

    @field_validator("content")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        return not_blank(value)


class AppendedMessage(TypedDict):
    id: Annotated[str, Field(description="Running digest: equal histories have equal ids")]
    seq: int
    tokens: int


class Overflow(TypedDict):
    strategy: str
    state: Literal["done", "pending"]
    job_id: str | None


class Appended(TypedDict):
    session_id: str
    created: bool
    messages: list[AppendedMessage]
    window: Window
    overflow: Overflow | None
    replayed: Annotated[
        bool,
        Field(
            description="True if this append was already stored; the answer is then its first "
            "result"
        ),
    ]
    context: NotRequired[
        Annotated[
            Context | None,
            Field(description="The context, if it was asked for; null if it could not be read"),
        ]
    ]
    degraded: NotRequired[list[str]]


@with_config(ConfigDict(extra="allow"))
class HistoryMessage(TypedDict):
    """A message as it was sent, unknown fields included, and the fields that the service adds."""

    id: str
    seq: int
    role: Literal["system", "developer", "user", "assistant", "tool", "item"]
    content: NotRequired[str | list[Json] | None]
    name: NotRequired[str | None]
    refusal: NotRequired[str | None]
    tool_calls: NotRequired[list[Json] | None]
    tool_call_id: NotRequired[str | None]
    item: NotRequired[Annotated[Json | None, Field(description="For the role item: its content")]]
    tokens: int
    timestamp: Annotated[
        Moment | None, Field(description="When it was sent, by the caller's clock")
    ]
    created_at: Moment
    client_id: NotRequired[Annotated[str | None, Field(description="The id that it was sent with")]]
    metadata: Mapping[str, Any]
    content_url: NotRequired[
        Annotated[
            str,
            Field(
                description="For a message that is too large for an answer: where its `chat`, "
                "`extra` and `metadata` can be read as JSON, for 15 minutes. `content` then has "
                "only its beginning and end"
            ),
        ]
    ]
    redacted_at: NotRequired[Annotated[Moment, Field(description="When its content was replaced")]]
    off_record: NotRequired[
        Annotated[
            bool,
            Field(description="True if only this session sees it, and nothing of it is remembered"),
        ]
    ]
    hidden: NotRequired[
        Annotated[
            Literal[True],
            Field(
                description="True if only this session sees some of its words, because a memory "
                "that was made from them was deleted, or because they give a secret that was "
                "asked for just before"
            ),
        ]
    ]
    material: NotRequired[Annotated[Literal[True], Field(description=MATERIAL)]]


class MessagePage(TypedDict):
    messages: list[HistoryMessage]
    next_cursor: NextCursor


class WindowEmptied(TypedDict):
    session_id: str
    window: Window
