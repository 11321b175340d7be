"""The texts of the labelled sets, in four languages, as messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache

from palimpsest.conversations.message import Message

from benchmarks.truth.form import OURS, VOICES, load
from tests.unit.splits import small_messages

DAY = date(2026, 1, 15)
EVERY = 7  # of the small messages: they are of one kind


@cache
def labelled_texts() -> tuple[str, ...]:
    """What users say in the cases of what is believed, and some messages of conversations."""
    cases = [case for folder in (OURS, VOICES) for case in load(folder)]
    sessions = [session for case in cases for session in case.sessions]
    texts = [message.content or "" for session in sessions for message in session.messages]
    return tuple(dict.fromkeys((*texts, *small_messages()[::EVERY])))


def chunk_messages(texts: Sequence[str]) -> list[Message]:
    return [
        Message(
            seq,
            str(seq),
            1,
            9,
            "o200k_base",
            {"role": "user", "content": text},
            f"{DAY}T09:00:00.000Z",
        )
        for seq, text in enumerate(texts, 1)
    ]
