"""Decides whether a new value fits into the words of a known statement. A value that fits badly
would make the user say what nobody has said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from palimpsest.memory.meaning.reading import (
    PACKAGE,
    any_of,
    compiled,
    is_alike,
    is_meant_by,
    naming,
    spoken,
)
from palimpsest.text.analyser import function_words, words
from palimpsest.text.language import is_english
from palimpsest.text.word_files import filled_words

LEAST_SHARED = 0.5  # of the words that name something in the clause of the old value
LEAST_MOVED = 0.3  # of them, if the new statement says that the thing was moved
LEAST_NAMED = 0.1  # of them, if the old value itself is named
MOST_WORDS = 16  # of a statement that a correction without the old value can mean
_CLAUSE = re.compile(r"[,;.!?:)]\s|\s[(\u2013\u2014-]|[()]")
_UNIT = re.compile(r"\s([^\W\d_]+)")
CURRENCIES = "€$£"
_YEAR = re.compile(r"(?:19|20)\d\d")
_LABEL = re.compile(r"\((?:week of )?\d{4}(?:-\d\d){0,2}\)")


def is_short(content: str) -> bool:
    """Return whether a statement says so little that a bare value can only mean its one value."""
    return content.count(" ") < MOST_WORDS


def is_about(
    named: Sequence[str],
    content: str,
    place: tuple[int, int],
    *,
    names_old: bool = False,
    is_moved: bool = False,
) -> bool:
    """Return whether the part of a content around a value's place is about the things in `named`.
    With `names_old`, the old value was named too, so few of them are enough. With `is_moved`, the
    things are said to be moved, so fewer are enough. If the clause names nothing, the words of
    the whole content count.
    """
    start, end = place
    before = without_habits(_LABEL.sub(" ", content[:start]))
    after = without_habits(_LABEL.sub(" ", content[end:]))
    unit = _UNIT.match(after)
    if unit is not None and not names_old:  # a unit alone is not the thing
        after = after[unit.end() :]
    first = max((clause_start.end() for clause_start in _CLAUSE.finditer(before)), default=0)
    last = _CLAUSE.search(after)
    clause = f"{before[first:]} {after[: last.start() if last else None]}"
    whole = f"{before} {after}"
    own = naming(clause) or naming(whole) or words(spoken(whole))
    least = LEAST_MOVED if is_moved else LEAST_SHARED
    if names_old:
        least = LEAST_NAMED
    return sum(is_meant_by(word, named) for word in own) >= least * len(own)


def without_habits(text: str) -> str:
    """Return the text without words that say how often something is so: "usually"."""
    return any_of("habits").sub(" ", text)


def denies_in_english(match: re.Match[str]) -> bool:
    """Return whether the word before the group `old` of a match is the English "no", which denies
    no old value: "they wrote back, no coat". The Spanish "no" does: "té, no café", "no a las
    almendras sino a las nueces".
    """
    denial = match.string[: match.start("old")].casefold().split()[-1:]
    others = [word for word in words(match.string) if word != "no"]  # a word of both languages
    return denial == ["no"] and "sino" not in others and is_english(others)


def count_the_same(
    new: str, new_in: str, old: str, old_in: str, *, among: Sequence[str] | None = None
) -> bool:
    """Return whether two numbers may count the same thing, by the words after them in `new_in` and
    `old_in`. A year never replaces another number. If the old number is one of several, `among` has
    the words that name the thing. A new number without a unit then replaces none that counts
    something else.
    """
    if is_year(new) != is_year(old):
        return False
    unit, known = _unit(new_in), _unit(old_in)
    if not unit:
        return among is None or not known or is_meant_by(known, among)
    return bool(known) and is_alike(unit, known)


def is_year(number: str) -> bool:
    """Return whether a number is a year of this century or the last one."""
    return _YEAR.fullmatch(number) is not None


def _unit(after: str) -> str:
    unit = _UNIT.match(after)
    word = unit[1].casefold() if unit else ""
    return "" if word in function_words() else word


def form_of(value: str) -> str:
    """Return whether a value is a number or day, a name, or other words; empty if it names
    nothing or is a clause: "he drank coffee".
    """
    first, *_ = value.lstrip(f"{CURRENCIES}#").split() or [""]
    if number_or_day().match(first):
        return "number"
    if not naming(value) or value.casefold() in _pronouns() or _clause().match(value):
        return ""
    is_name = first[:1].isupper() and first.casefold() not in function_words()
    return "name" if is_name else "words"


@cache
def _clause() -> re.Pattern[str]:
    return compiled(r"(?:{clause_subjects}) \w|j['’]\w")  # noqa: RUF001 - two apostrophes


@cache
def _pronouns() -> frozenset[str]:
    return frozenset(filled_words(PACKAGE, ["{pronouns}"]))


@cache
def number_or_day() -> re.Pattern[str]:
    """Return a pattern for a word that is a number, a day of the week or a month."""
    return compiled("{number_or_day}")


def in_a_label(content: str, place: tuple[int, int]) -> bool:
    """Return whether a place is within the date that stands after a relative date."""
    start, end = place
    return any(label.start() <= start and end <= label.end() for label in _LABEL.finditer(content))
