"""Reads sentences that lift a standing instruction, such as "No more bullet points" after "Always
answer in bullet points", and finds the instruction that each lifts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.reading import (
    PACKAGE,
    any_of,
    clauses,
    compiled,
    is_meant_by,
    naming,
    spoken,
)
from palimpsest.text.sentences import is_question
from palimpsest.text.triggers import lowered, word_set
from palimpsest.text.word_files import entries, filled_words

LONGEST = 90  # characters of a sentence that lifts an instruction


@dataclass(frozen=True, slots=True)
class Lifting:
    """The thing that a sentence lifts, as the words that name it. With `allows`, it allows what was
    forbidden, else it stops what was wanted.
    """

    allows: bool
    words: tuple[str, ...]


@cache
def _forms() -> tuple[tuple[bool, re.Pattern[str]], ...]:
    return tuple(
        (entry["kind"] == "allow", compiled(entry["pattern"]))
        for entry in entries(PACKAGE, "rule_ends")
    )


@cache
def _lifting_words() -> frozenset[str]:
    return frozenset(filled_words(PACKAGE, ["{lifting}"]))


@lru_cache(maxsize=64)
def liftings_of(sentence: str) -> tuple[Lifting, ...]:
    """Return what a sentence lifts. A question lifts nothing."""
    if len(sentence) > LONGEST or _lifting_words().isdisjoint(word_set(lowered(sentence))):
        return ()
    if is_question(sentence):
        return ()
    return tuple(_liftings(spoken(sentence)))


def _liftings(sentence: str) -> Iterator[Lifting]:
    for clause in dict.fromkeys((sentence, *clauses(sentence))):
        for allows, form in _forms():
            match = form.match(clause)
            named = _of_the_rule(match["what"]) if match is not None else ()
            if named:
                yield Lifting(allows, named)


def _of_the_rule(text: str) -> tuple[str, ...]:
    """Return the words that name what a rule is about, without verbs such as "use"."""
    return tuple(word for word in naming(text) if any_of("rule_verbs").fullmatch(word) is None)


def is_lifted(rule: str, sentence: str) -> bool:
    """Return whether a sentence lifts an instruction."""
    liftings = liftings_of(sentence)
    if not liftings:
        return False
    named, forbids = naming(rule), _forbids(rule)
    return any(
        lifting.allows == forbids and _names_all(lifting.words, named) for lifting in liftings
    )


def _names_all(wanted: Sequence[str], named: Sequence[str]) -> bool:
    return all(is_meant_by(word, named) for word in wanted)


def is_opposite(rule: str, other: str) -> bool:
    """Return whether one of two instructions forbids just what the other one wants."""
    if _forbids(rule) == _forbids(other):
        return False
    named = _wanted_or_forbidden(rule)
    return bool(named) and named == _wanted_or_forbidden(other)


def _wanted_or_forbidden(rule: str) -> frozenset[str]:
    return frozenset(_of_the_rule(any_of("forbidding").sub(" ", rule)))


def _forbids(rule: str) -> bool:
    return any_of("forbidding").search(rule) is not None
