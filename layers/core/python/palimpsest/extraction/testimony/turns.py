"""Reads the turns of a pasted conversation, with the speaker of each line."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.extraction.testimony.lines import Mark, paragraphs
from palimpsest.extraction.testimony.words import is_order, is_own_label, whole
from palimpsest.text.analyser import function_words

LONGEST_READ = 400
"""How many characters of a line are read."""

LEAST_TURNS = 2
LEAST_SPEAKERS = 2
MOST_WORDS_OF_A_NAME = 3
MOST_WORDS_SHOWN = 2
UNKNOWN = "Somebody"
"""The label of a line whose speaker is a number, or has a name that would look like another label.
"""

_NAME = r"[^\W\d_][\w.'’ -]{0,30}?"
_PICTURE = r"(?:[ ]?[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]){0,6}"
"""Pictures after a name, as in chats."""
_DAY = r"(?:\d{1,4}[-./]\d{1,2}(?:[-./]\d{1,4})?\.?|[A-Z][a-z]{2,8} \d{1,2}|[A-Z][a-zà-ÿ]{4,9})"
_CLOCK = r"\d{1,2}[:.h]\d\d(?::\d\d)?(?:[  ]?[AaPp]\.?[Mm]\.?)?"
_TIME = rf"(?:{_DAY}(?:,| at| um| à| a las)?[  ])?{_CLOCK}(?:,[ ]{_DAY})?"
_STAMP = rf"(?:\[{_TIME}\]|\({_TIME}\)|{_TIME})"
_TURN = re.compile(
    rf"[ \t]*(?:[-*•][ ])?(?:"
    rf"{_STAMP}(?:[ ]?[-–—|][ ]|[ ]?)<?@?(?P<stamped>{_NAME}|\+?\d[\d ()-]{{6,20}})>?{_PICTURE}"
    r"[ ]?(?::(?:[ ]|$)|(?<=>)[ ])"
    rf"|<[@+%~& ]?(?P<nick>{_NAME})>[ ]"
    rf"|\*{{0,2}}@?(?P<timed>{_NAME})\*{{0,2}},?[ ]{_STAMP}[ ]?:(?:[ ]|$)"
    rf"|(?P<prompt>[a-z][\w-]{{1,20}})>[ ]"
    rf"|\*{{0,2}}@?(?P<label>[^\W\d_][\w.'’-]*(?:[ ][\w.'’-]+){{0,2}})\*{{0,2}}"
    rf"{_PICTURE}(?:[ ]\([^)\n]{{1,20}}\))?[ ]?:\*{{0,2}}(?![/\w])[ ]?"
    rf"|[«‹\[(][ ]?@?(?P<enclosed>{_NAME}),?[ ]{_TIME}[ ]?[»›\])]:?[ ]"
    r"|(?P<number>\+\d[\d ()-]{6,20})[ ]?:[ ]"
    rf"|\[(?P<boxed>[A-ZÀ-Þ][\w.'’-]{{1,20}})\][ ](?=\S)"
    rf"|(?P<arrow>[A-ZÀ-Þ][\w.'’-]{{1,20}})[ ](?:->|→|=>|»|>>)[ ](?=\S)"
    r")"
)
_HEADER = re.compile(
    rf"[ \t]*(?:{_STAMP}[ ]{{1,4}}(?P<after>{_NAME})"
    rf"|\*{{0,2}}(?P<name>{_NAME})\*{{0,2}},?[ ]{{1,4}}(?:APP[ ]+)?(?:[—–-][ ])?"
    rf"(?:\w+(?: at| um| à)?[ ])?\[?\(?{_TIME}\)?\]?)[ \t]*"
)
_CLOCK_OR_LABEL = re.compile(r"[:>→»]|\d[:.h]\d\d|^\[[A-ZÀ-Þ]", re.MULTILINE)
"""Marks in a text. Every line that names its speaker has at least one of them."""
_ADDRESS = re.compile(r"\b(?:https?|mailto|note|re|fwd?|aw|wg)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A line that somebody says. `words` is where the words begin. `sure` is true if more than a
    name and a colon shows that somebody speaks. `is_rare` is true if its form, such as "[Priya]
    hi", shows a speaker only if other lines of the text have this form too.
    """

    start: int
    end: int
    words: int
    name: str
    sure: bool
    is_rare: bool = False


