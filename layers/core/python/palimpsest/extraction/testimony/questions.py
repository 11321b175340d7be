"""Statements that share their sentence with a question: "I have three kids, what applies?"."""

from __future__ import annotations

import re
from functools import cache

from palimpsest.extraction.testimony.words import SENTENCE_START, phrases


@cache
def _stated_and_asked() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:[^\W\d_]{{1,12}},? ){{0,2}}"
        rf"(?:{phrases('first_person')})(?!\w)"
        r"[^\n.!?]{3,200}?),(?P<gap>[ ])"
        rf"(?=(?:(?!(?:or|oder|ou|o|u)\b)[^\s.!?,;\n]+ ){{2,20}}[^\s.!?,\n]+ ?\?"
        rf"|(?:(?:so|and|also|then|und|et|y|entonces|donc|alors) )?"
        rf"¿?(?:{phrases('questions')})(?!\w)"
        r"[^\n.!?]{2,200}\?)",
        re.IGNORECASE | re.MULTILINE,
    )


def questions_apart(text: str) -> str:
    """The text with a question on a line of its own where a statement stands before it in the same
    sentence.
    """
    if "?" not in text:
        return text
    return _stated_and_asked().sub(r"\g<own>\n", text)
