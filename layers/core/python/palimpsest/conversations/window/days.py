"""The day on which a message was said, and its text with the dates of relative words."""

from __future__ import annotations

from datetime import date

from palimpsest.conversations.message import Message
from palimpsest.conversations.spoken import said_at

UNDATED = frozenset({"tool"})
"""The roles of messages whose text is data: its relative words may be of any day."""


def day_of(message: Message) -> date | None:
    """The day on which the message was said; None if its time is unknown."""
    return said_at(message).date() if message.created_at else None


def with_dates(text: str, message: Message) -> str:
    """The text of the message, with the date in brackets after each "yesterday"."""
    day = day_of(message)
    if day is None or message.role in UNDATED:
        return text
    from palimpsest.text.dates import dated  # not at import: no turn needs it

    return dated(text, at=day)