_ENDS_IN_TIME = re.compile(r"^[^\n:]{1,60}:\d\d[^\n:]{0,8}$", re.MULTILINE)
_PLAIN_HEADER = re.compile(r"[^\n]*?\w[ ]\d{1,2}[:.h]\d\d[ \t]*")


def is_name(label: str, *, sure: bool = False) -> bool:
    """Return whether a label can be a person's name."""
    words = label.split()
    if is_own_label(label) or _ADDRESS.search(label) or is_order(label):
        return False
    if sure:
        return True
    if len(words) > 1 and words[0].casefold() in function_words():
        return False
    return (
        len(words) <= MOST_WORDS_OF_A_NAME
        and all(word[:1].isupper() for word in words)
        and not (label.isupper() and len(label) > MOST_WORDS_OF_A_NAME)
    )


@lru_cache(maxsize=16)
def turns(text: str) -> tuple[SpokenLine, ...]:
    """Return the spoken lines of a text, each with the name of its speaker. A line without a name
    between two turns belongs to the turn before it.
    """
    if _CLOCK_OR_LABEL.search(text) is None:
        return ()
    spoken: list[SpokenLine] = []
    headers = sum(1 for line in _ENDS_IN_TIME.finditer(text) if _HEADER.fullmatch(line[0]))
    speaking: str | None = None
    for lines in paragraphs(text):
        lines_of_paragraph, speaking = _of_paragraph(lines, speaking, headed=headers >= LEAST_TURNS)
        spoken += lines_of_paragraph
    return tuple(spoken)


def _of_paragraph(
    lines: list[tuple[int, str]], speaking: str | None, *, headed: bool
) -> tuple[list[SpokenLine], str | None]:
    """Return the turns of a paragraph. If it ends with a header alone, also return the speaker who
    continues.
    """
    labelled_lines = _labelled_lines(lines, headed=headed)
    are_turns = _are_turns(labelled_lines)
    last = max((place for place, label in enumerate(labelled_lines) if label), default=-1)
    spoken: list[SpokenLine] = []
    speaker, is_below_header = speaking, speaking is not None
    for place, (start, line) in enumerate(lines):
        turn = labelled_lines[place]
        if turn is not None and are_turns[place]:
            speaker, is_below_header = turn.name, turn.words >= start + len(line.rstrip())
            spoken.append(turn)
        elif turn is not None:
            # A label that names nobody ends the turn before it.
            speaker, is_below_header = None, False
        elif speaker is not None and (is_below_header or place < last):
            spoken.append(SpokenLine(start, start + len(line), start, speaker, sure=True))
    ends_with_header = is_below_header and bool(labelled_lines) and labelled_lines[-1] is not None
    return spoken, speaker if ends_with_header else None


def _labelled_lines(lines: list[tuple[int, str]], *, headed: bool) -> list[SpokenLine | None]:
    """Return, for each line, the turn that its label would begin. Labels of a rare form count only
    beside others of such a form.
    """
    labelled_lines = [_head(start, line, headed=headed) for start, line in lines]
    if sum(turn is not None and turn.is_rare for turn in labelled_lines) >= LEAST_TURNS:
        return labelled_lines
    return [None if turn is None or turn.is_rare else turn for turn in labelled_lines]


