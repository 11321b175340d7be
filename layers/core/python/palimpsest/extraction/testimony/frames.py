"""Material that the speaker announces: texts to work on, quotations, fiction, play, hypotheticals,
wishes, examples, and jokes that are taken back.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

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
from palimpsest.extraction.testimony.lines import Mark, shape_of
from palimpsest.extraction.testimony.words import Phrases, anywhere, in_lines, phrases, whole

_QUOTATION = rf"{OPENERS}|(?<=[\s:(])'(?=\w)"
_OPENING = re.compile(rf"{OPENERS}|(?<![\w'])'(?=\w)")
_CLOSING = frozenset("\"”“»«’'›‹」』`")
LEAST_QUOTATION, LEAST_SPACES = 8, 2
LONGEST_REQUEST = 240
LONGEST_JOKE = 600
WORDS_OF_A_REPORT = 2
WORDS_OF_A_LABEL = 2
LONGEST_NAME_OF_ANOTHER = 60
WORDS_OF_A_JOKE = 3
_GIVES = re.compile(
    r"(?:here|this is|got|received|sent|hier|das ist|voici|c['’]est|aquí|est[ea] es|read|look"
    r"|lis|lies|lee|explain|answer|wrote)",
    re.IGNORECASE,
)


def frames(text: str) -> Iterator[Mark]:
    """All material that the speaker announces."""
    yield from _requests(text)
    yield from _quotations(text)
    yield from _all_quotations(text)
    yield from _sentences(text, "into", "request")
    yield from _sentences(text, "mentions", "request")
    yield from _sentences(text, "generic_says", "hypothetical")
    yield from _sentences(text, "injected", "injected")
    yield from _introduced(text)
    yield from _labelled_sources(text)
    yield from _reported(text)
    yield from _above(text)
    yield from _personas(text)
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


_NOT_BY_SPEAKER = r"(?<!\bi )(?<!\bich )(?<!\bje )"
_REQUEST = Phrases(
    ("work", "work_on_this"),
    before=_NOT_BY_SPEAKER,
    after=r"(?!\w)(?P<about>[^\n:.!?\"“„«»]{0,100}?)"
    r"(?:(?P<colon>[ ]?:)|(?P<line>[.!?]?[ \t]*\n)|(?P<stop>[.!?](?=\s|$)|$)"
    rf"|(?P<quote>(?={_QUOTATION})))",
)
_QUOTING = Phrases(
    ("quoting",), before="", after=rf"(?!\w)[^\n.!?\"“„«]{{0,60}}?(?P<quote>{_QUOTATION})"
)
_WORK = Phrases(("work", "work_on_it"), before=_NOT_BY_SPEAKER, after=r"(?!\w)[^\n:]{0,80}$")
_TOLD = Phrases(("reports", "reports_to_me"), before="", after=r"(?!\w)[^\n.!?:]{0,40}[ ]?:(?=\s)")
_TRUE_AGAIN = Phrases(("after_a_wish",), before="", after="")


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
    names_it = anywhere("this").search(about) is not None
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


def _is_of_own_things(match: re.Match[str], *, names_it: bool) -> bool:
    """Whether a request is about what the speaker says of themselves: "Check my plan: I moved"."""
    if anywhere("asks").search(match["about"]):
        return True
    is_own = anywhere("first_person").search(match["about"]) is not None
    if match["work_on_this"]:
        return not names_it or (is_own and _GIVES.match(match["work_on_this"]) is not None)
    return is_own and not names_it


def _quotations(text: str) -> Iterator[Mark]:
    """What somebody else said, and words that are only mentioned."""
    place = 0
    while match := _QUOTING.search(text, place):
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
    work = _WORK.search(last)
    is_asked = (work and anywhere("it").search(last, work.start())) or (
        is_apart and anywhere("answers_it").search(last)
    )
    if is_asked and not anywhere("deferred").search(last):
        yield 0, start, "request"


@cache
def _intro() -> re.Pattern[str]:
    return re.compile(
        r"^(?P<line>[^\n]{2,200}?)(?:[:：][ \t]*\n|[.?!…]?[ \t]*\n[ \t]*\n)(?=\s*\S)", re.MULTILINE
    )


def _shows_itself(text: str, start: int) -> bool:
    """Whether what begins at a place is known as material by its form."""
    line = text[start : text.find("\n", start) if "\n" in text[start:] else len(text)]
    return line.startswith(("```", "~~~", ">")) or shape_of(line) is not None


_LABELLED = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t*#-]*(?P<label>[^\n:.!?\"“„«]{2,60}?)\**[ ]?:[ ]+(?=\S)", re.MULTILINE
)
_ACTION = re.compile(r"[ \t]*\*(?=\w)[^*\n]{3,120}\*[ ]")


def _labelled_sources(text: str) -> Iterator[Mark]:
    """Lines whose label says that a text of others follows: "Job ad: We are hiring"."""
    for match in _LABELLED.finditer(text):
        if _is_source(match["label"]):
            yield match.end(), paragraph_end(text, match.end()), "document"
    for match in in_lines(_ACTION, text):
        yield match.start(), paragraph_end(text, match.end()), "play"


def _is_source(label: str) -> bool:
    """Whether a label names a text of others, or a work in which nobody speaks of themselves."""
    words = len(label.split())
    is_own_label = words <= WORDS_OF_A_LABEL and whole("own_labels").fullmatch(label) is not None
    if anywhere("about_oneself").search(label) or (is_own_label and words == 1):
        return False
    if anywhere("works").search(label):
        return True
    is_own = anywhere("first_person").search(label) or anywhere("reports").search(label)
    return not (is_own or is_own_label) and anywhere("sources").search(label) is not None


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


@cache
def _goes() -> Phrases:
    own = phrases("first_person")
    return Phrases(("goes",), before="", after=rf"(?: like)?,?(?= (?:{own})(?!\w))")


_NAMED = re.compile(r"(?:\A|[.!?\n] ?)[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)? \Z")


@cache
def _other() -> re.Pattern[str]:
    """Somebody without a name, right before what they do."""
    return re.compile(rf"(?<!\w)(?:{phrases('others')})(?: [\w'’]+){{0,3}}?[ ]?\Z", re.IGNORECASE)


def _reported(text: str) -> Iterator[Mark]:
    """Words of somebody without a name, in direct speech."""
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
    """Sentences between paired marks, whoever said them."""
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
    """Whether the speaker orders that these words be used: they are no one's testimony, but the
    order would be lost without them.
    """
    asked = anywhere("uses_words").finditer(text, max(0, start - LONGEST_NAME_OF_ANOTHER), start)
    return any(match.end() >= start - 1 for match in asked)


@cache
def _persona() -> Phrases:
    own = rf"[ ]?(?:\w+ )?(?:{phrases('first_person')})(?!\w)"
    return Phrases(("persona",), before="", after=rf"(?!\w)(?:[^\n.!?,]|,(?!{own})){{0,400}}[.!?]*")


def _personas(text: str) -> Iterator[Mark]:
    """Sentences that tell the assistant who it is to be."""
    for match in _persona().finditer(text):
        if _persona().begins_sentence(text, match.start(), match.start() + 1) is not None:
            yield match.start(), match.end(), "play"


def _order_start(text: str, place: int) -> int:
    """Where an order begins: with its sentence, or after a statement of the speaker."""
    start = sentence_start(text, place)
    lead = text[start:place].strip()
    is_stated = anywhere("first_person").search(text, start, place) is not None
    return place if is_stated and lead.endswith((",", ";", " -", "–", " and", " und")) else start


def _fiction(text: str) -> Iterator[Mark]:
    """A sentence that orders or tells a story; its paragraph, if the story's teller says I."""
    place = 0
    while match := anywhere("fiction").search(text, place):
        start = _order_start(text, match.start())
        end = sentence_end(text, match.end() - 1)
        if anywhere("speaks_as").search(text, match.start(), end) or ":" in text[start:end]:
            end = return_of_the_speaker(text, end, paragraph_end(text, end))
        yield max(start, place), end, "fiction"
        place = max(match.end(), end)


