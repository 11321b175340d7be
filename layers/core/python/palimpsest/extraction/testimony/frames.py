"""Finds material that the speaker announces: texts to work on, quotations, fiction, role-play,
hypotheticals, wishes, examples, and jokes that are taken back.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.extraction.testimony.extents import (
    LONGEST_SENTENCE,
    after_blanks,
    begins_in_first_person,
    end_of_words,
    paragraph_end,
    quotation_end,
    return_of_the_speaker,
    sentence_end,
    sentence_start,
)
from palimpsest.extraction.testimony.heads import below_heads
from palimpsest.extraction.testimony.lines import Mark
from palimpsest.extraction.testimony.questions import asks_for_an_answer
from palimpsest.extraction.testimony.quotations import quotations
from palimpsest.extraction.testimony.requests import announced
from palimpsest.extraction.testimony.tasks import tasks
from palimpsest.extraction.testimony.words import (
    Phrases,
    anywhere,
    in_lines,
    lead_of_sentence,
    phrases,
    whole,
)
from palimpsest.text.sought import Sought

LONGEST_JOKE = 600
LONGEST_NOTICE = 80  # characters, in which a message takes a joke back
WORDS_OF_A_JOKE = 3
LONGEST_DENIAL = 40  # characters before what is denied
LONGEST_SUBJECT = 12  # characters before a verb of supposing


def frames(text: str) -> Iterator[Mark]:
    """Yield all material that the speaker announces."""
    yield from announced(text)
    yield from tasks(text)
    yield from below_heads(text)
    yield from quotations(text)
    yield from _sentences(text, "into", "request")
    yield from _sentences(text, "mentions", "request")
    yield from _sentences(text, "generic_says", "hypothetical")
    yield from _injected(text)
    yield from _actions(text)
    yield from _personas(text)
    yield from _fiction(text)
    yield from _hypotheticals(text)
    yield from _supposed(text)
    yield from _for_another(text)
    yield from _jests(text)
    play = play_begins(text)
    if play is not None:
        end = play_ends(text, play)
        yield play, _return_to_reality(text, play, end), "play"


def play_begins(text: str) -> int | None:
    """Return the beginning of a role-play that continues to the end of the text; None if there is
    none.
    """
    match = anywhere("play").search(text)
    if match is None or _is_denied(text, match.start()):
        return None
    start = sentence_start(text, match.start())
    is_real = anywhere("as_oneself").search(text, start, sentence_end(text, match.end() - 1))
    return None if is_real else start


_BLANK = r"[^\w\n,.;:!?…–—-]+"
"""What is between two words of one clause. In "No, pretend that", "no" denies nothing."""

_DENIES = (
    r"(?:no|not|never|without|nicht|kein\w*|ohne|ne|pas|sans|nunca|nada|sin|\w+n['’]t"
    r"|(?:do|does|did|is|are|was|were|wo|ca|could|should|would)nt)"
)
_WHY = rf"(?:why|warum|wieso|pourquoi|por qué){_BLANK}"
_CAN_WE = rf"(?:ca|could|wo|would)n['’]?t{_BLANK}(?:we|you){_BLANK}"
_DENIED = re.compile(
    rf"\b(?:(?P<can_we>{_CAN_WE})|(?P<why>{_WHY})?(?:{_DENIES}{_BLANK}){{1,2}})"
    rf"(?:\w+{_BLANK})?(?:(?:to|an?|the|ein\w*|de|une?|una){_BLANK})?\Z",
    re.IGNORECASE,
)


def _is_denied(text: str, place: int) -> bool:
    """Return whether words before a place deny what begins there: "don't", "this is not a". The
    questions "why don't we" and "can't we" deny nothing.
    """
    match = _DENIED.search(text, max(0, place - LONGEST_DENIAL), place)
    return match is not None and match["can_we"] is None and match["why"] is None


def play_ends(text: str, start: int = 0) -> int:
    """Return the end of a role-play that began before `start`; the end of the text if it
    continues.
    """
    match = anywhere("play_ends").search(text, start)
    if match is None:
        return len(text)
    end = sentence_end(text, match.start())
    goes_on = anywhere("first_person").search(text, match.end(), end) is not None
    return match.end() if goes_on else end


def only_stops(text: str) -> bool:
    """Return whether a message is only an order to stop, which ends a role-play before it."""
    return whole("stops_alone").fullmatch(text.strip(" \n.!*()[]")) is not None


_ACTION = Sought(r"[ \t]*\*(?=\w)[^*\n]{3,120}\*[ ]")
_TRUE_AGAIN = Phrases(("after_a_wish",), before="", after="")


def _sentences(text: str, name: str, reason: str) -> Iterator[Mark]:
    """Yield a span from each phrase of this name to the end of its order (`_order_end`)."""
    place = 0
    while match := anywhere(name).search(text, place):
        place = max(match.end(), _order_end(text, match, sentence_end(text, match.start())))
        yield match.start(), place, reason


_END_TAG = re.compile(r"</[a-zA-Z][\w:-]*>")


def _injected(text: str) -> Iterator[Mark]:
    """Yield orders to remember something of "the user", each with the rest of the brackets that it
    is in. In a marked-up text, such an order ends with its element.
    """
    for start, sentence, reason in _sentences(text, "injected", "injected"):
        tag = _END_TAG.search(text, start, sentence)
        end = sentence if tag is None else tag.end()
        closed = text.find("]", start)
        opened = text.rfind("[", 0, start) if closed > 0 else -1
        is_inside = opened >= 0 and "]" not in text[opened:start]
        yield (opened, closed + 1, reason) if is_inside else (start, end, reason)


def _order_end(text: str, match: re.Match[str], end: int) -> int:
    """Return the end of an order: that of its sentence, or the comma before the speaker's own
    statement in it.
    """
    own = anywhere("first_person").search(text, match.end(), end)
    comma = text.rfind(", ", match.end(), own.start()) + 1 if own is not None else 0
    is_apart = own is not None and comma > 0 and not text[comma : own.start()].strip()
    return comma if is_apart else end


@cache
def _persona() -> Phrases:
    own = rf"[ ]?(?:\w+ )?(?:{phrases('first_person')})(?!\w)"
    return Phrases(("persona",), before="", after=rf"(?!\w)(?:[^\n.!?,]|,(?!{own})){{0,400}}[.!?]*")


def _personas(text: str) -> Iterator[Mark]:
    """Yield sentences that give the assistant a role, such as "You are a pirate"."""
    for match in _persona().finditer(text):
        if lead_of_sentence(text, match.start()) is not None:
            yield match.start(), match.end(), "play"


def _actions(text: str) -> Iterator[Mark]:
    """Yield paragraphs that begin with an action of a character, such as "*enters the tavern*"."""
    for match in in_lines(_ACTION, text):
        yield match.start(), paragraph_end(text, match.end()), "play"


def _order_start(text: str, place: int) -> int:
    """Return where an order begins: at the beginning of its sentence, or after a statement of the
    speaker in that sentence.
    """
    start = sentence_start(text, place)
    lead = text[start:place].strip()
    is_stated = anywhere("first_person").search(text, start, place) is not None
    return (
        place
        if is_stated
        and lead.endswith((",", ";", " -", "–", " and", " und", " like", " wie", " comme", " como"))
        else start
    )


def _fiction(text: str) -> Iterator[Mark]:
    """Yield sentences that order or tell a story. If the narrator says "I", yield the whole
    paragraph.
    """
    place = 0
    while match := anywhere("fiction").search(text, place):
        start = _order_start(text, match.start())
        end = sentence_end(text, match.end() - 1)
        order = text[match.start() : end]
        quoted = _quoted_after_colon(text, match.start(), end)
        if quoted is not None:
            end = quoted
        elif ":" in order or anywhere("speaks_as").search(text, match.start(), end):
            end = return_of_the_speaker(text, end, paragraph_end(text, end))
        elif _orders_a_narrator(order):
            end = _told_by_i(text, end)
        yield max(start, place), end, "fiction"
        place = max(match.end(), end)


@cache
def _narrator() -> re.Pattern[str]:
    somebody = r"(?:an?|eine?[nrm]?|une?|una?) [^\n.!?:]{3,40}"
    teller = rf"(?: (?:for|of|by|from|as|für|von|pour|para|de) {somebody})?"
    return re.compile(
        rf"[^\n.!?:]{{3,60}}(?<!\w)(?:{phrases('told_by_i')}){teller}[ .!]*", re.IGNORECASE
    )


def _orders_a_narrator(order: str) -> bool:
    """Return whether an order asks for a text in which somebody says "I", such as a diary entry,
    and does not say what the text is about.
    """
    return _narrator().fullmatch(order) is not None


def _told_by_i(text: str, place: int) -> int:
    """Return the end of the sentences in the first person that follow an order at `place`."""
    start = after_blanks(text, place)
    is_told = "\n" not in text[place:start] and begins_in_first_person(
        text, start, sentence_end(text, start)
    )
    return end_of_words(text, start) if is_told else place


def _quoted_after_colon(text: str, start: int, end: int) -> int | None:
    """Return the end of a quotation that begins after a colon between two places; None if there is
    none.
    """
    colon = text.find(":", start, end)
    return None if colon < 0 else quotation_end(text, after_blanks(text, colon + 1))


def _hypotheticals(text: str) -> Iterator[Mark]:
    """Yield the parts of the text that state what would be, not what is. Such a part ends with its
    sentence, or where words state the fact.
    """
    place = 0
    while match := anywhere("hypothetical").search(text, place):
        end = sentence_end(text, match.start())
        again = _TRUE_AGAIN.search(text, match.end(), end)
        colon = text.find(": ", match.end(), end)
        end = again.end() if again else end
        place = max(match.end(), min(end, colon) if colon > 0 else end)
        yield _of_question(text, match.start(), end), place, "hypothetical"


def _of_question(text: str, place: int, end: int) -> int:
    """Return the beginning of the question in which something is supposed at `place`, as in "would
    I need a visa if I was Canadian?". If there is no such question, return `place`.
    """
    start = sentence_start(text, place)
    is_asked = text[start:end].rstrip().endswith("?")
    return start if is_asked and asks_for_an_answer(text[start:place]) else place


def _supposed(text: str) -> Iterator[Mark]:
    """Yield suppositions and examples. An example ends with its sentence, and so does a supposition
    from which nothing is asked. Other suppositions end with their question or their paragraph, or
    where the speaker speaks of themselves again.
    """
    place = 0
    while match := anywhere("suppose").search(text, place):
        place = match.end()
        if _is_aside(text, match):
            continue
        limit = paragraph_end(text, match.end())
        sentence = sentence_end(text, match.end())
        if whole("examples").match(text, match.start()) or _only_states(text, sentence):
            limit = min(limit, sentence)
        question_end = text.find("?", match.end(), limit) + 1
        limit = question_end or limit
        again = _TRUE_AGAIN.search(text, match.end(), limit)
        end = _return_to_reality(text, match.end(), again.start() if again else limit)
        place = max(match.end(), end)
        yield match.start(), place, "hypothetical"


def _for_another(text: str) -> Iterator[Mark]:
    """Yield questions that the speaker asks for somebody else, as in "asking for a friend: I'm
    pregnant, can I eat sushi?". If these words are a sentence of their own, the question is the
    sentence before them, or else the one after them.
    """
    for match in anywhere("for_another").finditer(text):
        start, end = sentence_start(text, match.start()), sentence_end(text, match.end())
        if any(map(str.isalnum, text[match.end() : end])):
            yield start, end, "hypothetical"
            continue
        before = text[:start].rstrip()
        if before.endswith("?"):
            yield sentence_start(text, len(before) - 1), end, "hypothetical"
        else:
            yield start, sentence_end(text, after_blanks(text, end)), "hypothetical"


def _only_states(text: str, place: int) -> bool:
    """Return whether the sentences after a place, of which there is at least one, are in the first
    person and ask for nothing.
    """
    start = after_blanks(text, place)
    if not 0 < len(text) - start < LONGEST_SENTENCE or "?" in text[start:]:
        return False
    while start < len(text):
        end = sentence_end(text, start)
        if not begins_in_first_person(text, start, end):
            return False
        start = after_blanks(text, end)
    return True


def _return_to_reality(text: str, start: int, end: int) -> int:
    """Return where the speaker speaks of themselves again after `start`, also with "in real life"
    within a sentence. Return `end` if they do not.
    """
    returns = return_of_the_speaker(text, start, end)
    real = anywhere("in_reality").search(text, start, returns)
    return returns if real is None else max(start, sentence_start(text, real.start()))


_SUPPOSED = re.compile(r"[,;:\s]*[\"“„«'‘(]?\w")
_SUPPOSES = re.compile(
    r"\b(?:i|we|they|he|she|(?<!can )(?<!could )you|ich|wir|er|sie|je|tu|il|elle|on|nous|yo) $",
    re.IGNORECASE,
)


def _is_aside(text: str, match: re.Match[str]) -> bool:
    """Return whether a verb of supposing opens no supposition, because nothing follows it or
    somebody is its subject: "Ha, imagine.", "the same again, I suppose".
    """
    if not match[0].isalpha():
        return False
    lead = text[max(0, match.start() - LONGEST_SUBJECT) : match.start()]
    return _SUPPOSED.match(text, match.end()) is None or _SUPPOSES.search(lead) is not None


def _jests(text: str) -> Iterator[Mark]:
    """Yield jokes that are taken back. These are the words before "just kidding" in its sentence,
    or in its line if "just kidding" begins a sentence. A pronoun after it may mean the subject of
    the joke. The words that name this subject are then the speaker's own, such as "My cat" in "My
    cat is called Stalin, nah jk, she's called Pepper".
    """
    place = 0
    while match := anywhere("jest").search(text, place):
        place = match.end()
        if _is_no_joke(text, match.start()):
            continue
        start = sentence_start(text, match.start())
        line = text.rfind("\n", 0, start) + 1
        is_alone = len(text[start : match.start()].split()) < WORDS_OF_A_JOKE
        before = max(line, start - LONGEST_JOKE) if is_alone else start
        if is_alone and not text[before:start].strip():
            before = sentence_start(text, max(0, start - 2))
        about = _OWN_THING.match(text, before)
        if about and about.end() < match.start() and _PRONOUN.match(text, match.end()):
            before = about.end()
        yield before, _jest_end(text, match.end()), "jest"


_OBJECT = re.compile(
    r"(?: [^\W\d_]+){0,2}?"
    r" (?:about|with|regarding|über|wegen|mit|bei|sur|avec|à propos|sobre|con|acerca)"
    r"(?: [^\W\d_][\w'’-]*){1,10}(?=[.!?…]|\n|$)",
    re.IGNORECASE,
)


def _jest_end(text: str, place: int) -> int:
    """Return the end of words after a joke that name its subject, such as "about the name"."""
    rest = _OBJECT.match(text, place)
    if rest is None or anywhere("first_person").search(text, place, rest.end()):
        return place
    return rest.end()


_OWN_THING = re.compile(
    r"\s*(?:my|our|mein\w*|unser\w*|mon|ma|mes|notre|mi|mis|nuestr\w+) \w+", re.IGNORECASE
)
_PRONOUN = re.compile(r"[\s,;.!–—-]*(?:she|he|it|they|sie|er|es|elle|il|ella|él)\b", re.IGNORECASE)
_BELIEVED = re.compile(
    r"\b(?:th(?:inks?|ought)|believes?d?|glaub\w*|denk\w*|croi\w*|pens\w*|cree\w*|piens\w*)"
    rf",?{_BLANK}(?:\w+{_BLANK})?\Z",
    re.IGNORECASE,
)


def _is_no_joke(text: str, place: int) -> bool:
    """Return whether words before "just kidding" deny that it is a joke, or say that others take it
    for one.
    """
    believed = _BELIEVED.search(text, max(0, place - LONGEST_DENIAL), place)
    return believed is not None or _is_denied(text, place)


def takes_back_a_joke(text: str) -> bool:
    """Return whether a message begins with words that take back a joke, such as "just kidding"."""
    match = anywhere("jest").search_before(text, LONGEST_NOTICE)
    if match is None or _is_no_joke(text, match.start()):
        return False
    return len(text[: match.start()].split()) < WORDS_OF_A_JOKE + 1
