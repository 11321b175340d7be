"""Conversations: messages as plain data, their digests and token weights, and what was really said in them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from palimpsest.text.cutting import Count

Chat = Mapping[str, Any]
"""One message as the chat API takes it: role, content, name, tool_calls, tool_call_id, refusal; no nulls."""

SYSTEM_ROLES = frozenset({"system", "developer"})
ITEM = "item"
"""The role of what the chat API has no message for, such as a model's reasoning. The history keeps it."""
UNSHOWN_ROLES = SYSTEM_ROLES | {ITEM}
"""Roles of messages that are no part of a window."""
SPOKEN_ROLES = ("user", "assistant")
CHAT_FIELDS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "refusal", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}
DIGESTED = ("role", "content", "name", "tool_calls", "tool_call_id", "item")
MAX_MESSAGE_BYTES = 380_000  # an item holds 400 KB (DynamoDB), and the message's own attributes need some
MAX_TOOL_TEXT = 2_000  # characters of a tool's output: its beginning says what it is about
MAX_CALL_TEXT = 200  # characters of each call
MAX_CALL_ID = 40  # characters of a call's id that every chat API takes: OpenAI refuses longer ones

MESSAGE_OVERHEAD = 3  # tokens around each message in the chat format (OpenAI cookbook, "How to count tokens")
REPLY_PRIMING = 3  # tokens that open the model's reply (same source)
IMAGE_TOKENS = 765  # a 1024 x 1024 image at high detail (OpenAI's vision guide): parts that are not text weigh this
SUMMARY_PREFIX = "CONVERSATION SUMMARY: "
QUOTED = "[quoted] "
"""What stands before a user's own text that would look like a summary of ours."""
SEARCH_TOOL, SUMMARY_TOOL, MEMORY_TOOL = "search_memory_tool", "memory_compress", "memory_recall"
REMEMBER_TOOL, FORGET_TOOL = "remember", "forget"
_OWN_TOOL = re.compile(
    rf"(?:.*(?:{SEARCH_TOOL}|{SUMMARY_TOOL}|{MEMORY_TOOL})|(?:.*__)?(?:{REMEMBER_TOOL}|{FORGET_TOOL}))", re.DOTALL
)
"""Our own tools: what they are asked and what they answer is not remembered."""

