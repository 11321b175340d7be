"""Recognizes messages that announce a text but do not contain it. The next message is then this
text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from palimpsest.extraction.testimony.extents import OPENERS, greeting, sentence_end
from palimpsest.extraction.testimony.requests import is_without_text
from palimpsest.extraction.testimony.tasks import strength
from palimpsest.extraction.testimony.words import anywhere, phrases

Awaited = Literal["announced", "missing", "letter"]
"""Why the next message may be a text of somebody else. `announced`: this message announces it.
`missing`: this message is a request that lacks its text. `letter`: the speaker wants to answer
somebody, so the next message may be a letter of this person.
"""
LONGEST_NOTICE = 120
MOST_WORDS_OF_A_HEAD = 6
_CLEAR_TASKS = ("task_operations", "task_qualities", "task_faults")
_QUOTED = re.compile(rf"{OPENERS}\w")


def awaited_after(text: str) -> Awaited | None:
    """Return why the message after this one isn't testimony; None if it may be testimony."""
    notice = anywhere("awaits").search(text)
    if notice is not None and len(text) - notice.end() < LONGEST_NOTICE and ":" not in text:
        return "announced"
    line = text.strip()
    if len(line) > LONGEST_NOTICE or sentence_end(line, 0) < len(line) or _QUOTED.search(line):
        return None
    if anywhere("deferred").search(line):
        return None
    if is_without_text(line) or _is_task_alone(line):
        return "missing"
    return "letter" if anywhere("awaits_a_letter").search(line) else None


def _is_task_alone(line: str) -> bool:
    """Return whether a line asks for work on a text to which it points, or which a colon
    announces.
    """
    if line.endswith(":"):
        is_short = len(line.split()) <= MOST_WORDS_OF_A_HEAD
        return strength(line) == "strong" or (is_short and _names_a_form(line))
    if ":" in line or strength(line) != "strong":
        return False
    if anywhere("demonstratives").search(line):
        return True
    # "It" counts only with a clear task, because "it" mostly means a thing, as in "put it in the
    # freezer".
    points = anywhere("task_deictics").search(line) is not None
    return points and any(anywhere(name).search(line) for name in _CLEAR_TASKS)


def _names_a_form(line: str) -> bool:
    """Return whether a line only says what to make of a text, as "into Spanish, formal" does."""
    return _forms().fullmatch(line) is not None


@cache
def _forms() -> re.Pattern[str]:
    words = "|".join(
        phrases(name) for name in ("task_qualities", "bare_objects", "task_polite", "work")
    )
    return re.compile(rf"\W*(?:(?:{words})(?!\w)\W*)+", re.IGNORECASE)


def is_awaited(text: str, why: Awaited) -> bool:
    """Return whether a message is the text that the message before it announced."""
    if why == "announced":
        return True
    if anywhere("declines").begins_sentence(text, 0, len(text)) == 0:
        return False
    return why == "missing" or _greets().match(text) is not None


@cache
def _greets() -> re.Pattern[str]:
    return re.compile(rf"\s*{greeting()}", re.IGNORECASE)


def asks_for_text(text: str) -> bool:
    """Return whether the assistant asks for the text that a request lacks."""
    return anywhere("asks_for_text").search(text) is not None
