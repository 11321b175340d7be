"""Material that the speaker announces: texts to work on, quotations, fiction, play, hypotheticals,
wishes, examples, and jokes that are taken back.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.blocks import Mark
from palimpsest.extraction.testimony.extents import (
    OPENERS,
    after_blanks,
    paragraph_end,
    quotation_end,
    return_of_the_speaker,
    sentence_end,
    sentence_start,
    text_end,
)
from palimpsest.extraction.testimony.words import anywhere, phrases

_QUOTATION = rf"{OPENERS}|(?<=[\s:(])'(?=\w)"
_GIVES = re.compile(
    r"(?:here|this is|got|received|sent|hier|das ist|voici|c['’]est|aquí|est[ea] es|read|look"
    r"|lis|lies|lee|explain|answer|wrote)",
    re.IGNORECASE,
)


def frames(text: str) -> Iterator[Mark]:
    """All material that the speaker announces."""
    yield from _requests(text)
    yield from _quotations(text)
    yield from _sentences(text, "into", "request")
    yield from _above(text)
    yield from _fiction(text)
    yield from _hypotheticals(text)
    yield from _supposed(text)
    yield from _jests(text)
    play = play_begins(text)
    if play is not None:
        end = play_ends(text, play)
        yield play, return_of_the_speaker(text, play, end), "play"


def play_begins(text: str) -> int | None:
    """Where a play of roles begins that nothing in the text ends; None if none begins."""
    match = anywhere("play").search(text)
    return sentence_start(text, match.start()) if match else None


def play_ends(text: str, start: int = 0) -> int:
    """Where a play ends that was begun before `start`; else the end of the text."""
    match = anywhere("play_ends").search(text, start)
    return sentence_end(text, match.start()) if match else len(text)


@cache
def _request() -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)(?<!\bi )(?<!\bich )(?<!\bje )"
        rf"(?:(?P<work>{phrases('work')})|(?P<on>{phrases('work_on_this')}))(?!\w)"
        rf"(?P<about>[^\n:.!?\"“„«]{{0,100}}?)"
        rf"(?:(?P<colon>[ ]?:)|(?P<line>[.!?]?[ \t]*\n)|(?P<stop>[.!?](?=\s|$)|$)"
        rf"|(?P<quote>(?={_QUOTATION})))",
        re.IGNORECASE,
    )


def _requests(text: str) -> Iterator[Mark]:
    """Texts that follow a request to work on them."""
    place = 0
    while match := _request().search(text, place):
        place = match.end()
        mark = _of_request(text, match)
        if mark is not None:
            yield mark
            place = max(place, mark[1])


def _of_request(text: str, match: re.Match[str]) -> Mark | None:
    about = match["about"]
    names_it = anywhere("this").search(about) is not None
    is_own = anywhere("first_person").search(about) is not None
    if match["on"] and (not names_it or (is_own and _GIVES.match(match["on"]))):
        return None
    if match["work"] and is_own and not names_it:
        return None
    start = after_blanks(text, match.end())
    if match["quote"] is not None or match["colon"]:
        end = quotation_end(text, start)
        if end is not None:
            return start, end, "request"
    if match["quote"] is not None or start == len(text):
        return None
    if not match["colon"] and not (names_it and (match["work"] or match["line"])):
        return None
    is_long = anywhere("long_things").search(about) is not None
    return start, text_end(text, match.end(), is_long=is_long), "request"


@cache
def _quoting() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{phrases('quoting')})(?!\w)[^\n.!?\"“„«]{{0,60}}?(?P<quote>{_QUOTATION})",
        re.IGNORECASE,
    )


def _quotations(text: str) -> Iterator[Mark]:
    """What somebody else said, and words that are only mentioned."""
    place = 0
    while match := _quoting().search(text, place):
        start = match.start("quote")
        end = quotation_end(text, start)
        place = max(match.end(), end or 0)
        if end is not None and " " in text[start:end]:
            yield start, end, "quotation"


def _sentences(text: str, name: str, reason: str) -> Iterator[Mark]:
    """From each phrase of this name to the end of its sentence."""
    place = 0
    while match := anywhere(name).search(text, place):
        place = max(match.end(), sentence_end(text, match.start()))
        yield match.start(), place, reason


def _above(text: str) -> Iterator[Mark]:
    """Texts that stand before the request to work on them."""
    match = anywhere("above").search(text)
    if match:
        yield 0, match.start(), "request"


def _fiction(text: str) -> Iterator[Mark]:
    """A sentence that orders or tells a story; its paragraph, if the story's teller says I."""
    place = 0
    while match := anywhere("fiction").search(text, place):
        start = sentence_start(text, match.start())
        end = sentence_end(text, match.end() - 1)
        if anywhere("speaks_as").search(text, match.start(), end) or ":" in text[start:end]:
            end = return_of_the_speaker(text, end, paragraph_end(text, end))
        yield max(start, place), end, "fiction"
        place = max(match.end(), end)


@cache
def _true_again() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('after_a_wish')})", re.IGNORECASE)


def _hypotheticals(text: str) -> Iterator[Mark]:
    """What is not so: up to the end of the sentence, or to the words that say what is so."""
    place = 0
    while match := anywhere("hypothetical").search(text, place):
        end = sentence_end(text, match.start())
        again = _true_again().search(text, match.end(), end)
        place = max(match.end(), again.end() if again else end)
        yield match.start(), place, "hypothetical"


def _supposed(text: str) -> Iterator[Mark]:
    """What is supposed, or an example: its paragraph, until the speaker is back."""
    place = 0
    while match := anywhere("suppose").search(text, place):
        limit = paragraph_end(text, match.end())
        again = _true_again().search(text, match.end(), limit)
        end = return_of_the_speaker(text, match.end(), again.start() if again else limit)
        place = max(match.end(), end)
        yield match.start(), place, "hypothetical"


def _jests(text: str) -> Iterator[Mark]:
    """A joke that is taken back: the sentence that does so, and the one before it."""
    place = 0
    while match := anywhere("jest").search(text, place):
        start = sentence_start(text, match.start())
        before = sentence_start(text, max(0, start - 2))
        place = max(match.end(), sentence_end(text, match.start()))
        yield before, place, "jest"
