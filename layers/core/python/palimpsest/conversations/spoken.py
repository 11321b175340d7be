"""The words that a person or model really said in a message, and the time at which they said them.
Memories that were recalled into the message are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from palimpsest.conversations.message import SYSTEM_ROLES, Chat, Message, text_of
from palimpsest.conversations.own_tools import called, calls_own_tool
from palimpsest.privacy.secrets import masked
from palimpsest.privacy.wishes import wish_of

MAX_TOOL_TEXT = 2_000  # characters of a tool's output; its beginning shows what it is about

MAX_CALL_TEXT = 200  # characters of each call

GAP = "\n"
"""The text that replaces hidden words."""

SUMMARY_PREFIX = "CONVERSATION SUMMARY: "

QUOTED = "[quoted] "
"""The prefix for a user's own text that would otherwise look like a summary of this service."""

FRESH = timedelta(minutes=1)
"""The age below which a message counts as said now, by its timestamp."""

_EPOCH = re.compile(r"\d{10}(?:\d{3})?")

_LIKE_A_SUMMARY = re.compile(rf"\s*{SUMMARY_PREFIX.strip()}", re.IGNORECASE)

_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+)*")

# Memories as this service renders them, anywhere in a text. Callers may send them back.
_RECALLED = re.compile(
    r"<memory>.*?(?:</memory>|\Z)"
    r"|(?:^[ \t>]*\[User Memory\][^\n]*|\[User Memory\][ \t:]*(?=\n[ \t>]*[-*\u2022]))"
    r"(?:\n[ \t>]*[-*\u2022][^\n]*|\n[ \t]+\S[^\n]*)*"
    r"|^\[Previous Conversation Summary\].*?(?:\[End of Summary\]|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)


def unlike_a_summary(content: Any) -> Any:
    """Return the content, a text or parts, changed if necessary so that it does not begin like a
    summary of this service.
    """
    if isinstance(content, str):
        return QUOTED + content if _LIKE_A_SUMMARY.match(content) else content
    (first, *rest) = content
    return (
        [{**first, "text": unlike_a_summary(first["text"])}, *rest] if "text" in first else content
    )


def name_of(role: str, *, user: str) -> str:
    """Return the name of a speaker for a reader. If the user's id is a name, it is used, such as
    Sarah for `sarah`. Everybody else is named by the role.
    """
    name = user if role == "user" and _NAME.fullmatch(user) else role
    return re.sub("[._-]", " ", name).title()


def line_of(text: str, *, who: str | None, day: str | None) -> str:
    """Return one line for a memory with its day. `who` is its speaker if the text is in the
    speaker's own words, and None if the text is in the third person.
    """
    if who is None:
        return f"{text} ({day})" if day else text
    return ", ".join(filter(None, (who, day))) + f": {text}"


def is_off_record(message: Message) -> bool:
    """Return whether a message is off the record, so that only its own session may see it. Its mark
    or its user's words say so.
    """
    if message.is_off_record:
        return True
    return message.role == "user" and wish_of(text_of(message.chat)).is_off_record


def spoken(message: Message) -> Message:
    """Return the message as it is visible outside its session's window. It is text only, without
    secrets and without the words of deleted memories. A message off the record has no text.
    """
    if is_off_record(message):
        return replace(message, chat={**_bare(message.chat), "content": ""})
    text = as_said(message)
    content = masked(text_of(text.chat), is_data=message.role == "tool")
    return replace(text, chat={**text.chat, "content": content})


def _bare(chat: Chat) -> Chat:
    return {name: value for name, value in chat.items() if name != "tool_calls"}


def visible_text(message: Message, *, gap: str = GAP) -> str:
    """Return the text of a message with `gap` in place of the words that a deleted memory came
    from.
    """
    return cut_out(text_of(message.chat), message.hidden, gap=gap)


def cut_out(text: str, ranges: Iterable[tuple[int, int]], *, gap: str = "") -> str:
    """Return the text with `gap` in place of these ranges of it."""
    for start, end in sorted(ranges, reverse=True):
        text = f"{text[:start]}{gap}{text[end:]}"
    return text


def as_said(message: Message) -> Message:
    """Return the message as text only, without memories that were recalled into it, without calls
    of this service's tools, and without the words of deleted memories.
    """
    chat = {**message.chat, "content": without_recalled(visible_text(message))}
    if "tool_calls" in chat:
        chat["tool_calls"] = [call for call in chat["tool_calls"] or () if not calls_own_tool(call)]
    return replace(message, chat=chat)


def spoken_text(message: Message) -> str:
    """Return the text of a message in the form of `spoken`. For a tool's output, return only the
    beginning. The text of a system message is empty, and calls of this service's tools are left
    out.
    """
    if message.role in SYSTEM_ROLES:
        return ""
    chat = spoken(message).chat
    text = text_of(chat).strip()
    if message.role == "tool":
        return text[:MAX_TOOL_TEXT]
    tool_calls = chat.get("tool_calls") or ()
    calls = (masked(" ".join(called(call)), is_data=True)[:MAX_CALL_TEXT] for call in tool_calls)
    return "\n".join(filter(None, (text, *calls)))


def without_recalled(text: str) -> str:
    """Return the text without memories that this service has inserted into it; empty for a summary
    of this service.
    """
    return "" if text.removeprefix(QUOTED).startswith(SUMMARY_PREFIX) else _RECALLED.sub("\n", text)


def said_at(message: Message) -> datetime:
    """Return when a message was said. That is the client's timestamp in its own zone, but never
    later than the server's time.
    """
    stored = datetime.fromisoformat(message.created_at)
    sent = sent_at(message.timestamp)
    return sent if sent is not None and sent <= stored else stored


def sent_at(timestamp: str | None) -> datetime | None:
    """Return the time of a client's timestamp: RFC 3339, or epoch seconds or milliseconds. None if
    it is neither.
    """
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


def may_be_old(timestamps: Iterable[str | None], *, now: datetime, is_transcript: bool) -> bool:
    """Return whether one of the messages with these timestamps may have been said before now. A
    message without a timestamp may be old only in a transcript.
    """
    times = map(sent_at, timestamps)
    return any(is_transcript if at is None else at < now - FRESH for at in times)
