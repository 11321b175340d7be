"""A stored message as plain data. Its id is a digest of the conversation up to and including the
message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Chat = Mapping[str, Any]
"""One message in the form of the chat API: role, content, name, tool_calls, tool_call_id, refusal.
It has no nulls.
"""

SYSTEM_ROLES = frozenset({"system", "developer"})

ITEM = "item"
"""The role of an item that is not a message of the chat API, such as a model's reasoning. The
history keeps items.
"""

UNSHOWN_ROLES = SYSTEM_ROLES | {ITEM}
"""The roles of messages that are never in a window."""

SPOKEN_ROLES = ("user", "assistant")

CHAT_FIELDS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "refusal", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}

DIGESTED = ("role", "content", "name", "tool_calls", "tool_call_id", "item")

MAX_MESSAGE_BYTES = (
    380_000  # an item holds 400 KB (DynamoDB), and the message's own attributes need some
)

OFF_RECORD = "off_record"
"""The field that marks a message as off the record, so that nothing of it is remembered."""

MAX_CALL_ID = 40  # characters of a call's id that every chat API takes: OpenAI refuses longer ones


@dataclass(frozen=True, slots=True)
class Large:
    """The place of a large message's whole content: the key of its blob, the blob's SHA-256, and
    its size in bytes.
    """

    key: str
    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `seq` orders the session, `id` is a running digest, and `turn` counts the
    user messages so far.

    `tokens` is the weight of the message in a context, counted once with `encoding`; it includes
    the overhead of the format. If `large` is set, the message is too large for its item. `chat`
    then has the beginning and end of its texts, and names its images and files;
    `contents.Contents.whole` reads the whole message.

    `redacted_at` is the time when its content was replaced; `id` is still that of the first
    content. With `is_outside`, the caller keeps the history. The item then only names the message
    (`named_only`), and `id` is the digest of this message alone. `hidden` has the ranges of its
    text that a deleted memory came from, or that give a secret which the message before asked for.
    Only the message's own session sees these words.
    `is_material` is set when the session is extracted, if other messages show that the words are
    no testimony of their speaker, although the message alone does not.
    """

    seq: int
    id: str
    turn: int
    tokens: int
    encoding: str
    chat: Chat
    created_at: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    client_id: str | None = None
    timestamp: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    large: Large | None = None
    redacted_at: str | None = None
    is_outside: bool = False
    hidden: tuple[tuple[int, int], ...] = ()
    is_material: bool = False

    @property
    def role(self) -> str:
        return str(self.chat["role"])

    @property
    def is_off_record(self) -> bool:
        """Whether the message is marked as off the record, so that only its own session may see
        it.
        """
        return self.extra.get(OFF_RECORD) is True


def message_key(session: str, seq: int) -> str:
    return f"{session}/{seq}"


def message_of(key: str) -> tuple[str, int] | None:
    """Return the session and the sequence number that a message's key names; None if the key is a
    record's id.
    """
    session, slash, seq = key.rpartition("/")
    return (session, int(seq)) if slash and seq.isdigit() else None


def call_ids(chat: Chat) -> tuple[str, ...]:
    return tuple(call["id"] for call in chat.get("tool_calls") or ())


def short_call_id(call_id: str) -> str:
    """Return the id that contexts show for a call and its result. It is the call's id or, if that
    is too long, a digest.
    """
    return call_id if len(call_id) <= MAX_CALL_ID else digested_call_id(call_id)


def digested_call_id(call_id: str) -> str:
    """Return a digest of a call's id, in characters that every API accepts."""
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def answered_call(call_id: str, waiting: Sequence[str]) -> str | None:
    """Return the call among `waiting` that a result with the id `call_id` answers; None if there is
    none. Callers may send the call's own id, or the id that a context shows.
    """
    if call_id in waiting:
        return call_id
    short = short_call_id(call_id)
    shown = (
        waiting_id
        for waiting_id in waiting
        if short in (waiting_id, short_call_id(waiting_id), digested_call_id(waiting_id))
    )
    return next(shown, None)


def text_of(chat: Chat) -> str:
    """Return the readable text of a message's content. The texts of its parts are joined by new
    lines.
    """
    content = chat.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def digest(chat: Chat, *, session: str, before: str) -> str:
    """Return the running digest that is a message's id. Two messages have the same id only if their
    histories are equal.
    """
    fields = {name: chat[name] for name in DIGESTED if name in chat}
    text = json.dumps([session, before, fields], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def named_only(message: Message, large: Large) -> Message:
    """Return the stored form of a message that is extracted but not kept. It has the message's
    role, ids and times, but no text. No window shows it.
    """
    chat = {"role": ITEM, "item": {"type": "outside", "role": message.role}}
    return replace(message, chat=chat, extra={}, metadata={}, large=large, is_outside=True)


def size_of(*values: Any) -> int:
    """Return the bytes of the values as JSON."""
    return len(json.dumps(values, default=dict, ensure_ascii=False).encode())
