"""The forms of the lines of a session: its head and settings, and the lines that follow them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    InstanceOf,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from palimpsest.clock import LATEST
from palimpsest.conversations.allowed import check_room
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.drafts import MAX_CALL_BYTES
from palimpsest.conversations.lifecycle import DAY
from palimpsest.conversations.message import (
    CHAT_FIELDS,
    ITEM,
    MAX_MESSAGE_BYTES,
    SYSTEM_ROLES,
    Message,
    size_of,
)
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.errors import Unprocessable
from palimpsest.memory.ports import Progress
from palimpsest.scope import checked_id
from palimpsest.transfer.agreement import require
from palimpsest.transfer.line_forms import (
    MOST_MESSAGES,
    SLACK,
    ItemLine,
    Line,
    SessionId,
    check_size,
    moment_of,
    now_of,
)
from palimpsest.transfer.lines import Row, fault_of, read

MOST_DAYS = 36_500
MOST_BESIDE = 256  # characters of a message's id and time as its caller gave them
ANYBODY = "somebody"  # in place of the user, whom the import sets


class _Part(TypedDict):
    type: str


class _NamedCall(TypedDict):
    name: str


class _Call(TypedDict, total=False):
    id: str
    type: str
    function: _NamedCall
    custom: _NamedCall


class _Chat(TypedDict, total=False):
    """The fields of a stored message that this service reads."""

    content: str | list[_Part] | None
    refusal: str | None
    name: str
    tool_calls: list[_Call]
    tool_call_id: str


CHAT: TypeAdapter[Any] = TypeAdapter(_Chat)


def _check_chat(chat: Mapping[str, Any], name: str) -> None:
    try:
        CHAT.validate_python(chat)
    except ValidationError as error:
        raise Unprocessable(f"{name}: {fault_of(error)}") from error


class SessionLine(Line):
    kind: Literal["session"]
    session_id: SessionId
    head: Annotated[InstanceOf[Head], BeforeValidator(partial(read, Head, user=ANYBODY))]
    settings: Annotated[
        InstanceOf[Settings], BeforeValidator(partial(read, Settings, user=ANYBODY))
    ]

    @field_validator("head")
    @classmethod
    def _has_numbers_of_its_messages(cls, head: Head) -> Head:
        numbers = [value for value in astuple(head) if isinstance(value, int)]
        require(min(numbers) >= 0, "head: a number is negative")
        require(max(numbers) <= LATEST, "head: a number is too large")
        before_window = (head.base, head.window_start - 1, head.cleared, head.summary)
        newest = max(*before_window, head.last_user_seq, head.outside, head.armed_seq)
        require(
            newest <= head.seq < MOST_MESSAGES, "head: a number is above that of the newest message"
        )
        require(head.status != "deleted", "head: an export has no deleted sessions")
        return head

    @field_validator("settings")
    @classmethod
    def _can_be_configured(cls, settings: Settings) -> Settings:
        if settings.system is not None:
            role = settings.system.get("role")
            require(role in SYSTEM_ROLES, "settings: system is not a system message")
            _check_chat(settings.system, "settings: system")
        check_room(system=settings.system, memory=[settings.memory, settings.metadata])
        parsed(dict(settings.memory))
        days = settings.retention
        is_term = days is None or 0 <= days <= MOST_DAYS
        require(is_term, f"settings: retention is from 0 to {MOST_DAYS} days")
        return settings

    @model_validator(mode="after")
    def _agrees(self, info: ValidationInfo) -> SessionLine:
        head, settings = self.head, self.settings
        require(head.agent == settings.agent, "head and settings name different agents")
        if head.agent is not None:
            checked_id(head.agent, field="agent")
        days = settings.retention
        wanted = head.retention if days is None else days * DAY or None
        is_kept = head.retention == wanted and head.retention != 0
        require(is_kept, "head: retention is not what its settings say")
        now = now_of(info)
        begun = moment_of(settings.created_at, "settings: created_at", now=now)
        is_updated = begun - SLACK <= head.updated_at <= now + SLACK
        require(is_updated, "head: updated_at is not a time of the session")
        is_of_it = settings.system_seq <= head.seq
        require(is_of_it, "settings: system_seq is not a message of the session")
        return self


class PartLine(ItemLine):
    """A line that follows the line of its session."""

    session_id: str

    @model_validator(mode="before")
    @classmethod
    def _fits(cls, row: Row) -> Row:
        if cls.HOLDS is not Message:  # the size of a message has the limit of calls
            check_size(row)
        return row


class ProgressLine(PartLine):
    HOLDS, OWN = Progress, {"session": ""}

    kind: Literal["progress"]
    held: InstanceOf[Progress]


class CompactionLine(PartLine):
    HOLDS = Compaction

    kind: Literal["compaction"]
    held: InstanceOf[Compaction]

    @field_validator("held")
    @classmethod
    def _was_made(cls, made: Compaction, info: ValidationInfo) -> Compaction:
        weights = (made.tokens_before, made.tokens_after, made.summary_tokens)
        require(
            min(weights) >= 0 and max(weights) <= LATEST,
            "a number of tokens is negative or too large",
        )
        moment_of(made.created_at, "created_at", now=now_of(info))
        return made


class MessageLine(PartLine):
    HOLDS = Message

    kind: Literal["message"]
    held: InstanceOf[Message]

    @field_validator("held")
    @classmethod
    def _was_said(cls, message: Message, info: ValidationInfo) -> Message:
        role = message.chat.get("role")
        is_weighed = 0 <= message.tokens <= MAX_CALL_BYTES and message.turn >= 0
        is_answer = role != "tool" or "tool_call_id" in message.chat
        is_sound = role in {*CHAT_FIELDS, ITEM} and is_answer and is_weighed
        require(is_sound, "its role, turn or number of tokens is not valid")
        _check_chat(message.chat, "chat")
        most = MAX_MESSAGE_BYTES if role in SYSTEM_ROLES else MAX_CALL_BYTES
        size = size_of(message.chat, message.extra, message.metadata)
        require(size <= most, f"it has more than {most} bytes")
        beside = (message.client_id, message.timestamp, message.redacted_at)
        longest = max(len(text or "") for text in beside)
        require(longest <= MOST_BESIDE, f"a field has more than {MOST_BESIDE} characters")
        now = now_of(info)
        moment_of(message.created_at, "created_at", now=now)
        if message.redacted_at is not None:
            moment_of(message.redacted_at, "redacted_at", now=now)
        return message
