"""Shows stored messages to callers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from palimpsest.api.call import Service
from palimpsest.api.encoding import dumps, size_in_answer
from palimpsest.api.resources.messages.shapes import HistoryMessage
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.shortened import left
from palimpsest.scope import SessionScope

MOST_ROW = 5_900_000  # bytes of one message in an answer: Lambda carries 6 MB

MOST_READ = 4_000  # characters of a message, to tell whether it is material


@dataclass
class ShowMessages:
    """Shows the messages of one session. The user's names are read once, and only if a message
    greets somebody or is signed, because they show whose letter it is.
    """

    service: Service
    scope: SessionScope

    def __call__(self, stored: Message) -> HistoryMessage:
        """Return the message. If it is too large for any answer, return it shortened, with the
        address at which the whole message can be read.
        """
        row = self._row(stored)
        if stored.large is None or size_in_answer(dumps(row)) <= MOST_ROW:
            return row
        return {
            **self._row(left(stored, stored.large)),
            "content_url": self.service.history.address(stored),
        }

    def _row(self, stored: Message) -> HistoryMessage:
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
        row |= {"material": True} if self._is_material(stored) else {}
        return cast(
            HistoryMessage,
            row if stored.redacted_at is None else {**row, "redacted_at": stored.redacted_at},
        )

    def _is_material(self, stored: Message) -> bool:
        """Return whether the message is material, not its speaker's own statement: by the other
        messages of its session, or because the beginning of a user's text shows it. Only the
        beginning is tested, because long texts take long to read.
        """
        if stored.is_material:
            return True
        if stored.role != "user":
            return False
        # not at import, because only histories need these rules
        from palimpsest.extraction.testimony.shown import is_material, may_be_a_letter

        text = text_of(stored.chat)[:MOST_READ]
        return is_material(text, user=self._signs_as if may_be_a_letter(text) else None)

    @cached_property
    def _signs_as(self) -> str:
        """Return the name with which the session's user signs."""
        from palimpsest.memory.names import signing
        from palimpsest.memory.user_names import names_of

        user = self.service.history.user(self.scope)
        return signing(user.user, names_of(self.service.stores.memories, user).all)
