"""Finds the words that distinguish one memory from another: the value of its topic, or words that
are not everyday words. An old sentence with these words says the same in another way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from palimpsest.memory.meaning.slots import slot_of
from palimpsest.text.analyser import content_terms
from palimpsest.text.word_files import entries, word_files

PACKAGE: Final = "palimpsest.memory"
BEGINNING = 4
"""How many first letters of words are compared. "allergic" and "allergy" have the same
beginning.
"""
NAMING = ("named_", "boss")
"""Beginnings of topics whose value is a name. The name alone identifies the person or thing that
the memory is about.
"""

NO_VALUES = ("count_", "age_")
"""Beginnings of topics whose value is a small number, which alone identifies nothing."""

LEAST_DIGITS = 3  # of a number that tells one memory from another
_NUMBER = re.compile(r"\d(?:[\d.,' /-]{0,30}\d)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W_][\w'’.-]*")  # noqa: RUF001 - marks of many scripts


@dataclass(frozen=True, slots=True)
class Distinct:
    """The words that distinguish one memory from another: its names and numbers, and the beginnings
    of its other words. `subject` has the words for the person whom it is about, such as "sister" in
    "My sister lives in Kiel", if a statement must have these too. If `is_somebody` is true, the
    names belong to a person or animal, and any statement with one of them is about that person or
    animal.
    """

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    is_somebody: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.words)


def distinct_words(content: str, *, subject: str = "") -> Distinct:
    """Return the words that distinguish a statement from other memories. `subject` names the person
    whom it is about; it is empty for the user. The name of the subject counts as such a word only
    if there is no other.
    """
    slot, of_subject = slot_of(content), _names_of_subject(content, subject)
    named = {term for term in named_terms(content) if not term.isdigit()} | numbers(content)
    distinct = Distinct()
    if slot is not None and not slot.topic.startswith(NO_VALUES):
        terms = [*content_terms(slot.text), *numbers(slot.text)]
        distinct = _distinct(terms, named) or Distinct(frozenset(named.intersection(terms)))
        if distinct.names and slot.topic.startswith(NAMING):
            return replace(distinct, is_somebody=True)
    terms = [*content_terms(content), *numbers(content)]
    distinct = distinct or _distinct([term for term in terms if term not in of_subject], named)
    if not distinct:
        return _distinct(terms, named)
    return replace(distinct, subject=of_subject)


def _distinct(terms: Sequence[str], named: Collection[str]) -> Distinct:
    telling = [term for term in terms if len(term) > 1 and term not in _everyday()]
    names = {term for term in telling if term in named}
    words = {term[:BEGINNING] for term in telling if term not in named and not term.isdigit()}
    # Many memories name the same year, so a year counts only if there is nothing else.
    lasting = {name for name in names if not _YEAR.fullmatch(name)}
    return Distinct(frozenset(lasting if lasting or words else names), frozenset(words))


def _names_of_subject(content: str, subject: str) -> frozenset[str]:
    """Return the words for the person whom a statement is about, such as "husband" and "Tom" in "My
    husband Tom has cancer".
    """
    if not subject:
        return frozenset()
    pattern = rf"(?i:\b{re.escape(subject)}),? (?P<name>[A-ZÀ-Þ][\w'’-]*)"  # noqa: RUF001
    match = re.search(pattern, content)
    names = f"{subject} {match['name'] if match else ''}"
    return frozenset(content_terms(names))


def numbers(text: str) -> frozenset[str]:
    """Return the long numbers of a text without separators, so that "74,000" becomes "74000"."""
    digits = (re.sub(r"\D", "", match[0]) for match in _NUMBER.finditer(text))
    return frozenset(digit for digit in digits if len(digit) >= LEAST_DIGITS)


def named_terms(text: str) -> list[str]:
    """Return the terms of a text that are names or numbers. The first word of a sentence counts as
    neither.
    """
    from palimpsest.text.sentences import sentences

    terms: list[str] = []
    for sentence in sentences(text):
        for number, match in enumerate(_WORD.finditer(sentence)):
            word = match[0]
            if any(letter.isdigit() for letter in word) or (number and word[0].isupper()):
                terms += content_terms(word) if len(word) > 1 else ()
    return terms


def areas(text: str) -> Iterator[str]:
    """Yield the areas of life that the words of a text are about, such as `residence`."""
    for area, pattern in _areas():
        if pattern.search(text):
            yield area


def speaks_of_its_reader(sentence: str) -> bool:
    """Return whether a sentence of an answer says something of the person whom it answers."""
    return _addressed().search(sentence) is not None


@cache
def _addressed() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(entries(PACKAGE, 'addressed'))})(?!\w)", re.IGNORECASE)


@cache
def _everyday() -> frozenset[str]:
    words = entries(PACKAGE, "everyday")
    return frozenset(term for word in words for term in content_terms(word))


@cache
def _areas() -> tuple[tuple[str, re.Pattern[str]], ...]:
    every: dict[str, list[str]] = {}
    for file in word_files(PACKAGE).values():
        for area, words in file.get("areas", {}).items():
            every.setdefault(area, []).extend(words)
    return tuple(
        (area, re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE))
        for area, words in every.items()
    )
