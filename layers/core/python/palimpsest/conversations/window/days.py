"""The day on which a message was said. Relative words get their dates from this day, and a context
shows where a new day begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from palimpsest.conversations.message import Message
from palimpsest.conversations.spoken import said_at

UNDATED = frozenset({"tool"})
"""The roles of messages whose text is data. Its relative words may refer to any day."""
MOST_DATED = 8_000  # characters of a text in which relative words are looked for


def day_of(message: Message) -> date | None:
    """Return the day on which the message was said; None if its time is unknown."""
    return said_at(message).date() if message.created_at else None


def dating_day(message: Message) -> date | None:
    """Return the day to which relative words of the message refer. Return None for the output of a
    tool, whose words may refer to any day, and if the time is unknown.
    """
    return None if message.role in UNDATED else day_of(message)


def dated_message(message: Message) -> Message:
    """Return the message with dates added to its relative words. Content in parts does not
    change.
    """
    content, day = message.chat.get("content"), dating_day(message)
    if day is None or not isinstance(content, str):
        return message
    from palimpsest.text.dates import dated  # not at import: no turn needs it

    text = dated(content[:MOST_DATED], at=day) + content[MOST_DATED:]
    if text == content:
        return message
    return replace(message, chat={**message.chat, "content": text})


def beginning_day(chat: Mapping[str, Any], day: date) -> Mapping[str, Any]:
    """Return the message with its day in front of its content. A context shows a message in this
    form if its day differs from that of the message before.
    """
    heading, content = f"[{day.isoformat()}]", chat.get("content") or ""
    if isinstance(content, str):
        return {**chat, "content": f"{heading}\n{content}" if content else heading}
    return {**chat, "content": [{"type": "text", "text": heading}, *content]}
