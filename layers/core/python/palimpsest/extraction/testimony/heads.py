"""Finds the text below the head of a message. The head is the first paragraph, in which the speaker
asks for work on the text below it. Other sentences of the head are the speaker's own.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import (
    QUOTATION,
    after_blanks,
    greeting,
    line_end,
    paragraph_end,
    quotation_end,
    salutation,
    sentence_end,
    text_end,
)
from palimpsest.extraction.testimony.lines import Mark, shape_of
from palimpsest.extraction.testimony.turns import turns
from palimpsest.extraction.testimony.words import anywhere, phrases
from palimpsest.text.sentences import is_filler, words

LONGEST_HEAD = 600
LONGEST_CONVERSATION = 2_000  # characters in which the speakers of a conversation are looked for
LEAST_LETTERS = 40  # of a text below a head
SHARE_OF_A_HEAD = 0.5  # of the words after a request, which the text below it has at least
_QUOTED = re.compile(QUOTATION)
_APART = re.compile(r"[ \t]*\n(?P<rule>[ \t]*[-=_*~]{3,}[ \t]*)?[ \t]*\n\s*")
TASKS = ("work", "work_on_it", "work_on_this", "task_operations", "task_faults", "task_of_others")
TEXTS = ("sources", "task_texts", "works", "documents", "persons")


def below_heads(text: str) -> Iterator[Mark]:
    """Yield the text below a head that asks for work on it, or that comes before a letter."""
    end = _APART.search(text, 0, LONGEST_HEAD)
    if end is None or not text[: end.start()].strip() or not _is_a_text(text[end.end() :]):
        return
    head = text[: end.start()]
    is_letter = _begins_as_letter(text, end.end()) and not _is_greeting(head)
    if is_letter or _points(head) or (end["rule"] and _asks_for_work(head)):
        yield end.end(), end_below(text, end.end()), "request"


def end_below(text: str, start: int) -> int:
    """Return the end of a text that begins at `start`. A quotation ends where it is closed, code
    with its paragraph, and a conversation with its last line. A last paragraph that speaks to the
    assistant is the speaker's own.
    """
    quoted = quotation_end(text, start)
    if quoted is not None:
        return quoted
    if shape_of(text[start : line_end(text, start)]) is not None:
        return paragraph_end(text, start)
    end = text_end(text, start, is_long=True)
    lines = turns(text[start : start + LONGEST_CONVERSATION])
    if lines and lines[0].start == 0:
        return min(end, start + lines[-1].end)
    last = text.rfind("\n\n", start, end) + 1
    if last and anywhere("addresses").search(text, last, end) is not None:
        return last
    return end


def text_below(text: str, place: int) -> int | None:
    """Return where the text below a head begins that has a request until `place`. Return None if
    nothing of the head follows the request, or if no text is below it.
    """
    end = text.find("\n", place)
    rest = text[place:end].strip()
    if end < 0 or not any(map(str.isalnum, rest)):
        return None
    begun = after_blanks(text, end)
    is_apart = rest.endswith(":") or _APART.match(text, end) is not None
    body = text[begun:]
    if not is_apart or len(body) < LEAST_LETTERS:
        return None
    is_quoted = _QUOTED.match(body) is not None
    is_long = len(body) > SHARE_OF_A_HEAD * len(rest) and _is_a_text(body)
    return begun if is_quoted or is_long else None


def _is_a_text(body: str) -> bool:
    first = body[: sentence_end(body, 0)]
    return len(body.strip()) >= LEAST_LETTERS and not is_filler(first, words(first))


def _begins_as_letter(text: str, place: int) -> bool:
    return _greeted().match(text, place) is not None or salutation().match(text, place) is not None


@cache
def _greeted() -> re.Pattern[str]:
    """Return a pattern for the greeting of a letter: "Dear neighbours,", "Querida tía:"."""
    line = rf"(?:{phrases('salutation')})(?!\w)[^\n.?!,:]{{0,40}}[,:!][ \t]*(?:\n|(?=[^\W\d_]))"
    return re.compile(rf"[ \t]*(?:{line}|{greeting()}[ \t]*\n)", re.IGNORECASE)


def _is_greeting(head: str) -> bool:
    return is_filler(head, words(head)) or _greeted().match(f"{head}\n") is not None


def _asks_for_work(head: str) -> bool:
    return any(anywhere(name).search(head) for name in TASKS)


@cache
def _pointers() -> re.Pattern[str]:
    """Return a pattern for words that point at a text or its writer: "this customer", "homework
    from one of my pupils", "sentences like these".
    """
    named = "|".join(map(phrases, TEXTS))
    between = r"(?:\s+[\w'’-]+){0,2}?\s+"
    this = rf"(?:{phrases('demonstratives')}){between}(?:{named})"
    of_somebody = (
        rf"(?:{phrases('of_persons')})\s+(?:(?:one of|einem von|un de|uno de)\s+)?[\w'’]+"
        rf"{between}(?:{phrases('persons')})"
    )
    these = r"this|these|those|diese\w*|ça|ceux-ci|celles-ci|est[ao]s?"
    like_this = rf"(?:like|wie|comme|como)\s+(?:{these})"
    return re.compile(rf"(?<!\w)(?:{this}|{of_somebody}|{like_this})(?!\w)", re.IGNORECASE)


def _points(head: str) -> bool:
    """Return whether a head asks for work and points at a text or its writer."""
    return _asks_for_work(head) and _pointers().search(head) is not None
