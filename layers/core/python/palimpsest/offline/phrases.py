"""The phrases that determine the kind of a user's statement. They are in `words/`, by language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from palimpsest.memory.record import SaidType
from palimpsest.text.triggers import Triggers
from palimpsest.text.word_files import entries, filled, filled_words, word_files

PACKAGE: Final = "palimpsest.offline"


@dataclass(frozen=True, slots=True)
class StatementKind:
    """A kind of statement. `importance` is from 0 to 1.

    `topic` is the key of a topic that has one value at a time. If a phrase has a group `what`, its
    words are added to the key. So liking tea and liking cake are two topics.
    """

    name: str
    type: SaidType
    importance: float
    topic: str | None


def _topic(name: str, importance: float, *, type_: SaidType = "fact") -> StatementKind:
    return StatementKind(name, type_, importance, topic=name)


STATEMENT_KINDS = (
    _topic("name", 0.95),
    _topic("preferred_name", 0.9),
    _topic("department", 0.8),
    _topic("residence", 0.85),
    _topic("employer", 0.8),
    _topic("occupation", 0.8),
    _topic("birthday", 0.9),
    _topic("age", 0.85),
    _topic("time", 0.6),
    _topic("allergy", 0.9),
    _topic("answer_language", 0.85, type_="instruction"),
    _topic("rule", 0.85, type_="instruction"),
    StatementKind("task", "task", 0.7, topic=None),
    _topic("favorite", 0.8),
    _topic("preference", 0.75),
    StatementKind("life_event", "event", 0.7, topic=None),
)
"""The kinds of statements in their order. If a statement has phrases of several kinds, the first
kind counts.
"""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A pattern of statements with its triggers. Every match contains one of these words."""

    kind: StatementKind
    pattern: str
    words: tuple[str, ...]


@cache
def phrases() -> tuple[Phrase, ...]:
    """Return the phrases of all languages, in the order of their kinds."""
    return tuple(
        Phrase(
            kind,
            pattern=filled(PACKAGE, phrase["pattern"]),
            words=tuple(filled_words(PACKAGE, phrase.get("words", []))),
        )
        for kind in STATEMENT_KINDS
        for file in word_files(PACKAGE).values()
        for phrase in file.get("phrases", {}).get(kind.name, ())
    )


@cache
def _triggers() -> Triggers:
    return Triggers([phrase.words for phrase in phrases()], asked_together=True)


@cache
def _compiled(number: int) -> re.Pattern[str]:
    return re.compile(phrases()[number].pattern, re.IGNORECASE)


@lru_cache(maxsize=64)  # the same clauses are looked up several times
def kind_of(text: str) -> tuple[StatementKind | None, re.Match[str] | None]:
    """Return the first kind with a phrase in the text, and the match of that phrase."""
    for number in _triggers().candidates(text):
        if match := _compiled(number).search(text):
            return phrases()[number].kind, match
    return None, None


@cache
def words_that_name_nothing() -> frozenset[str]:
    """Return words that do not name anything that can be liked or done."""
    return frozenset(entries(PACKAGE, "not_what"))
