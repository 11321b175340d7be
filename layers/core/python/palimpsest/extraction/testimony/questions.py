"""Separates statements from a question, an order, or words about another person in the same
sentence: "I have three kids, what applies?".
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
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
        rf"|(?:{phrases('asks_in_short')}) ?\?"
        rf"|(?:(?:{JOINING}) )?"
        rf"¿?(?:{phrases('questions')})(?!\w)"
        r"[^\n.!?]{2,200}\?)",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _stated_and_ordered() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:[^\W\d_]{{1,12}},? ){{0,2}}"
        rf"(?:{phrases('first_person')})(?!\w)"
        r"[^\n.!?]{3,200}?),? (?:so|also|donc|alors|así que|therefore)[ ,]+(?:please |bitte )?"
        rf"(?=(?:{phrases('orders')})(?!\w))",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _of_others_and_own() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:my|our|his|her|their|he|she|they|m[ae]s?|mon|mein\w*|unser\w*"
        r"|er|sie|mis?|él|ella|il|elle) (?!(?:names?|nom|nombre|opinion|view|point)\b)"
        r"[^\n.!?,]{3,160}),"
        r" (?:but|while|whereas|aber|während|mais|tandis que|pero|mientras que) "
        r"(?=(?:i(?:['’]m|['’]ve)?|ich|moi|je|j['’]|yo)(?![\w]))",
        re.IGNORECASE | re.MULTILINE,
    )


def apart(text: str) -> str:
    """Return the text in which statements about the user alone have a line of their own."""
    text = _of_others_and_own().sub(r"\g<own>.\n", questions_apart(text))
    return _stated_and_ordered().sub(r"\g<own>.\n", text)


def questions_apart(text: str) -> str:
    """Return the text with each question on a line of its own if a statement comes before it in the
    same sentence. A sentence that begins as a question has no statement: "What may I claim, and by
    when?".
    """
    if "?" not in text:
        return text
    return _stated_and_asked().sub(r"\g<own>\n", text)
