"""Texts that the speaker asks to work on, and texts of others that the speaker announces."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import (
    QUOTATION,
    after_blanks,
    paragraph_end,
    quotation_end,
    return_of_the_speaker,
    sentence_start,
    text_end,
)
from palimpsest.extraction.testimony.lines import Mark, shape_of
from palimpsest.extraction.testimony.words import Phrases, anywhere, in_lines, whole
from palimpsest.text.sought import Sought

LONGEST_REQUEST = 240
WORDS_OF_A_LABEL = 2
_GIVES = re.compile(
    r"(?:here|this is|got|received|sent|hier|das ist|voici|c['’]est|aquí|est[ea] es|read|look"
    r"|lis|lies|lee|explain|answer|wrote)",
    re.IGNORECASE,
)
_NOT_BY_SPEAKER = r"(?<!\bi )(?<!\bich )(?<!\bje )"
_REQUEST = Phrases(
    ("work", "work_on_this"),
    before=_NOT_BY_SPEAKER,
    after=r"(?!\w)(?P<about>[^\n:.!?\"“„«»]{0,100}?)"
    r"(?:(?P<colon>[ ]?:)|(?P<line>[.!?]?[ \t]*\n)|(?P<stop>[.!?](?=\s|$)|$)"
    rf"|(?P<quote>(?={QUOTATION})))",
)
_WORK = Phrases(("work", "work_on_it"), before=_NOT_BY_SPEAKER, after=r"(?!\w)[^\n:]{0,80}$")
_LABELLED = Sought(
    r"(?:^|(?<=[.!?] ))[ \t*#-]*(?P<label>[^\n:.!?\"“„«]{2,60}?)\**[ ]?:[ ]+(?=\S)", re.MULTILINE
)


def announced(text: str) -> Iterator[Mark]:
    """All texts that a request or a label announces."""
    yield from _requests(text)
    yield from _introduced(text)
    yield from _labelled_sources(text)
    yield from _above(text)


def _requests(text: str) -> Iterator[Mark]:
    """Texts that follow a request to work on them."""
    place = 0
    while match := _REQUEST.search(text, place):
        place = match.end()
        mark = _of_request(text, match)
        if mark is not None:
            yield mark
            place = max(place, mark[1])


def _of_request(text: str, match: re.Match[str]) -> Mark | None:
    about = match["about"]
    names_it = any(anywhere(name).search(about) for name in ("this", "sources"))
    if _is_of_own_things(match, names_it=names_it) or anywhere("deferred").search(about):
        return None
    start = after_blanks(text, match.end())
    if match["quote"] is not None or match["colon"]:
        end = quotation_end(text, start)
        if end is not None:
            return start, end, "request"
    follows = names_it if match["line"] else anywhere("demonstratives").search(about) is not None
    is_announced = match["colon"] or (follows and (match["work"] or match["line"]))
    if match["quote"] is not None or start == len(text) or not is_announced:
        return None
    is_long = anywhere("long_things").search(about) is not None
    return start, text_end(text, match.end(), is_long=is_long), "request"


_MINE = re.compile(r"\s*(?P<mine>\w+) (?P<thing>[\w-]+)")


def _is_text(thing: str) -> bool:
    return any(anywhere(name).search(thing) for name in ("this", "sources", "works"))


def _is_of_own_things(match: re.Match[str], *, names_it: bool) -> bool:
    """Whether a request is about what the speaker says of themselves: "Check my plan: I moved"."""
    if anywhere("asks").search(match["about"]):
        return True
    is_own = anywhere("first_person").search(match["about"]) is not None
    thing = _MINE.match(match["about"])
    if thing and whole("first_person").fullmatch(thing["mine"]) and not _is_text(thing["thing"]):
        return True
    if match["work_on_this"]:
        return not names_it or (is_own and _GIVES.match(match["work_on_this"]) is not None)
    return is_own and not names_it


def _above(text: str) -> Iterator[Mark]:
    """Texts that stand before the request to work on them: such a request ends the text."""
    match = anywhere("above").search(text)
    if match:
        yield 0, match.start(), "request"
    body = text.rstrip()
    start = body.rfind("\n\n") + 2
    is_apart = start > 1
    if not is_apart:
        start = sentence_start(body, max(0, len(body) - 2))
    last = body[start:]
    if len(last) > LONGEST_REQUEST or not body[:start].strip():
        return
    if not (_WORK.may_begin(text, start) or anywhere("answers_it").may_begin(text, start)):
        return
    work = _WORK.search(last)
    is_asked = (work and anywhere("it").search(last, work.start())) or (
        is_apart and anywhere("answers_it").search(last)
    )
    if is_asked and not anywhere("deferred").search(last):
        yield 0, start, "request"


@cache
def _intro() -> Sought:
    return Sought(
        r"^(?P<line>[^\n]{2,200}?)(?:[:：][ \t]*\n|[.?!…]?[ \t]*\n[ \t]*\n)(?=\s*\S)", re.MULTILINE
    )


def _shows_itself(text: str, start: int) -> bool:
    """Whether what begins at a place is known as material by its form."""
    line = text[start : text.find("\n", start) if "\n" in text[start:] else len(text)]
    return line.startswith(("```", "~~~", ">")) or shape_of(line) is not None


def _labelled_sources(text: str) -> Iterator[Mark]:
    """Lines whose label says that a text of others follows: "Job ad: We are hiring"."""
    for match in _LABELLED.finditer(text):
        if _is_source(match["label"]):
            end = paragraph_end(text, match.end())
            yield match.end(), return_of_the_speaker(text, match.end(), end), "document"


def _is_source(label: str) -> bool:
    """Whether a label names a text of others, or a work in which nobody speaks of themselves."""
    is_short = len(label.split()) <= WORDS_OF_A_LABEL
    is_own_label = is_short and whole("own_labels").fullmatch(label) is not None
    if is_own_label or anywhere("about_oneself").search(label):
        return False
    if anywhere("works").search(label):
        return True
    is_own = anywhere("first_person").search(label) or anywhere("reports").search(label)
    return not is_own and anywhere("sources").search(label) is not None


def _introduced(text: str) -> Iterator[Mark]:
    """What a line announces that names a text of others: "This came from a customer:"."""
    for match in in_lines(_intro(), text):
        line = match["line"]
        is_colon = ":" in text[match.end("line") : match.end()]
        if _shows_itself(text, after_blanks(text, match.end())):
            continue
        if anywhere("about_oneself").search(line) or not anywhere("sources").search(line):
            continue
        names_it = anywhere("presents").search(line) is not None
        if is_colon or names_it:
            end = text_end(text, match.end(), is_long=True)
            yield match.end(), end, "request"
            return
