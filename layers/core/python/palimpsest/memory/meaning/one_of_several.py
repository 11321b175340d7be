"""Takes one of several things out of a statement: "I play the guitar and the piano" becomes "I play
the piano" when the guitar is given up.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - two kinds of apostrophes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from palimpsest.memory.meaning.reading import any_of, classes, compiled, is_alike, shared
from palimpsest.memory.meaning.slots import singular
from palimpsest.text.folding import folded

MOST = 300  # characters of a statement that is read
MOST_BLANKS = 4  # in one of several things
MOST_BETWEEN = 1  # other words between those that name the thing
FEWEST_LEFT = 2  # words of what is left
_WORD = re.compile(r"[\w-]+")
_NUMBERS = ("one", "two", "three", "four", "five", "six")
_COUNTED = re.compile(rf"(?i)\b(?P<number>{'|'.join(_NUMBERS[1:])}|[2-6]) (?P<things>\w+s)$")
_TWO_WORDS = re.compile(r"[\w-]+ [\w-]+")
_NAME = re.compile(r"[A-ZÀ-Þ0-9]")
_CALLS = r",? (?:called|named|namens|qui s'appelle|llamad[oa]) "
_CALLED = re.compile(rf"{_CALLS}[\w-]+")
_WHAT_IS_CALLED = re.compile(rf"[\w-]+{_CALLS}$")
_OWN_PLACE = re.compile(r"\s+(?P<begins>\w+)[^,;.!?]*")
_I = re.compile(r"I\b")
_SUBJECT = re.compile(
    r"(?:\b(?:i|we|ich|wir|je|nous|on|yo)(?: (?:am|are|have|will|do not|don['’]t))?"
    r"|['’](?:m|re|ve|ll)|\bne) $|\bj['’]$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Separator:
    """What separates two of several things: a comma, or a word such as "and"."""

    start: int
    end: int
    word: str


@cache
def _separator() -> re.Pattern[str]:
    return compiled(r"\s*,\s+(?:(?P<last>{several})\s+)?|\s+(?P<word>{several})\s+")


@cache
def _determiners_before() -> re.Pattern[str]:
    return compiled(r"(?:(?<!\w)(?:(?:{determiners}|{number_words}|\d[\d.,]*)\s+|[ld]['’]))+$")


@cache
def _determiner() -> re.Pattern[str]:
    return compiled(r"(?:{determiners})\s|[ld]['’]")


@cache
def _next_thing() -> re.Pattern[str]:
    is_place = rf"(?:{shared('prepositions')}|at|per)\s"  # "one at night" names nothing
    return compiled(rf"(?:{{determiners}}|{{number_words}}|\d[\d.,]*)\s(?!{is_place})|[ld]['’]")


@cache
def _determined() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:(?:{determiners})\s|[ld]['’])[\w-]+$")


@cache
def _begins_clause() -> re.Pattern[str]:
    return compiled(
        r"(?:{determiners}) (?!(?:{number_words})\b)[\w-]+"
        r" (?!called\b|named\b)(?:\w+(?:ed|[^\Ws]s)|is|ist|hat|fährt|est|a|tiene)(?!\w)"
    )


@cache
def _may_follow() -> re.Pattern[str]:
    return compiled(r"[\s.!]*$|[,;]|\s+(?:{after_several})(?!\w)")


@cache
def _with_speaker() -> re.Pattern[str]:
    return compiled(r"\s+(?:{several})\s+(?:i|me|ich|moi|yo)\b")


def without_one(content: str, thing: Sequence[str]) -> str | None:
    """Return a statement without the thing that these folded words name, if it is one of several
    there. Return None if it is not, and if it is not clear what is left.
    """
    separators = [
        _Separator(match.start(), match.end(), match["last"] or match["word"] or "")
        for match in _separator().finditer(content[:MOST])
    ]
    place = _place_of(thing, content[:MOST], separators) if separators else None
    if place is None or _with_speaker().match(content, place[1]):
        return None
    left = _of_a_counted(content, place, separators) or _of_a_list(content, place, separators)
    if left is None or left.count(" ") + 1 < FEWEST_LEFT:
        return None
    return left[0].upper() + left[1:] if content[0].isupper() else left


def _place_of(
    thing: Sequence[str], content: str, separators: Sequence[_Separator]
) -> tuple[int, int] | None:
    """Return the place of the words for the thing in the only one of several things that has most
    of them.
    """
    words = list(_WORD.finditer(content))
    alike = [word for word in words if _is_form_of(folded(word[0]), thing)]
    matches = alike or [word for word in words if _is_of_class_of(folded(word[0]), thing)]
    named_by = [match for match in matches if not _is_verb(match, content)] or matches
    by_item: dict[int, list[re.Match[str]]] = {}
    for match in named_by:
        by_item.setdefault(
            sum(separator.end <= match.start() for separator in separators), []
        ).append(match)
    most = max(map(len, by_item.values()), default=0)
    best = [matches for matches in by_item.values() if len(matches) == most]
    if len(best) != 1:
        return None
    start, end = best[0][0].start(), best[0][-1].end()
    called = _WHAT_IS_CALLED.search(content, 0, start)
    start = called.start() if called else start
    is_close = content.count(" ", start, end) <= len(thing) + MOST_BETWEEN
    return (start, end) if is_close else None


def _is_form_of(word: str, thing: Sequence[str]) -> bool:
    return any(is_alike(word, named) for named in thing)


def _is_of_class_of(word: str, thing: Sequence[str]) -> bool:
    return any(classes(word) & classes(named) for named in thing)


def _is_verb(word: re.Match[str], content: str) -> bool:
    """Return whether a word is where the verb of a statement about the user is."""
    return word.start() == 0 or _SUBJECT.search(content, 0, word.start()) is not None


def _of_a_counted(
    content: str, place: tuple[int, int], separators: Sequence[_Separator]
) -> str | None:
    """Return the statement with one thing fewer: "one cat, Pia" of "two cats, Momo and Pia"."""
    for number, comma in enumerate(separators):
        counted = _COUNTED.search(content, 0, comma.start)
        if counted is None or comma.word or comma.end > place[0]:
            continue
        listed = content[comma.end :]
        inside = [
            _Separator(separator.start - comma.end, separator.end - comma.end, separator.word)
            for separator in separators[number + 1 :]
        ]
        if [separator.word for separator in inside].count("") != len(inside) - 1:
            return None
        left = _taken_out(
            listed, place[0] - comma.end, place[1] - comma.end, inside, start_of_first=0
        )
        if left is None:
            return None
        return (
            content[: counted.start()] + _fewer(counted) + content[comma.start : comma.end] + left
        )
    return None


def _fewer(counted: re.Match[str]) -> str:
    word, things = counted["number"], counted["things"]
    is_digit = word.isdigit()
    number = (int(word) if is_digit else _NUMBERS.index(word.casefold()) + 1) - 1
    written = str(number) if is_digit else _NUMBERS[number - 1]
    return f"{written} {things if number > 1 else singular(things)}"


def _of_a_list(
    content: str, place: tuple[int, int], separators: Sequence[_Separator]
) -> str | None:
    start, end = place
    if any(separator.end <= start for separator in separators):
        return _taken_out(content, start, end, separators, start_of_first=None)
    determiners = _determiners_before().search(content, 0, start)
    rest = content[separators[0].end :]
    if len(separators) == 1 and _begins_clause().match(rest):
        return rest
    is_list = any(separator.word for separator in separators)
    if not is_list or not _is_parallel(content, place, separators, determiners):
        return None
    first = determiners.start() if determiners else start
    return _taken_out(content, start, end, separators, start_of_first=first)


def _is_parallel(
    content: str,
    place: tuple[int, int],
    separators: Sequence[_Separator],
    determiners: re.Match[str] | None,
) -> bool:
    """Return whether what follows the first thing can take its place: both have an article, or the
    next one is a name or a plain word.
    """
    after, *later = separators
    between, rest = content[place[1] : after.start], content[after.end :]
    if determiners is not None:
        next_begins = _I if determiners.start() == 0 else _next_thing()
        is_short = between.count(" ") <= MOST_BLANKS
        return is_short and bool(next_begins.match(rest) and not _begins_clause().match(rest))
    word = _WORD.match(rest)
    if place[0] == 0 or between or word is None or any_of("deeds").fullmatch(word[0]):
        return False
    ends = (word.end(), two.end()) if (two := _TWO_WORDS.match(rest)) else (word.end(),)
    next_starts = {separator.start - after.end for separator in later}
    is_last = any(end in next_starts or _may_follow().match(rest, end) for end in ends)
    return is_last or bool(_NAME.match(rest) and not _I.match(rest))


def _taken_out(
    text: str, start: int, end: int, separators: Sequence[_Separator], *, start_of_first: int | None
) -> str | None:
    """Return the text without the thing at this place and without what separates it."""
    before = [separator for separator in separators if separator.end <= start]
    after = next((separator for separator in separators if separator.start >= end), None)
    if not before:
        return text[:start_of_first] + text[after.end :] if after else None
    last = before[-1]
    if not last.word:
        return _without_middle(text, start, last, after) if after else None
    called = _CALLED.match(text, end)
    end = called.end() if called else end
    if not _may_follow().match(text, end) or _are_one_subject(text, last):
        return None
    end = _end_with_its_place(text, last.start, end)
    return _joined(text[: last.start], before[:-1], last.word) + text[end:]


def _without_middle(text: str, start: int, before: _Separator, after: _Separator) -> str | None:
    """Return the text without the thing between two separators. Return None if it is the name of
    the thing before it ("a cat, Momo, and a dog"), or if other words are there.
    """
    determiner = _determiner().match(text, before.end)
    begins = determiner.end() if determiner else before.end
    is_name = determiner is None and _determined().search(text[: before.start]) is not None
    is_short = text.count(" ", before.end, after.start) < MOST_BLANKS
    if begins != start or is_name or not is_short:
        return None
    return text[: before.start] + text[after.start :]


def _are_one_subject(text: str, between: _Separator) -> bool:
    """Return whether the words on both sides are the subject of one sentence: "My wife and I"."""
    before = text[: between.start]
    is_speaker = any_of("clause_subjects").match(text, between.end) is not None
    return is_speaker and before.count(" ") <= 1 and any_of("clause_subjects").match(before) is None


def _end_with_its_place(text: str, start: int, end: int) -> int:
    """Return where the last of several things ends. Words such as "in Wales" belong to it if the
    other things have such words too: "a flat in Leeds and a cottage in Wales".
    """
    own = _OWN_PLACE.match(text, end)
    is_own = own is not None and re.search(rf"\b{own['begins']}\b", text[:start]) is not None
    return own.end() if own and is_own else end


def _joined(text: str, separators: Sequence[_Separator], word: str) -> str:
    """Return the list with the word before its last thing: "Netflix and Spotify"."""
    comma = separators[-1] if separators else None
    if comma is None or comma.word:
        return text
    thing = text[comma.end :]
    if thing.count(" ") >= MOST_BLANKS or any_of("first_persons").match(thing):
        return text
    return f"{text[: comma.start]} {word} {thing}"