def _hypotheticals(text: str) -> Iterator[Mark]:
    """What is not so: up to the end of the sentence, or to the words that say what is so."""
    place = 0
    while match := anywhere("hypothetical").search(text, place):
        end = sentence_end(text, match.start())
        again = _TRUE_AGAIN.search(text, match.end(), end)
        colon = text.find(": ", match.end(), end)
        end = again.end() if again else end
        place = max(match.end(), min(end, colon) if colon > 0 else end)
        yield match.start(), place, "hypothetical"


def _supposed(text: str) -> Iterator[Mark]:
    """What is supposed, or an example: its paragraph, until the speaker is back."""
    place = 0
    while match := anywhere("suppose").search(text, place):
        limit = paragraph_end(text, match.end())
        again = _TRUE_AGAIN.search(text, match.end(), limit)
        end = return_of_the_speaker(text, match.end(), again.start() if again else limit)
        place = max(match.end(), end)
        yield match.start(), place, "hypothetical"


def _jests(text: str) -> Iterator[Mark]:
    """A joke that is taken back: what stands before the words that do so, in their sentence, or in
    their line if they begin a sentence.
    """
    place = 0
    while match := anywhere("jest").search(text, place):
        place = match.end()
        if _is_denied(text, match.start()):
            continue
        start = sentence_start(text, match.start())
        line = text.rfind("\n", 0, start) + 1
        is_alone = len(text[start : match.start()].split()) < WORDS_OF_A_JOKE
        before = max(line, start - LONGEST_JOKE) if is_alone else start
        if is_alone and not text[before:start].strip():
            before = sentence_start(text, max(0, start - 2))
        yield before, match.end(), "jest"


_DENIES = re.compile(r"(?:\b(?:no|not|never|nicht|pas|sans|ne|nunca|kein\w*)|n['’]t)\W+"
                     r"(?:\w+\W+)?$",
                     re.IGNORECASE)  # fmt: skip


def _is_denied(text: str, place: int) -> bool:
    return _DENIES.search(text[max(0, place - 24) : place]) is not None


def takes_back_a_joke(text: str) -> bool:
    """Whether a message begins with the words that take a joke back."""
    match = anywhere("jest").search(text[:80])
    if match is None or _is_denied(text, match.start()):
        return False
    return len(text[: match.start()].split()) < WORDS_OF_A_JOKE + 1
