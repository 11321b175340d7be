"""Separates statements from a question in the same sentence: "I have three kids, what applies?"."""

from __future__ import annotations

import re
from functools import cache

from palimpsest.extraction.testimony.words import SENTENCE_START, phrases

JOINING = "so|and|but|also|then|und|aber|et|mais|donc|alors|y|pero|entonces"


@cache
def _stated_and_asked() -> re.Pattern[str]:
    asks = rf"(?:(?:{JOINING}) |[^\W\d_]{{1,12}}, )?(?:{phrases('questions')})(?![\w,])"
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?!{asks})(?:[^\W\d_]{{1,12}},? ){{0,2}}"
        rf"(?:{phrases('first_person')})(?!\w)"
        r"[^\n.!?]{3,200}?),(?P<gap>[ ])"
        rf"(?=(?:(?!(?:or|oder|ou|o|u)\b)[^\s.!?,;\n]+ ){{2,20}}[^\s.!?,\n]+ ?\?"
        rf"|(?:(?:{JOINING}) )?"
        rf"¿?(?:{phrases('questions')})(?!\w)"
        r"[^\n.!?]{2,200}\?)",
        re.IGNORECASE | re.MULTILINE,
    )


def questions_apart(text: str) -> str:
    """The text with each question on a line of its own if a statement comes before it in the same
    sentence. A sentence that begins as a question has no statement: "What may I claim, and by
    when?".
    """
    if "?" not in text:
        return text
    return _stated_and_asked().sub(r"\g<own>\n", text)
