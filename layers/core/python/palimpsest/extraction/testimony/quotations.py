"""Finds words of other people within a text: between quotation marks, or after "she said"."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import (
    OPENERS,
    QUOTATION,
    after_blanks,
    end_of_words,
    paragraph_end,
    quotation_end,
    return_of_the_speaker,
    sentence_end,
    sentence_start,
    text_end,
)
from palimpsest.extraction.testimony.lines import Mark
from palimpsest.extraction.testimony.words import Phrases, anywhere, in_lines, phrases
from palimpsest.text.sought import Sought

LEAST_QUOTATION, LEAST_SPACES = 8, 2
WORDS_OF_A_REPORT = 2
LONGEST_NAME_OF_ANOTHER = 60
WORDS_BEFORE_OWN = 3  # between a verb such as "goes" and the first "I" of the words that it gives
_OPENING = re.compile(rf"{OPENERS}|(?<![\w'])'(?=\w)")
_CLOSING = frozenset("\"”“»«’‘'›‹」』`")
_QUOTING = Phrases(
    ("quoting",), before="", after=rf"(?!\w)[^\n.!?\"“„«]{{0,60}}?(?P<quote>{QUOTATION})"
)
_TOLD = Phrases(("reports", "reports_to_me"), before="", after=r"(?!\w)[^\n.!?:]{0,40}[ ]?:(?=\s)")


def quotations(text: str) -> Iterator[Mark]:
    """Yield all words of other people that a text quotes or reports."""
    yield from _quotations(text)
    yield from _all_quotations(text)
    yield from _reported(text)
    yield from _reported_after(text)
    yield from _of_media(text)
    yield from _given(text)
    yield from _labelled_by_relation(text)


@cache
def _relation() -> Sought:
    own = phrases("first_person")
    return Sought(
        rf"[ \t]*(?:my|our|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+) (?:{phrases('persons')})"
        rf"(?-i:(?: [A-ZÀ-Þ][\w'’-]+){{0,2}})[ ]?:[ ](?=(?:[^\s.!?:,]+ )?(?:{own})(?!\w))",
        re.IGNORECASE,
    )


def _labelled_by_relation(text: str) -> Iterator[Mark]:
    """Yield words in the first person with a label that names somebody of the speaker, such as
    "My brother Tom: I live in Leeds".
    """
    for match in in_lines(_relation(), text) if ":" in text else ():
        yield match.start(), end_of_words(text, match.end()), "quotation"


@cache
def _opens() -> Phrases:
    own = phrases("first_person")
    near = rf"(?=(?:[^\s.!?:,]+ )?(?:{own})(?!\w))"
    return Phrases(("opening_lines",), before="", after=rf"(?!\w)[ ]?:[ ]{near}")


@cache
def _gives() -> Phrases:
    own = phrases("first_person")
    near = rf"(?=(?:[^\s.!?:,]+ )?(?:{own})(?!\w))"
    return Phrases(("it_gives",), before="", after=rf"(?!\w)[^\n.!?:]{{0,30}}?[ ]?:[ ]{near}")


def _given(text: str) -> Iterator[Mark]:
    """Yield the words of others and of works that follow a colon. The first are "I never eat sugar"
    in "It says: I never eat sugar", the second "I am a ghost" in "The first line is: I am a ghost".
    """
    if ":" not in text:
        return
    place = 0
    matches = (*_gives().finditer(text), *_opens().finditer(text))
    for match in sorted(matches, key=re.Match.start):
        if match.start() >= place:
            place = end_of_words(text, match.end())
            yield match.end(), place, "quotation"


@cache
def _media() -> Phrases:
    """Return a pattern for a text of others with a verb that introduces its words, such as "the
    voicemail went like".
    """
    return Phrases(
        ("media",),
        before="",
        after=rf"(?!\w)[^\n.!?:]{{0,30}}?(?<!\w)(?:{phrases('media_verbs')})(?!\w)[.:,]?\s+",
    )


def _of_media(text: str) -> Iterator[Mark]:
    """Yield the words of a recording, a song or a page, if their speaker talks in the first
    person.
    """
    place = 0
    while match := _media().search(text, place):
        place = start = match.end()
        closed = quotation_end(text, start)
        if closed is not None:
            place = max(start, closed)
            yield start, closed, "quotation"
            continue
        end = sentence_end(text, start)
        own = anywhere("first_person").search(text, start, end)
        if own is not None and len(text[start : own.start()].split()) <= WORDS_BEFORE_OWN:
            place = return_of_the_speaker(text, end, paragraph_end(text, start))
            yield start, place, "quotation"


_AFTER = re.compile(
    r",[\"'”»’]* (?:she|he|they|er|sie|il|elle|él|ella|[A-ZÀ-Þ][\w'-]+)"
    r" (?:says?|said|told me|claims|writes|wrote|sagt|sagte|meint|meinte|dit|disait|dice|dijo)"
    r"(?=[ \t]*(?:[.!?…]|\n|\Z))"
)


def _reported_after(text: str) -> Iterator[Mark]:
    """Yield sentences that end with their speaker, such as "I can't eat gluten, she says."."""
    for match in _AFTER.finditer(text):
        start = sentence_start(text, match.start())
        if anywhere("first_person").search(text, start, match.start()) is not None:
            yield start, match.end(), "quotation"


def _quotations(text: str) -> Iterator[Mark]:
    """Yield quoted words of somebody else, and words that are only mentioned."""
    place = 0
    while match := _QUOTING.search(text, place):
        start = match.start("quote")
        end = quotation_end(text, start)
        place = max(match.end(), end or 0)
        if end is not None and " " in text[start:end]:
            yield start, end, "quotation"


@cache
def _goes() -> Phrases:
    own = phrases("first_person")
    return Phrases(("goes",), before="", after=rf"(?: like)?,?(?= (?:{own})(?!\w))")


_NAMED = re.compile(r"(?:\A|[.!?\n] ?)[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)? \Z")


@cache
def _other() -> re.Pattern[str]:
    """Return a pattern for words before a verb that name somebody without a name: "my boss"."""
    return re.compile(rf"(?<!\w)(?:{phrases('others')})(?: [\w'’]+){{0,3}}?[ ]?\Z", re.IGNORECASE)


def _reported(text: str) -> Iterator[Mark]:
    """Yield words in direct speech of somebody who isn't named."""
    place = 0
    for match in sorted((*_TOLD.finditer(text), *_goes().finditer(text)), key=re.Match.start):
        before = text[max(0, match.start() - LONGEST_NAME_OF_ANOTHER) : match.start()]
        is_named = (
            _NAMED.search(before) is not None
            and len(match[0].split()) > WORDS_OF_A_REPORT
            and anywhere("first_person").search(before) is None
        )
        if match.start() < place or not (is_named or _other().search(before)):
            continue
        start = after_blanks(text, match.end())
        is_below = "\n" in text[match.end() : start]
        end = text_end(text, match.end(), is_long=True) if is_below else sentence_end(text, start)
        place = max(match.end(), end)
        yield start, end, "quotation"


def _all_quotations(text: str) -> Iterator[Mark]:
    """Yield sentences between quotation marks, whoever said them."""
    place = 0
    while match := _OPENING.search(text, place):
        start = match.start()
        end = quotation_end(text, start)
        place = max(match.end(), end or 0)
        if end is None or end - start < LEAST_QUOTATION or text[end - 1] not in _CLOSING:
            continue
        inside = text[start + 1 : end - 1]
        is_sentence = inside.count(" ") >= LEAST_SPACES and (
            anywhere("first_person").search(inside) is not None
            or inside.rstrip()[-1:] in tuple(".!?…")
        )
        if is_sentence and not _is_asked_for(text, start):
            yield start, end, "quotation"


def _is_asked_for(text: str, start: int) -> bool:
    """Return whether the speaker asks to use the quoted words. They are nobody's testimony, but
    without them the request would be lost.
    """
    least = max(0, start - LONGEST_NAME_OF_ANOTHER)
    if anywhere("reports").search(text, least, start) is not None:
        return False
    requests = anywhere("uses_words").finditer(text, least, start)
    return any(match.end() >= start - 1 for match in requests)
