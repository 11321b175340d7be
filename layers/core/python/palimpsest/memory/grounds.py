"""Finds the facts that another fact rests on, as a commute rests on the place of the home."""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from functools import cache
from typing import Final

from palimpsest.memory.times import tense_of
from palimpsest.text.word_files import entries, word_files

PACKAGE: Final = "palimpsest.memory"
MOST_GROUNDS = 16  # of one record
LEAST_LETTERS = 2  # of a value
_CAPITAL = re.compile(r"(?<=[^\W\d_] )[A-ZÀ-Þ][\w'&-]+")
_FIRST_PERSON = re.compile(r"(?:I|I['’]\w+)")


def topics_of_grounds() -> tuple[str, ...]:
    """Return the topics on which other facts rest."""
    return tuple(dict.fromkeys(topic for file in _rules() for topic in file))


def may_rest_on(content: str) -> tuple[str, ...]:
    """Return the topics whose value a fact of the user depends on by its kind, as a rent depends on
    the residence. Past events and facts about other people depend on none.
    """
    if tense_of(content) == "past" or _somebody_elses().search(content):
        return ()
    return tuple(topic for topic in topics_of_grounds() if _pattern(topic).search(content))


def is_the_users(subject: str | None, content: str) -> bool:
    """Return whether a fact is about the user, or about somebody whom it calls the user's own ("my
    boss").
    """
    if subject in (None, "user"):
        return True
    owned = (
        rf"(?<!\w)(?:{'|'.join(entries(PACKAGE, 'own'))}) (?:[\w-]+ ){{0,2}}{re.escape(subject)}"
    )
    return re.search(owned, content, re.IGNORECASE) is not None


def names_value_of(content: str, ground: str) -> bool:
    """Return whether a content names the value of the fact on which it rests, such as "Hamburg" if
    that fact is "I live in Hamburg".
    """
    words = {word.casefold() for word in re.findall(r"[\w'&-]+", content)}
    words |= {word.removesuffix(end) for word in words for end in ("'s", "’s", "s")}
    return any(value in words for value in values_in(ground))


def values_in(ground: str) -> frozenset[str]:
    """Return the names in a fact, and the words after a preposition such as "in" or "at"."""
    capitals = {match[0] for match in _CAPITAL.finditer(ground)}
    values = {match["value"] for match in _after_preposition().finditer(ground)} | capitals
    return frozenset(
        value.casefold()
        for value in values
        if len(value) > LEAST_LETTERS - 1 and not _FIRST_PERSON.fullmatch(value)
    )


def _rules() -> list[dict[str, list[str]]]:
    return [file["rests_on"] for file in word_files(PACKAGE).values() if "rests_on" in file]


@cache
def _pattern(topic: str) -> re.Pattern[str]:
    rules = [rule for file in _rules() for rule in file.get(topic, ())]
    return re.compile("|".join(f"(?<!\\w)(?:{rule})" for rule in rules), re.IGNORECASE)


@cache
def _somebody_elses() -> re.Pattern[str]:
    words = "|".join(entries(PACKAGE, "somebody_elses"))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


@cache
def _after_preposition() -> re.Pattern[str]:
    before, no_value = (
        "|".join(entries(PACKAGE, field)) for field in ("values_follow", "no_values")
    )
    return re.compile(
        rf"(?<!\w)(?:{before}) (?:(?:{no_value}) )?(?!(?:{no_value})\b)(?P<value>[\w'&-]{{2,}})",
        re.IGNORECASE,
    )
