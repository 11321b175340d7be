"""How one memory is written as a line: whose words it is in, without the label of its speaker."""

from __future__ import annotations

from palimpsest.conversations.spoken import name_of
from palimpsest.memory.record import Record, is_quoted


def quoted_in(record: Record, *, user: str) -> str | None:
    """The name of the one in whose words the record is; None if it speaks of the user."""
    if record.speaker is not None:
        return record.speaker
    return name_of("user", user=user) if is_quoted(record) else None


def unlabelled(content: str, speaker: str | None) -> str:
    """The content without the label of its speaker: "Bob: I like tea"."""
    label = f"{speaker}: "
    is_labelled = speaker is not None and content.casefold().startswith(label.casefold())
    return content[len(label) :] if is_labelled else content