_EPOCH = re.compile(r"\d{10}(?:\d{3})?")
_LIKE_A_SUMMARY = re.compile(rf"\s*{SUMMARY_PREFIX.strip()}", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+)*")
# What was recalled and is fed back: our own renderings, wherever they stand in a text.
_RECALLED = re.compile(
    r"<memory>.*?(?:</memory>|\Z)"
    r"|(?:^[ \t>]*\[User Memory\][^\n]*|\[User Memory\][ \t:]*(?=\n[ \t>]*[-*\u2022]))"
    r"(?:\n[ \t>]*[-*\u2022][^\n]*|\n[ \t]+\S[^\n]*)*"
    r"|^\[Previous Conversation Summary\].*?(?:\[End of Summary\]|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Large:
    """Where the whole of a large message is: the key of its blob, the blob's SHA-256, and how many bytes it has."""

    key: str
    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `seq` orders the session, `id` is a running digest, `turn` counts user messages so far.

    `tokens` is its whole weight in a context (format overhead included), counted once with `encoding`. With `large` its
    item can't hold it: then `chat` has beginning and end of its texts, and names its images and files
    (`contents.Contents.whole` reads all of it). If its content was replaced
    since, `redacted_at` says when, and `id` is still that of the first content. With `is_outside` its caller keeps
    the history: the item names it (`named_only`), and `id` is the digest of this message alone.
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

    @property
    def role(self) -> str:
        return str(self.chat["role"])


def message_key(session: str, seq: int) -> str:
    return f"{session}/{seq}"


def message_of(key: str) -> tuple[str, int] | None:
    """Session and sequence number that a key names; None if it is a record's id."""
    session, slash, seq = key.rpartition("/")
    return (session, int(seq)) if slash and seq.isdigit() else None


def call_ids(chat: Chat) -> tuple[str, ...]:
    return tuple(call["id"] for call in chat.get("tool_calls") or ())


def short_call_id(call_id: str) -> str:
    """The id that contexts show for a call and its result: the id itself, or its digest if it is too long."""
    return call_id if len(call_id) <= MAX_CALL_ID else digested_call_id(call_id)


def digested_call_id(call_id: str) -> str:
    """A digest of a call's id in characters that every API takes."""
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def answered_call(call_id: str, waiting: Sequence[str]) -> str | None:
    """The call among those `waiting` that a result with this id answers; None if it answers none. A caller may give the
    id of the call itself, or the id that a context shows.
    """
    if call_id in waiting:
        return call_id
    short = short_call_id(call_id)
    shown = (each for each in waiting if short in (each, short_call_id(each), digested_call_id(each)))
    return next(shown, None)


def unlike_a_summary(content: Any) -> Any:
    """A content, text or parts, that does not begin as our summaries do."""
    if isinstance(content, str):
        return QUOTED + content if _LIKE_A_SUMMARY.match(content) else content
    (first, *rest) = content
    return [{**first, "text": unlike_a_summary(first["text"])}, *rest] if "text" in first else content


def name_of(role: str, *, user: str) -> str:
    """How a reader names who spoke: the user by an id that is a name (`sarah`: Sarah), everybody else by the role."""
    name = user if role == "user" and _NAME.fullmatch(user) else role
    return re.sub("[._-]", " ", name).title()


def line_of(text: str, *, who: str | None, day: str | None) -> str:
    """One line of what is remembered: who said it in their own words, None for the third person, and on which day."""
    if who is None:
        return f"{text} ({day})" if day else text
    return ", ".join(filter(None, (who, day))) + f": {text}"


def text_of(chat: Chat) -> str:
    """The readable text of a message's content, its parts joined by new lines."""
    content = chat.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def weigh(chat: Chat, count: Count) -> int:
    """Tokens that a message takes in a context: content, name, tool calls with arguments, the chat format's overhead.
    An id of a call weighs what a context shows of it (`short_call_id`).

    The overhead follows OpenAI's cookbook for text; a part that is no text weighs `IMAGE_TOKENS`. An item, which no
    context shows, weighs nothing.
    """
    if chat["role"] == ITEM:
        return 0
    content = chat.get("content")
    tokens = MESSAGE_OVERHEAD + count(str(chat["role"]))
    if isinstance(content, str):
        tokens += count(content)
    else:
        tokens += sum(
            count(part["text"]) if isinstance(part.get("text"), str) else IMAGE_TOKENS for part in content or ()
        )
    if "name" in chat:
        tokens += 1 + count(str(chat["name"]))
    if "refusal" in chat:
        tokens += count(str(chat["refusal"]))
    if "tool_call_id" in chat:
        tokens += 1 + count(short_call_id(str(chat["tool_call_id"])))
    return tokens + sum(_weigh_call(call, count) for call in chat.get("tool_calls") or ())


def _weigh_call(call: Mapping[str, Any], count: Count) -> int:
    inner = call.get(str(call.get("type", "function"))) or {}
    texts = (short_call_id(call["id"]), inner.get("name", ""), inner.get("arguments", inner.get("input", "")))
    return MESSAGE_OVERHEAD + sum(count(str(text)) for text in texts)


def digest(chat: Chat, *, session: str, before: str) -> str:
    """The running digest that is a message's id: equal histories have equal ids, and nothing else has."""
    said = {name: chat[name] for name in DIGESTED if name in chat}
    text = json.dumps([session, before, said], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def named_only(message: Message, large: Large) -> Message:
    """The stored form of a message that is extracted but not kept: its role, ids and times, without its text. No window
    shows it.
    """
    chat = {"role": ITEM, "item": {"type": "outside", "role": message.role}}
    return replace(message, chat=chat, extra={}, metadata={}, large=large, is_outside=True)


def size_of(*values: Any) -> int:
    """Bytes of the values as JSON."""
    return len(json.dumps(values, default=dict, ensure_ascii=False).encode())


def weighed_in(message: Message, *, encoding: str, count: Count) -> Message:
    """The message with its tokens in `encoding`; they are counted again only if they were counted in another."""
    if message.encoding == encoding:
        return message
    return replace(message, tokens=weigh(message.chat, count), encoding=encoding)


def called(call: Mapping[str, Any]) -> tuple[str, str]:
    """Name and arguments of a call: JSON text for a function, free text for a custom tool."""
    inner = call.get(str(call.get("type", "function"))) or {}
    return str(inner.get("name", "")), str(inner.get("arguments", inner.get("input", "")))


def calls_own_tool(call: Mapping[str, Any]) -> bool:
    """Whether the call is of one of our own tools, also under a name with a prefix, as MCP clients write it."""
    return _OWN_TOOL.fullmatch(called(call)[0]) is not None


def answers_own_tool(message: Message, earlier: Sequence[Message]) -> bool:
    """Whether a tool's message answers a call of our own tools, which stands in one of the messages before it."""
    if message.role != "tool":
        return False
    calls = (call for each in reversed(earlier) for call in each.chat.get("tool_calls") or ())
    answering = short_call_id(message.chat.get("tool_call_id", ""))
    answered = (call for call in calls if short_call_id(call["id"]) == answering)
    return any(map(calls_own_tool, list(answered)[:1]))


def spoken(message: Message) -> Message:
    """The message as text alone, without memories that were recalled into it and without calls of our own tools."""
    chat = {**message.chat, "content": without_recalled(text_of(message.chat))}
    if "tool_calls" in chat:
        chat["tool_calls"] = [call for call in chat["tool_calls"] or () if not calls_own_tool(call)]
    return replace(message, chat=chat)


def spoken_text(message: Message) -> str:
    """The text of a message without memories that were recalled into it: the beginning of a tool's output, nothing of a
    system message or of a call of our own tools.
    """
    if message.role in SYSTEM_ROLES:
        return ""
    said = spoken(message).chat
    text = text_of(said).strip()
    if message.role == "tool":
        return text[:MAX_TOOL_TEXT]
    calls = (" ".join(called(call))[:MAX_CALL_TEXT] for call in said.get("tool_calls") or ())
    return "\n".join(filter(None, (text, *calls)))


def without_recalled(text: str) -> str:
    """The text without our own renderings of memories, and nothing of a summary."""
    return "" if text.removeprefix(QUOTED).startswith(SUMMARY_PREFIX) else _RECALLED.sub("\n", text)


def said_at(message: Message) -> datetime:
    """When a message was spoken: the client's timestamp in its own zone, but never later than the server's time."""
    stored = datetime.fromisoformat(message.created_at)
    sent = _moment(message.timestamp)
    return sent if sent is not None and sent <= stored else stored


def _moment(timestamp: str | None) -> datetime | None:
    """A timestamp as a client sent it: RFC 3339, or epoch seconds or milliseconds; None if it is neither."""
    if not timestamp:
        return None
    text = timestamp.strip()
    try:
        if _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(int(text) / (1000 if len(text) > 10 else 1), UTC)  # noqa: PLR2004
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware if aware.timestamp() >= 0 else None
    except (ValueError, OverflowError):
        return None
