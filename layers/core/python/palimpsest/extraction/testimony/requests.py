"""Finds texts that the speaker asks to work on, and texts of others that the speaker announces."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator, Sequence
from functools import cache

from palimpsest.extraction.testimony.extents import (
    QUOTATION,
    after_blanks,
    begins_in_first_person,
    line_end,
    paragraph_end,
    quotation_end,
    return_of_the_speaker,
    sentence_end,
    sentence_start,
    text_end,
)
from palimpsest.extraction.testimony.heads import LONGEST_CONVERSATION, end_below, text_below
from palimpsest.extraction.testimony.lines import Mark, shape_of
from palimpsest.extraction.testimony.turns import turns
from palimpsest.extraction.testimony.words import (
    Phrases,
    anywhere,
    in_lines,
    is_own_label,
    phrases,
    whole,
)
from palimpsest.text.sought import Sought

LONGEST_REQUEST = 240
_IS_ORDER = re.compile(
    r"\s*(?:draft|script|sketch|sample) (?:me |us )?(?:an?|the|some)\b|te cuento", re.IGNORECASE
)
_PRESENTS = re.compile(
    r"here(?:['’]s| is)|this is|hier(?: ist)?|das ist|voici|c['’]est|aquí(?: está| tienes)?"
    r"|est[ea] es",
    re.IGNORECASE,
)
WORDS_OF_A_LABEL = 2
FEWEST_WORDS_OF_A_TEXT = 2  # one word after a label is a value: "Exam result: 74"
_GIVES = re.compile(
    r"(?:here|this is|got|received|sent|hier|das ist|voici|c['’]est|aquí|est[ea] es|read|look"
    r"|lis|lies|lee|explain|answer|wrote)",
    re.IGNORECASE,
)
# "I translate" states something about the speaker. "Translate" alone asks for work.
_NOT_BY_SPEAKER = r"(?<!\bi )(?<!\bich )(?<!\bje )"
_REQUEST = Phrases(
    ("work", "work_on_it", "work_on_this"),
    before=_NOT_BY_SPEAKER,
    after=r"(?!\w)(?P<about>[^\n:.!?\"“„«»]{0,100}?)"
    r"(?:(?P<colon>[ ]?:|[ ][-–—](?=[ ]))|(?P<line>[.!?]?[ \t]*\n)|(?P<stop>[.!?](?=\s|$)|$)"
    rf"|(?P<quote>(?={QUOTATION})))",
)
_WORK = Phrases(("work", "work_on_it"), before=_NOT_BY_SPEAKER, after=r"(?!\w)[^\n:]{0,80}$")
_FIRST_LINE = re.compile(r"\s*+(?P<head>[^\n]{4,240}?[?:.!…]?)[ \t]*+\n\s*+(?=\S)")
_LABELLED = Sought(
    r"(?:(?P<line>^)|(?<=[.!?] ))[ \t*#-]*(?P<label>[^\n:.!?\"“„«]{2,60}?)\**[ ]?:[ ]+(?=\S)",
    re.MULTILINE,
)

_OF_OTHERS = re.compile(
    r"\b(?:his|her|their|sein\w*|ihre?n?|son|sa|ses|leurs?|sus?|\w+['’]s) [\w-]+$", re.IGNORECASE
)


def announced(text: str) -> Iterator[Mark]:
    """Yield all texts that a request or a label announces."""
    yield from _requests(text)
    yield from _introduced(text)
    yield from _labelled_sources(text)
    yield from _above(text)
    yield from _below(text)


def _requests(text: str) -> Iterator[Mark]:
    """Yield texts that follow a request to work on them."""
    place = 0
    while match := _REQUEST.search(text, place):
        place = match.start() + 1  # a request may hold another one: "here is my bio, improve it:"
        mark = _of_request(text, match)
        if mark is not None:
            yield mark
            place = max(match.end(), mark[1])


def _of_request(text: str, match: re.Match[str]) -> Mark | None:
    about = match["about"]
    names_it = any(anywhere(name).search(about) for name in ("this", "sources"))
    if _is_of_own_things(match, names_it=names_it) or anywhere("deferred").search(about):
        return None
    if match["quote"] is not None and text[match.end() - 1].isalnum():
        return None  # the request is itself in the quotation that ends here
    start = after_blanks(text, match.end())
    is_conversation = _is_conversation(text, start)
    if (match["quote"] is not None or match["colon"]) and not is_conversation:
        end = quotation_end(text, start)
        if end is not None:
            return start, end, "request"
    is_announced = bool(match["colon"]) or (
        _announces(match, names_it=names_it)
        and not _orders_fiction(text, match)
        and not _only_arrives(text, match, start)
    )
    if match["quote"] is not None or start == len(text) or not is_announced:
        return None
    if _only_gives(match) and is_conversation:
        return None
    return (*_extent_of_text(text, match, start), "request")


def _orders_fiction(text: str, match: re.Match[str]) -> bool:
    """Return whether a request is a complete order of a story."""
    return any(order.start() == match.start() for order in _fiction_in(text, match))


def _fiction_in(text: str, match: re.Match[str]) -> Iterator[re.Match[str]]:
    return anywhere("fiction").finditer(text, match.start(), match.end())


@cache
def _arrival() -> re.Pattern[str]:
    return re.compile(rf"(?:{phrases('arrives')})", re.IGNORECASE)


def _only_arrives(text: str, match: re.Match[str], start: int) -> bool:
    """Return whether a sentence says that a text arrived, and the words on its line from `start` on
    are no such text, because they begin in the first person and speak to nobody.
    """
    offer = match["work_on_this"]
    if offer is None or match["stop"] is None or _arrival().fullmatch(offer) is None:
        return False
    end = sentence_end(text, start)
    is_below = "\n" in text[match.end() : start]
    speaks_to_somebody = _YOU.search(text, start, end) is not None
    return not (is_below or speaks_to_somebody) and begins_in_first_person(text, start, end)


_YOU = re.compile(
    r"\b(?:you|your|du|dir|dich|dein\w*|euch|euer|eure|tu|te|toi|ton|tes|vous|votre|vos|tú|ti|usted"
    r"|tus|os)\b",
    re.IGNORECASE,
)


def _extent_of_text(text: str, match: re.Match[str], start: int) -> tuple[int, int]:
    """Return beginning and end of the text that follows a request at `start`, or that is below the
    head of the message.
    """
    is_below = match["line"] is not None or "\n\n" in text[match.end() : start]
    below = start if is_below else None
    if match["stop"]:
        below = text_below(text, match.end())
    if below is not None:
        return below, end_below(text, below)
    is_long = anywhere("long_things").search(match["about"]) is not None
    is_long = is_long and not _orders_fiction(text, match)
    return start, text_end(text, match.end(), is_long=is_long)


def _announces(match: re.Match[str], *, names_it: bool) -> bool:
    """Return whether a request without a colon is about the text after it. `names_it` is true if
    the request names a text.
    """
    about, on_it = match["about"], bool(match["work_on_it"])
    is_bare = bool(match["work"] or on_it) and _is_bare(about)
    names_it = names_it or is_bare or on_it or anywhere("of_anothers").search(about) is not None
    # A request at the end of its line is about the text below. A request within a line must point
    # at its text.
    points = names_it if match["line"] else anywhere("demonstratives").search(about) is not None
    if not (points or (is_bare and bool(about.strip()) and not on_it)):
        return False
    is_named = names_it and bool(match["stop"]) and anywhere("sources").search(about) is not None
    return bool(match["work"] or match["line"] or is_named)


def is_without_text(line: str) -> bool:
    """Return whether a line asks for work on a text but does not contain the text, as "Make this
    profile shorter" does.
    """
    for match in _REQUEST.finditer(line):
        about, of_it = match["about"], match["work_on_it"]
        is_at_end = match["quote"] is None and after_blanks(line, match.end()) == len(line)
        names_it = any(anywhere(name).search(of_it or about) for name in ("this", "sources"))
        is_alone = bool(match["work"] and about.strip()) and _is_bare(about)
        is_alone = is_alone or bool(of_it and match["colon"])
        points = bool(of_it or match["colon"] or anywhere("demonstratives").search(about))
        if is_at_end and (is_alone or (names_it and points)):
            return not _is_of_own_things(match, names_it=names_it)
    return False


def _only_gives(match: re.Match[str]) -> bool:
    """Return whether words only present a text, without a task, as "here's the chat" does."""
    offer = match["work_on_this"]
    return offer is not None and _PRESENTS.fullmatch(offer) is not None


def _is_conversation(text: str, start: int) -> bool:
    """Return whether a line with the name of its speaker begins at a place. Such lines are
    statements of their speakers, and the user may be one of them.
    """
    lines = turns(text[start : start + LONGEST_CONVERSATION])
    return bool(lines) and lines[0].start == 0


_MINE = re.compile(r"\s*(?P<mine>\w+) (?P<thing>[\w-]+)")


def _is_text(thing: str) -> bool:
    return any(anywhere(name).search(thing) for name in ("this", "sources", "works"))


def _is_of_own_things(match: re.Match[str], *, names_it: bool) -> bool:
    """Return whether a request is followed by the speaker's statements about themselves, as in
    "Check my plan: I moved".
    """
    about = match["about"]
    if any(anywhere(name).search(about) for name in ("asks", "from_my", "turns_to_oneself")):
        return True
    if anywhere("of_anothers").search(about):
        return False
    is_own = anywhere("first_person").search(match["about"]) is not None
    thing = _MINE.match(match["about"])
    if thing and whole("first_person").fullmatch(thing["mine"]) and not _is_text(thing["thing"]):
        return True
    if match["work_on_this"]:
        return not names_it or (is_own and _GIVES.match(match["work_on_this"]) is not None)
    return is_own and not names_it


@cache
def _bare() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:(?:{phrases('bare_objects')})(?!\w)\W*)*", re.IGNORECASE)


def _is_bare(about: str) -> bool:
    """Return whether words after a request name nothing to work on. The request is then about the
    text around it.
    """
    return _bare().fullmatch(about) is not None


def _below(text: str) -> Iterator[Mark]:
    """Yield the text below a question about it, such as "Is this a scam?"."""
    head = _FIRST_LINE.match(text)
    if head is None or not anywhere("asks_of_text").search(text, 0, head.end("head")):
        return
    if anywhere("first_person").search(text, head.end(), sentence_end(text, head.end())):
        is_apart = "\n\n" in head[0]
        if not is_apart and not anywhere("sources").search(text, 0, head.end("head")):
            return
    yield head.end(), end_below(text, head.end()), "request"


def _above(text: str) -> Iterator[Mark]:
    """Yield the texts before a request to work on them. Such a request is at the end of the
    message.
    """
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
    points = last.lstrip().startswith(_POINTERS)
    if not (points or any(request.may_begin(text, start) for request in _of_a_text())):
        return
    work = _WORK.search(last)
    is_line = is_apart or body[start - 1 : start] == "\n"
    is_asked = (
        points
        or (work and _names_the_text(last, work, is_line=is_line))
        or (is_line and any(anywhere(name).search(last) for name in _ANSWERED[not is_apart :]))
    )
    if is_asked and not anywhere("deferred").search(last):
        yield 0, start, "request"


_POINTERS = ("^", "<-", "←", "↑")
_ANSWERED = ("answers_it", "asks_of_text")
"""Two lists of requests below a text: to answer it, and to ask about it. Right below the text,
without an empty line between, only the second list counts.
"""


def _of_a_text() -> Sequence[Phrases]:
    """Return lists of phrases. Every request below a text has a phrase of one of them, unless it
    points at the text with a sign such as "^".
    """
    return (_WORK, *map(anywhere, _ANSWERED))


def _names_the_text(last: str, work: re.Match[str], *, is_line: bool) -> bool:
    """Return whether a request below a text is about that text: it says "it", or it is a line of
    its own that names nothing else to work on.
    """
    if work["work_on_it"] or anywhere("it").search(last, work.end("work")):
        return True
    return is_line and bool(work["work"]) and _is_bare(last[work.end("work") :])


@cache
def _intro() -> Sought:
    return Sought(
        r"^(?P<line>[^\n]{2,200}?)(?:[:：][ \t]*\n|[.?!…]?[ \t]*\n[ \t]*\n)(?=\s*\S)", re.MULTILINE
    )


def _shows_itself(text: str, start: int) -> bool:
    """Return whether the text that begins at a place is material by its form."""
    line = text[start : line_end(text, start)]
    return line.startswith(("```", "~~~", ">")) or shape_of(line) is not None


def _labelled_sources(text: str) -> Iterator[Mark]:
    """Yield texts whose label announces words of others, as in "Job ad: We are hiring". If the text
    is on the line of the label, only a label that names these others counts, as in "Her answers: I
    live alone". Other labels may come before the speaker's own news, as in "Survey came: damp in
    the chimney".
    """
    for match in _LABELLED.finditer(text):
        if "(" in match["label"] and ")" not in match["label"]:
            continue
        is_label = match["line"] is not None or _OF_OTHERS.search(match["label"]) is not None
        if is_label and _is_source(match["label"]):
            quoted = quotation_end(text, match.end())
            end = quoted or paragraph_end(text, match.end())
            if text.count(" ", match.end(), end) + 1 >= FEWEST_WORDS_OF_A_TEXT:
                yield match.end(), return_of_the_speaker(text, match.end(), end), "document"


def _is_source(label: str) -> bool:
    """Return whether a label names a text of others, or a work in which nobody speaks of
    themselves.
    """
    is_short = len(label.split()) <= WORDS_OF_A_LABEL
    if (is_short and is_own_label(label)) or anywhere("about_oneself").search(label):
        return False
    work = anywhere("works").search(label)
    if work is not None and not _IS_ORDER.match(label):
        return True
    is_own = anywhere("first_person").search(label) or anywhere("reports").search(label)
    return not is_own and anywhere("sources").search(label) is not None


def _is_about_oneself(line: str) -> bool:
    """Return whether a line announces facts about the speaker. "Here's the listing I want to
    answer" announces a listing.
    """
    own, shown = anywhere("about_oneself").search(line), anywhere("presents").search(line)
    source = anywhere("sources").search(line, shown.end()) if shown else None
    tells_of_it = source is not None and own is not None and own.start() == source.end() + 1
    return own is not None and not (tells_of_it and line[own.start() - 1] == " ")


def _introduced(text: str) -> Iterator[Mark]:
    """Yield the text after a line that announces words of others, such as "This came from a
    customer:".
    """
    for match in in_lines(_intro(), text):
        line = match["line"]
        is_colon = ":" in text[match.end("line") : match.end()]
        if _shows_itself(text, after_blanks(text, match.end())):
            continue
        is_verse = is_colon and anywhere("verses").search(line) is not None
        is_own = _is_about_oneself(line) and not is_verse
        if is_own or not (is_verse or anywhere("sources").search(line)):
            continue
        names_it = anywhere("presents").search(line) is not None
        if is_colon or names_it:
            yield match.end(), end_below(text, after_blanks(text, match.end())), "request"
            return
