"""Gives a statement the words and the topic of a memory that says the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from palimpsest.extraction.reconciling.known import KnownStatements
from palimpsest.memory.meaning.ends import ends_of
from palimpsest.memory.meaning.frames import differ_in_value
from palimpsest.memory.meaning.reading import is_meant_by, naming
from palimpsest.memory.meaning.slots import MOST_NAMED, says_the_same_of, singular, slot_of
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement

ALLERGY, PREFERENCE = "allergy_", "preference_"


def in_known_words(statement: Statement, state: KnownStatements) -> Statement:
    """Return the statement in the words of a memory that says the same. That memory then gets one
    more source.
    """
    if statement.type != "fact":
        return statement
    if statement.topic is not None and statement.topic.startswith(ALLERGY):
        return _of_known_allergy(statement, state)
    if statement.topic is not None and not _may_be_liked_already(statement, state):
        return _of_known_value(statement, state)
    if not 0 < len(naming(statement.content)) <= MOST_NAMED:
        return statement
    own: Iterator[Statement | Record] = (other for _, other, _ in state.statements)
    known = next(
        (
            other
            for other in chain(own, state.records)
            if other.type == "fact"
            and other.subject == statement.subject
            and says_the_same_of(other.content, statement.content)
            and not differ_in_value(other.content, statement.content)
        ),
        None,
    )
    if known is None:
        return statement
    return replace(statement, content=known.content, version_of=known.topic_key)


def _may_be_liked_already(statement: Statement, state: KnownStatements) -> bool:
    """Return whether the statement says what the user likes, in words that no memory has. Another
    memory may say the same: "I love hiking" and "I really like to hike".
    """
    is_liked = statement.topic is not None and statement.topic.startswith(PREFERENCE)
    return is_liked and all(record.topic_key != statement.topic_key for record in state.records)


def _of_known_value(statement: Statement, state: KnownStatements) -> Statement:
    """Return a statement that gives its topic the same value as before, and says no more than the
    known statement does, in the words of that one. Otherwise "I'm 24" would hide the rest of "I'm
    24 and never learned to swim".
    """
    of_topic = (record for record in state.records if record.topic_key == statement.topic_key)
    known = next(of_topic, None)
    if known is None or differ_in_value(known.content, statement.content):
        return statement
    if ends_of(statement.content) or not _has_the_value_of(statement, known):
        return statement
    ours, theirs = naming(statement.content), naming(known.content)
    says_less = len(ours) < len(theirs) and all(is_meant_by(word, theirs) for word in ours)
    return replace(statement, content=known.content) if says_less else statement


def _has_the_value_of(statement: Statement, known: Record) -> bool:
    ours, theirs = slot_of(statement.content), slot_of(known.content)
    if ours is None or theirs is None:
        return ours is theirs
    return ours.topic == theirs.topic and theirs.value[: len(ours.value)] == ours.value


def _of_known_allergy(statement: Statement, state: KnownStatements) -> Statement:
    """Return the statement in the words of a known allergy to the same thing, in the plural or the
    singular.
    """
    named = _singular_topic(statement.topic_key)
    own: Iterator[Statement | Record] = (other for _, other, _ in state.statements)
    for other in chain(own, state.records):
        is_other = other.topic_key != statement.topic_key and other.subject == statement.subject
        if is_other and _singular_topic(other.topic_key) == named:
            return replace(statement, content=other.content, version_of=other.topic_key)
    return statement


def _singular_topic(topic: str | None) -> tuple[str, ...]:
    return tuple(singular(word) for word in re.findall(r"[^\W_]+", topic or ""))
