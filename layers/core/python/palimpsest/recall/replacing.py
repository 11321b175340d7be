"""Decides whether a later statement of a user replaces an earlier one. The order of a recall and
its answer without a model follow the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal

from palimpsest.recall.found import FoundMemory
from palimpsest.recall.passage import best_sentences
from palimpsest.recall.question import Query
from palimpsest.text.analyser import content_words, words
from palimpsest.text.language import language_of
from palimpsest.text.matching import either, pattern_of, patterns_by_writing
from palimpsest.text.word_files import word_files

# A later statement replaces an older one only if it has at least this part of the older score.
LEAST, IN_ONE_TALK = 0.12, 0.25
WITHOUT_A_WORD = 0.3  # the same for two statements without an equal word
WORDS_ALIKE = 2  # Two statements are alike if they share this many words.
# The older statement is marked as outdated if the later one has at least this part of its score.
REPLACES = 0.25

Value = Literal["number", "day", "name"]
WORDS: Final = "palimpsest.text"
GERMAN: Final = "de"

_WENT_BY = re.compile(
    r"\b(?:did|was|were|had|used to|hatten?|war(?:en)?|étai(?:t|ent)"
    r"|avai(?:t|ent)|eran?|fue(?:ron)?|había)\b",
    re.IGNORECASE,
)
# General words, chosen before the labelled updates were seen (docs/adr/0034).
_CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|no more|instead|after all|again|back "
    r"(?:to|at|on|in)|new|newly"
    r"|latest|since|from now on|from (?:this|next) \w+|as of|lately|recently|finally|at "
    r"last|already|meanwhile|actually"
    r"|chang(?:es?|ed|ing)|switch(?:es|ed|ing)?|swap(?:s|ped|ping)?|replac(?:es?"
    r"|ed|ing)|mov(?:es?|ed|ing)"
    r"|shift(?:s|ed)?|transferr?(?:ed)?|renamed?|rebooked|rescheduled|postponed"
    r"|updated?|upgraded?|downgraded?"
    r"|becom(?:es?|ing)|became|turned|beg[aiu]n|start(?:s|ed|ing)?|stop(?:s|ped)?|quit|g[ai]ve "
    r"up|given up|giving up"
    r"|left|retired|clos(?:ed|ing)|cancell?ed|dropped|ended|over|sold|bought"
    r"|got|raised?|lower(?:ed)?|increased?"
    r"|reduced|cut|doubled|put (?:up|down|back)|took over|taken over|correction|scrap|turns out"
    r"|jetzt|nun|inzwischen|neu\w*|nicht mehr|statt\w*|wieder|doch|seit|gewechselt"
    r"|geändert|(?:um)?gezogen"
    r"|maintenant|désormais|nouve\w+|plus de|chang\w+|déménag\w+|plutôt|finalement"
    r"|ahora|ya no|nuev[oa]s?|cambi\w+|mud\w+|desde|al final|en vez)\b"
    r"|现在|改|换|不再|搬|今は|変え|変わ|新しい|もう|이제|바꿨|바뀌|새로|الآن|جديد|غير",
    re.IGNORECASE,
)


@cache
def _days() -> re.Pattern[str]:
    """Return a pattern of days of the week in any language, and of times of the day."""
    weekdays = {
        name
        for file in word_files(WORDS).values()
        if not file.get("joins_words")
        for names in file.get("dates", {}).get("weekdays", ())
        for name in names
    }
    every = "|".join(sorted(map(pattern_of, weekdays), key=len, reverse=True))
    return re.compile(
        rf"\b(?:(?:{every})s?|week(?:end|day)s?|(?:morning|noon|afternoon|evening|night)s?)\b",
        re.IGNORECASE,
    )


_VALUES: Mapping[Value, re.Pattern[str]] = {
    "number": re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
        r"|fifteen|twenty|thirty|forty|fifty|hundred"
        r"|half|once|twice)\b",
        re.IGNORECASE,
    ),
    "day": _days(),
    "name": re.compile(rf"(?<=[\w,;:] )(?!I\b|(?i:{_days().pattern}))[A-ZÀ-ÞА-ЯΑ-Ω][\w'-]+"),
}
"""The patterns of each kind of value."""


@dataclass(frozen=True, slots=True)
class StatementInMemory:
    """A memory with the statement in it that is compared with others. In a long text, this is the
    sentence with most of the question's words. Words of change in other sentences do not concern
    the question, and neither do equal words. `words` are its terms without function words.
    """

    memory: FoundMemory
    text: str
    words: frozenset[str]

    @property
    def speaks_of_change(self) -> bool:
        return _CHANGE.search(self.text) is not None


def stated(memory: FoundMemory, query: Query) -> StatementInMemory:
    """Return the memory's statement about what the question asks."""
    return statement(memory, best_sentences(memory.content, query, most=1))


