"""Reads the common signs of a new statement and a known one, and the signs of the new one alone.
From these signs, `relation` decides whether the new one repeats, replaces or ends the known one.
"""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from palimpsest.memory.meaning.alignment import alignment
from palimpsest.memory.meaning.ends import ends_of, is_unreal, names_share
from palimpsest.memory.meaning.frames import Value, differ, has_of, values_of
from palimpsest.memory.meaning.reading import fields_of, is_meant_by, naming, spoken
from palimpsest.memory.meaning.slots import Slot, slot_of
from palimpsest.text.folding import folded

Signs = Mapping[str, float]
MOST = 300  # characters of a statement that are read
MOST_WORDS = 25
LISTS: Final = ("moves", "changes", "additions", "was", "bans")
PERSONS: Final = ("relatives", "others", "acquaintances", "unique")
USER: Final = frozenset({"", "user"})
PREFERENCE = "preference"
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=[^.!?:] )[A-ZÀ-Þ][\w'’-]*")
_SPEAKER = frozenset({"I", "I'm", "I've", "I'd", "I'll", "I’m", "I’ve", "I’d", "I’ll"})
_CAPITAL_NOUNS = re.compile(
    r"(?i)\b(?:ich|der|die|das|ist|nicht|mein\w*|wir|und|ein\w*|hab\w*|bin)\b"
)
_OWN = re.compile(
    r"(?i)^\W*(?:i|we|ich|wir|je|j['’]|nous|yo|my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mi|mis)\b"
)


@dataclass(frozen=True, slots=True)
class Said:
    """A statement: its text, and the type, topic and subject that an extraction gave it."""

    text: str
    type: str = "fact"
    topic: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    named: tuple[str, ...]
    slot: Slot | None
    values: tuple[Value, ...]
    names: frozenset[str]
    persons: frozenset[str]
    lists: frozenset[str]
    is_own: bool
    length: float
    fields: frozenset[str]


@lru_cache(maxsize=1024)
def _read(text: str) -> _Reading:
    plain = text[:MOST]
    return _Reading(
        naming(plain),
        slot_of(plain),
        tuple(values_of(plain)),
        _names(plain),
        frozenset(word for name in PERSONS for word in has_of(name, plain)),
        frozenset(name for name in LISTS if has_of(name, plain)),
        _OWN.search(spoken(plain)) is not None,
        min(MOST_WORDS, plain.count(" ") + 1) / MOST_WORDS,
        fields_of(plain),
    )


def _names(text: str) -> frozenset[str]:
    """Return the capitalized words inside a text. In German they tell nothing, because all nouns
    are capitalized.
    """
    if _CAPITAL_NOUNS.search(text):
        return frozenset()
    return frozenset(folded(name) for name in _NAME.findall(text) if name not in _SPEAKER)


@lru_cache(maxsize=256)
def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, and its pairs of neighbouring words, in lower case."""
    tokens = ["^", *_WORD.findall(folded(text[:MOST]))]
    return frozenset(tokens[1:]) | frozenset(map(" ".join, pairwise(tokens)))


@lru_cache(maxsize=256)
def own_signs(statement: Said) -> Signs:
    """Return the signs of a new statement that do not depend on known statements."""
    reading, ends = _read(statement.text), ends_of(statement.text[:MOST])
    return {
        **{f"new_{name}": 1.0 for name in reading.lists},
        "new_ends": float(bool(ends)),
        **{f"new_end_{end.kind}": 1.0 for end in ends},
        "new_denies": float(any(end.kind == "plain" for end in ends)),
        "new_unreal": float(is_unreal(statement.text[:MOST])),
        "new_own": float(reading.is_own),
        "new_of_others": float(statement.subject not in USER and statement.subject is not None),
        "new_slot": float(reading.slot is not None or statement.topic is not None),
        "new_value": float(bool(reading.values)),
        "new_name": float(bool(reading.names)),
        "new_person": float(bool(reading.persons)),
        "new_event": float(statement.type == "event"),
        "new_length": reading.length,
    }


def shared_signs(new: Said, known: Said) -> Signs:
    """Return the signs of two statements together, and the signs of the known one."""
    reading, other = _read(new.text), _read(known.text)
    mine = sum(is_meant_by(word, other.named) for word in reading.named)
    theirs = sum(is_meant_by(word, reading.named) for word in other.named)
    return {
        "share_of_new": mine / max(1, len(reading.named)),
        "share_of_known": theirs / max(1, len(other.named)),
        "shares": float(theirs > 0),
        "shares_many": float(min(3, theirs)),
        "shares_first": float(bool(other.named) and is_meant_by(other.named[0], reading.named)),
        "share_of_ended": names_share(ends_of(new.text[:MOST]), other.named, known.text),
        **alignment(new.text, known.text),
        **_of_topics(new, known, reading, other),
        **_of_values(reading, other),
        **_of_fields(reading, other),
        "persons_new": float(bool(reading.persons - other.persons)),
        "persons_gone": float(bool(other.persons - reading.persons)),
        "persons_same": float(bool(reading.persons & other.persons)),
        "same_subject": float((new.subject or "user") == (known.subject or "user")),
        "known_own": float(other.is_own),
        "known_length": other.length,
        "known_event": float(known.type == "event"),
        "known_order": float(known.type == "instruction"),
        "known_adds": float("additions" in other.lists),
        "known_was": float("was" in other.lists),
        "known_bans": float("bans" in other.lists),
    }


def _of_topics(new: Said, known: Said, reading: _Reading, other: _Reading) -> Signs:
    mine = reading.slot.topic if reading.slot else new.topic
    theirs = other.slot.topic if other.slot else known.topic
    is_same = mine is not None and mine == theirs
    values = (reading.slot and reading.slot.value, other.slot and other.slot.value)
    return {
        "same_topic": float(is_same),
        "other_topic": float(mine is not None and theirs is not None and mine != theirs),
        "no_topic": float(mine is None and theirs is None),
        "known_slot": float(theirs is not None),
        "known_preference": float((theirs or "").startswith(PREFERENCE)),
        "same_topic_value": float(is_same and values[0] is not None and values[0] == values[1]),
    }


def _of_values(reading: _Reading, other: _Reading) -> Signs:
    mine = {folded(value.text) for value in reading.values}
    theirs = {folded(value.text) for value in other.values}
    return {
        "values_differ": float(differ(reading.values, other.values)),
        "values_same": float(bool(mine & theirs)),
        "known_value": float(bool(theirs)),
        "names_same": float(bool(reading.names & other.names)),
        "names_differ": float(
            bool(reading.names) and bool(other.names) and not reading.names & other.names
        ),
        "known_name": float(bool(other.names)),
    }


def _of_fields(reading: _Reading, other: _Reading) -> Signs:
    """Return the fields of life of both statements. They matter because a person has one home, but
    several pets.
    """
    both = reading.fields & other.fields
    return {
        **{f"field_{name}": 1.0 for name in both},
        "shares_field": float(bool(both)),
        "fields_differ": float(bool(reading.fields) and bool(other.fields) and not both),
        "share_of_fields": len(both) / max(1, len(reading.fields | other.fields)),
    }
