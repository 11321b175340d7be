"""The operations on the messages of a session. They append messages, read the history, empty the
window, and withdraw or redact messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from http import HTTPStatus
from typing import Annotated, Any, Literal, NotRequired, Self, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

from palimpsest.api.answers import Window, answered, window
from palimpsest.api.call import Call, Service
from palimpsest.api.encoding import dumps, size_in_answer
from palimpsest.api.fields import (
    NOT_BLANK,
    Closed,
    Json,
    MemoryFields,
    Moment,
    SessionId,
    Wait,
    WaitSeconds,
    not_blank,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import (
    DEFAULT_LIMIT,
    Cursor,
    Limit,
    NextCursor,
    Order,
    after_number,
    paged,
)
from palimpsest.api.problems import naming
from palimpsest.api.resources.chat import ChatMessage, Id, Metadata
from palimpsest.api.resources.context import Context, ContextOptions, answered_with_context
from palimpsest.api.resources.jobs import awaited
from palimpsest.conversations.append import AppendResult
from palimpsest.conversations.drafts import MAX_MESSAGES_PER_APPEND, Draft
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.shortened import left
from palimpsest.errors import FieldError, TooLarge
from palimpsest.models.reported import ReportedCall

operation = operations_on("messages", function="sessions")

MOST_ROW = 5_900_000  # bytes of one message in an answer: Lambda carries 6 MB


Seq = Annotated[int, Path(ge=1, lt=10**12, description="Sequence number of the message")]
MOST_READ = 4_000  # characters of a message, to tell whether it is material
IF_LAST = (
    "Only if this is the sequence number of the newest message (0: there is none); else 409 "
    "`history_moved_on`"
)


def _few_enough(messages: Any) -> Any:
    if isinstance(messages, list) and len(messages) > MAX_MESSAGES_PER_APPEND:
        error = FieldError("messages", f"{len(messages)} of at most {MAX_MESSAGES_PER_APPEND}")
        raise TooLarge(
            "There are too many messages in one append.", code="too_many_messages", errors=(error,)
        )
    return messages


Tokens = Annotated[int, Field(ge=0, le=100_000_000)]


class CallUsage(Closed):
    model: Annotated[
        str | None, Field(min_length=1, max_length=128, description="Unknown models have no cost")
    ] = None
    tokens_in: Annotated[Tokens, Field(description="All of the prompt")]
    cached_tokens: Annotated[
        Tokens, Field(description="Of `tokens_in`: what a prompt cache served")
    ] = 0
    written_tokens: Annotated[
        Tokens, Field(description="Of `tokens_in`: what was written into a prompt cache")
    ] = 0
    tokens_out: Tokens = 0

    @model_validator(mode="after")
    def _are_parts(self) -> Self:
        if self.cached_tokens + self.written_tokens > self.tokens_in:
            raise ValueError("cached_tokens and written_tokens are parts of tokens_in")
        return self


class AppendRequest(Closed):
    user_id: Annotated[
        Id | None, Field(description="Whose session it is. Begins the session if there is none")
    ] = None
    agent_id: Id | None = None
    memory: Annotated[
        MemoryFields | None,
        Field(
            description="Fields over the tenant's defaults, for a session that this append begins;"
            " they change none that exists"
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
        Field(description="What the model call that made these messages used, for GET usage"),
    ] = None


class Redaction(Closed):
    content: Annotated[
        str,
        Field(
            max_length=100_000,
            json_schema_extra=NOT_BLANK,
            description="The text in place of the old one",
        ),
    ]
    metadata: Annotated[
        Metadata | None, Field(description="In place of the old ones; without it they stay")
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
        bool, Field(description="This append had been stored before; this is its first result")
    ]
    context: NotRequired[
        Annotated[Context | None, Field(description="If asked for; null if it could not be read")]
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
    item: NotRequired[Annotated[Json | None, Field(description="Of the role item: what it holds")]]
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
                description="Of a message that no answer can carry: where `chat`, `extra` and "
                "`metadata` can be read "
                "for 15 minutes, as JSON; `content` has its beginning and end"
            ),
        ]
    ]
    redacted_at: NotRequired[Annotated[Moment, Field(description="When its content was replaced")]]
    off_record: NotRequired[
        Annotated[bool, Field(description="Only this session sees it; nothing is remembered of it")]
    ]
    hidden: NotRequired[
        Annotated[
            Literal[True],
            Field(
                description="Only this session sees some of its words, because a memory that "
                "rested on them was deleted"
            ),
        ]
    ]
    material: NotRequired[
        Annotated[
            Literal[True],
            Field(
                description="A user's message that is mostly a pasted, quoted or invented text: "
                "not what the user says of themselves"
            ),
        ]
    ]


class MessagePage(TypedDict):
    messages: list[HistoryMessage]
    next_cursor: NextCursor


class WindowEmptied(TypedDict):
    session_id: str
    window: Window


@operation("POST /v1/sessions/{session_id}/messages", answers={201: "Appended"})
def append_messages(
    service: Service, call: Call, *, session_id: SessionId, body: AppendRequest
) -> Appended | Response[str]:
    """Append messages.

    Store 1 to 50 messages at the end of the session: all of them, once and in order, or none. If an
    answer was lost, repeat the request with the same Idempotency-Key, or with ids on all messages;
    it returns the first result. If an assistant makes calls in several messages in a row, they are
    stored as one message, as the chat API requires.
    """
    if body.context is not None:
        call.caller.require("read")
    scope = call.session(session_id)
    said = (draft.chat for draft in reversed(body.messages) if draft.chat["role"] == "user")
    newest = next(said, None)
    ahead = None if body.context is None else service.context.ahead(scope, newest=newest)
    with naming("memory") if body.memory else nullcontext():
        done = service.append(
            scope,
            body.messages,
            user=body.user_id,
            agent=body.agent_id,
            key=call.key,
            allow_repeat=body.allow_repeat,
            if_last=body.if_last,
            memory=body.memory,
            opens=ahead,
        )
    if body.usage is not None and not done.replayed:
        user = scope.owner.user(done.head.user)
        service.count_reported(user, ReportedCall(**body.usage.model_dump()))
    answer = _appended(session_id, done)
    if body.context is not None:
        return answered_with_context(
            service,
            call,
            answer,
            scope,
            body.context,
            newest=newest,
            ahead=ahead,
            head=done.head,
            status=HTTPStatus.CREATED,
        )
    return answer


@operation("GET /v1/sessions/{session_id}/messages", answers={200: "MessagePage"}, refuses=(413,))
def read_history(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "asc",
) -> Response[str]:
    """Read the history.

    Return every message of the session, word for word, including messages that have left the
    window.
    """
    scope = call.session(session_id)
    listed = (scope.partition, "messages", order)
    page, after = service.history.messages(
        scope, limit=limit, after=after_number(cursor, *listed), newest_first=order == "desc"
    )
    rows = ((carried(service, message), message.seq) for message in page)
    return paged("messages", rows, listed=listed, after=after)


@operation("GET /v1/sessions/{session_id}/messages/{seq}", answers={200: "HistoryMessage"})
def read_message(service: Service, call: Call, *, session_id: SessionId, seq: Seq) -> Response[str]:
    """Read a message.

    Return one message of the history, word for word.
    """
    return answered(
        carried(service, service.history.message(call.session(session_id), seq)),
        most=MOST_ROW,
        shows=call.shows,
    )


@operation(
    "DELETE /v1/sessions/{session_id}/messages",
    answers={200: "WindowEmptied | JobDone", 202: "JobPending"},
    refuses=(409,),
)
def remove_messages(
    service: Service,
    call: Call,
    *,
    session_id: SessionId,
    first: Annotated[
        int | None, Query(alias="from", ge=1, description="Withdraw from this sequence number on")
    ] = None,
    if_last: Annotated[int | None, Query(ge=0, description=f"With `from`: {IF_LAST}")] = None,
    wait: Wait = 0,
) -> WindowEmptied | Response[str]:
    """Empty the window, or withdraw messages.

    Without `from`, the window is emptied and the history stays. With `from`, all messages from that
    sequence number on are withdrawn at once from window, summaries and history, and a job deletes
    them. A session without messages stays as it is.
    """
    scope = call.session(session_id)
    if first is None:
        head = service.history.empty(scope)
        return {"session_id": session_id, "window": window(head)}
    head, job_id = service.history.withdraw(scope, first=first, if_last=if_last)
    if job_id is None:
        return {"session_id": session_id, "window": window(head)}
    return awaited(
        service, call, job_id, wait=wait, beside={"session_id": session_id, "window": window(head)}
    )


@operation(
    "PATCH /v1/sessions/{session_id}/messages/{seq}", answers={200: "JobDone", 202: "JobPending"}
)
def redact_message(
    service: Service, call: Call, *, session_id: SessionId, seq: Seq, body: Redaction
) -> Response[str]:
    """Redact a message.

    Replace the text of a message. Its place, role and id stay. Its refusal, unknown fields and the
    arguments of its calls are removed. From this answer on, no read of the session shows the old
    text. A job removes the summaries and memories that were made of it, and has a receipt of that.
    The job is done once the search index does not have the old text either.
    """
    scope = call.session(session_id)
    draft = Draft({"role": "user", "content": body.content})
    (kept,) = service.append.admitted(scope.owner, [draft])
    content = text_of(kept.chat)
    head, job_id = service.redact(scope, seq, content=content, metadata=body.metadata)
    return awaited(
        service,
        call,
        job_id,
        wait=body.wait,
        beside={"session_id": session_id, "window": window(head)},
    )


def _appended(session_id: str, done: AppendResult) -> Appended:
    happened = done.overflow
    return {
        "session_id": session_id,
        "created": done.created,
        "messages": [
            {"id": message.id, "seq": message.seq, "tokens": message.tokens}
            for message in done.messages
        ],
        "window": window(done.head),
        "overflow": None
        if happened is None
        else {"strategy": happened.strategy, "state": happened.state, "job_id": happened.job_id},
        "replayed": done.replayed,
    }


def carried(service: Service, stored: Message) -> HistoryMessage:
    """Return the message. If it is too large for any answer, return it shortened, with the address
    at which the whole message can be read.
    """
    row = shown_message(stored)
    if stored.large is None or size_in_answer(dumps(row)) <= MOST_ROW:
        return row
    return {
        **shown_message(left(stored, stored.large)),
        "content_url": service.history.address(stored),
    }


def shown_message(stored: Message) -> HistoryMessage:
    row = {
        **stored.chat,
        **stored.extra,
        "id": stored.id,
        "seq": stored.seq,
        "tokens": stored.tokens,
        "timestamp": stored.timestamp,
        "created_at": stored.created_at,
        "metadata": stored.metadata,
    }
    row |= {} if stored.client_id is None else {"client_id": stored.client_id}
    row |= {"hidden": True} if stored.hidden else {}
    row |= {"material": True} if _is_material(stored) else {}
    return cast(
        HistoryMessage,
        row if stored.redacted_at is None else {**row, "redacted_at": stored.redacted_at},
    )


def _is_material(stored: Message) -> bool:
    """Return whether the beginning of a user's message is material, not the user's own statement.
    Only the beginning is tested, because long texts take long to read.
    """
    if stored.role != "user":
        return False
    from palimpsest.extraction.testimony.shown import is_material  # only histories need its rules

    return is_material(text_of(stored.chat)[:MOST_READ], user=None)