def statement(memory: FoundMemory, text: str) -> StatementInMemory:
    """Return this text of the memory as a statement."""
    return StatementInMemory(memory, text, frozenset(stems[-1] for stems in content_words(text)))


@cache
def _asks_again() -> re.Pattern[str]:
    """Return a pattern of the words with which a question in the past tense asks for the present,
    as "again" in "What was my rent again?".
    """
    return either(*patterns_by_writing("asks_again"), flags=re.IGNORECASE)


def asks_of_the_present(query: Query) -> bool:
    """Return whether the question asks for what holds now."""
    if query.asks_of_the_past:
        return False
    return _WENT_BY.search(query.text) is None or _asks_again().search(query.text) is not None


@cache
def _asks_for() -> Mapping[Value, re.Pattern[str]]:
    """Return a pattern of the questions for each kind of value."""
    phrases: dict[Value, list[str]] = {value: [] for value in _VALUES}
    for file in word_files(WORDS).values():
        for value, entries in file.get("asks_for", {}).items():
            phrases[value] += map(pattern_of, entries)
    return {value: either(every, flags=re.IGNORECASE) for value, every in phrases.items()}


def values_asked_for(question: str) -> Collection[Value]:
    """Return the kinds of values that may answer the question. A time may be a number too. A
    question for a number or a day asks for no name.
    """
    values: set[Value] = {
        value for value, pattern in _asks_for().items() if pattern.search(question)
    }
    if "day" in values:
        values.add("number")
    return values - {"name"} if "number" in values else values


def may_replace(new: StatementInMemory, old: StatementInMemory, query: Query) -> bool:
    """Return whether the later statement may say the same as the older one, with another value.

    Both must be the user's, and the later one must answer the question about as well. It needs
    evidence that both are about the same thing. This is an equal word, beside a word of change or a
    second equal word. It is also the kind of value that the question asks for, if both have it.
    Within one conversation, a word of change is always needed. Records with a topic replace nothing
    here, because the versions of a topic are already in order.
    """
    later, older = new.memory, old.memory
    if (
        later.outdated_by
        or has_topic(later)
        or has_topic(older)
        or later.valid_from <= older.valid_from
    ):
        return False
    if not (_is_statement(later) and older.speaker in {"user", None}):
        return False
    if later.said_by != older.said_by:
        return False
    share = later.score / older.score if older.score else 1.0
    equal = len(new.words & old.words)
    if later.source.session == older.source.session:
        return share >= IN_ONE_TALK and equal > 0 and new.speaks_of_change
    if equal >= WORDS_ALIKE or (equal and new.speaks_of_change):
        return share >= LEAST
    return share >= (LEAST if equal else WITHOUT_A_WORD) and _have_what_is_asked(new, old, query)


def _is_statement(memory: FoundMemory) -> bool:
    if memory.record is not None:
        return memory.record.type != "event"
    return memory.speaker == "user" and memory.candidate.says != "question"


def _have_what_is_asked(new: StatementInMemory, old: StatementInMemory, query: Query) -> bool:
    """Return whether both statements have a value of a kind that the question asks for."""
    return any(
        _has(new.text, value) and _has(old.text, value) for value in values_asked_for(query.text)
    )


def _has(text: str, value: Value) -> bool:
    if value == "name" and language_of(words(text)) == GERMAN:
        return False  # every noun has a capital letter
    return _VALUES[value].search(text) is not None


def superseded(old: StatementInMemory, *, by: StatementInMemory) -> StatementInMemory:
    """Return the older statement, marked as outdated if the later one very likely replaces it."""
    is_near = by.memory.score >= REPLACES * old.memory.score
    if not (is_near and len(by.words & old.words) >= WORDS_ALIKE and by.speaks_of_change):
        return old
    newer = old.memory.outdated_by or by.memory.id
    return replace(old, memory=outdated(old.memory, by=newer))


def has_topic(memory: FoundMemory) -> bool:
    return memory.record is not None and memory.record.topic_key is not None


def outdated(memory: FoundMemory, *, by: str) -> FoundMemory:
    """Return the memory, marked as outdated by the one with this id."""
    return replace(memory, candidate=replace(memory.candidate, outdated_by=by))
