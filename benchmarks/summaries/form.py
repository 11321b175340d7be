"""The form of a labelled conversation: its turns, and questions about what was said in these
turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

OURS = Path(__file__).parent / "conversations"


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Said(_Closed):
    """One message."""

    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: Sequence[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class Turn(_Closed):
    """A user's message, the messages that answer it, and the time at which the user sent it."""

    at: datetime
    messages: Sequence[Said] = Field(min_length=2)


class Question(_Closed):
    """A question whose answer is in the turn of this number (the first is 1), in these words. If
    the turn names a date as "yesterday", the answer is the date in ISO 8601.
    """

    question: str
    answers: Sequence[str] = Field(min_length=1)
    turn: int = Field(ge=1)

    @property
    def asks_for_a_day(self) -> bool:
        """Return whether the turn names the day in relative words, so that only its date is an
        answer.
        """
        return any(re.fullmatch(r"\d{4}-\d\d-\d\d", answer) for answer in self.answers)

    def is_answered_by(self, text: str) -> bool:
        """Return whether the text contains all answers as whole words. Upper and lower case are
        equal.
        """
        return all(
            re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)
            for answer in self.answers
        )


class Conversation(_Closed):
    """A conversation with its questions. The failures of a held-out conversation are not
    looked at.
    """

    id: str
    language: Literal["en", "de", "fr", "es"]
    held_out: bool
    turns: Sequence[Turn] = Field(min_length=1)
    questions: Sequence[Question] = Field(min_length=1)

    @model_validator(mode="after")
    def _turns_exist(self) -> Conversation:
        if any(question.turn > len(self.turns) for question in self.questions):
            raise ValueError("a question names a turn that the conversation does not have")
        return self


_CONVERSATION = TypeAdapter(Conversation)


def load(folder: Path) -> list[Conversation]:
    """Return the conversations of all files of the folder. Raises pydantic's `ValidationError`."""
    return [
        _CONVERSATION.validate_json(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    ]