def _are_turns(labelled_lines: list[SpokenLine | None]) -> list[bool]:
    """Return, for each line, whether its label names a speaker. A label and a colon alone do so
    only if the other labels of the paragraph agree.
    """
    labels = Counter(turn.name for turn in labelled_lines if turn and not turn.sure)
    repeated = max(labels.values(), default=0) >= LEAST_TURNS
    # If all labels differ, and one of them belongs to the speaker's own words ("PS"), the labels
    # are those of a form.
    is_form = not repeated and any(is_own_label(label) for label in labels)
    is_talk = repeated or len(labels) >= LEAST_TURNS
    return [
        turn is not None and (turn.sure or _counts(turn.name, is_form=is_form, is_talk=is_talk))
        for turn in labelled_lines
    ]


def _counts(label: str, *, is_form: bool, is_talk: bool) -> bool:
    if is_form or is_own_label(label) or _ADDRESS.search(label) or is_order(label):
        return False
    return is_name(label) or (is_talk and len(label.split()) == 1 and not label.isupper())


def _head(start: int, line: str, *, headed: bool) -> SpokenLine | None:
    """Return the turn that a line begins, whatever name is its label."""
    seen = line.rstrip()[:LONGEST_READ]
    header = _HEADER.fullmatch(seen)
    if header:
        name = (header["after"] or header["name"]).strip()
        is_handle = headed and " " not in name
        is_person = len(name.split()) <= MOST_WORDS_OF_A_NAME
        is_person = is_person and (name[:1].isupper() or is_handle)
        is_plain = _PLAIN_HEADER.fullmatch(seen) is not None
        if is_person and is_name(name, sure=True) and (headed or not is_plain):
            return SpokenLine(start, start + len(line), start + len(line), name, sure=True)
        return None
    match = _TURN.match(seen)
    if match is None or match.lastgroup is None:
        return None
    name = match[match.lastgroup].strip()
    is_rare = match.lastgroup in ("boxed", "arrow")
    is_sure = match.lastgroup != "label" and not is_rare
    return SpokenLine(start, start + len(line), start + match.end(), name, is_sure, is_rare)


def _shown(name: str) -> str:
    """Return a name in the form of a label that this module can read again."""
    if not name[:1].isalpha():
        return UNKNOWN
    words = [word[:1].upper() + word[1:] for word in name.replace("’", "'").split()]
    shown = " ".join(words[:MOST_WORDS_SHOWN])
    return UNKNOWN if is_own_label(shown) else shown


def names_of(user: str | None) -> frozenset[str]:
    """Return the names that label a user's lines, in lower case."""
    name = (user or "").casefold()
    words = re.split("[._ -]+", name)
    return frozenset({name, words[0], " ".join(words)}) - {""}


def without_own_turns(mark: Mark, text: str, *, user: str | None) -> Iterator[Mark]:
    """Yield the mark without the user's own lines, if the marked text is a conversation that the
    user asks to work on. `user` is the name that the user signs with.
    """
    start, end, reason = mark
    names = names_of(user)
    spoken = turns(text) if reason == "request" and names else ()
    inside = [turn for turn in spoken if start <= turn.start and turn.end <= end]
    if len({turn.name for turn in inside}) >= LEAST_SPEAKERS:
        for turn in inside:
            if turn.name.casefold() in names:
                yield start, turn.start, reason
                start = turn.end
    yield start, end, reason


def labelled(text: str, *, is_own: frozenset[str]) -> str:
    """Return the text with each turn as `Name: words`. The user's own turns have no name. `is_own`
    has the user's names in lower case.
    """
    spoken = turns(text)
    if not spoken:
        return text
    return "".join(_rewritten(text, spoken, is_own))


def _rewritten(text: str, spoken: tuple[SpokenLine, ...], is_own: frozenset[str]) -> Iterator[str]:
    place = 0
    for turn in spoken:
        yield text[place : turn.start]
        place = turn.end
        words = text[turn.words : turn.end]
        is_user = whole("self_labels").fullmatch(turn.name) or turn.name.casefold() in is_own
        if is_user or not words.strip():
            yield words or "\n"
        else:
            yield f"{_shown(turn.name)}: {words.lstrip()}"
    yield text[place:]
