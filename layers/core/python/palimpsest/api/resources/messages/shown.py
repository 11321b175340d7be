"""Shows stored messages to callers."""

from __future__ import annotations

from typing import cast

from palimpsest.api.call import Service
from palimpsest.api.encoding import dumps, size_in_answer
from palimpsest.api.resources.messages.shapes import HistoryMessage
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.shortened import left

MOST_ROW = 5_900_000  # bytes of one message in an answer: Lambda carries 6 MB

MOST_READ = 4_000  # characters of a message, to tell whether it is material


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
