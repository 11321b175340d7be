"""Decides for each statement whether it is new, is already known (perhaps in other words), or
supersedes its topic's record.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from operator import eq
from typing import Literal

from palimpsest.memory.meaning.slots import means_the_same
from palimpsest.memory.record import KEYED, Order, Record, said_again
from palimpsest.memory.statements import (
    Statement,
    confirmed,
    drawing,
    kept_longer,
    said_also,
    updated,
)
from palimpsest.text.analyser import accented_words, stems
from palimpsest.text.folding import normalized
from palimpsest.text.word_files import entries

Outcome = Literal["created", "updated", "unchanged"]
Lifetime = Callable[[str], int | None]
"""How many seconds a record of a type is kept after it was last written or confirmed (None: for
ever).
"""

LEAST_STEM = 3  # how many letters two forms of a word must share
_SIGNS = re.compile(r"[#%&*@/]|(?<!\w)-(?=\w)|(?<=\w)-(?!\w)")  # "-5" is not "5", "A-" is not "A"


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """The state of a topic when a statement arrives.

    `statements` holds the topic's statements, oldest first. Only the newest is needed if every new
    statement is newer still. `order` is the order of the last statement, even if its record was
    deleted or has ended since. In these cases `current` is None. `ended` is the id of the record
    that has ended, and `ended_on` the time that was named for its end.
    """

    current: Record | None = None
    order: Order | None = None
    statements: tuple[tuple[Order, Record], ...] = ()
    ended: str | None = None
    ended_on: str | None = None

    def is_behind(self, order: Order) -> bool:
        """Return whether a statement with this order is older than the topic's last statement. If
        the last statement was deleted, other statements of the same message count as older too.
        """
        if self.order is None:
            return False
        # The first three parts of an order name the message.
        return order < self.order if self.current else order[:3] <= self.order[:3]

    def neighbours(self, order: Order) -> list[tuple[Order, Record]]:
        """Return the statements just before and just after this order. Statements from before a
        deletion do not count.
        """
        if self.current is None and not self.is_behind(order):
            return []
        same = [entry for entry in self.statements if entry[0][:3] == order[:3]]
        before = [entry for entry in self.statements if entry[0] < order]
        after = [entry for entry in self.statements if entry[0] > order]
        return [*same, *before[-1:], *after[:1]]

    def having(self, order: Order, record: Record) -> KnownTopic:
        """Return the topic with this record added at the place of its order."""
        statements = tuple(sorted([*self.statements, (order, record)], key=lambda entry: entry[0]))
        if self.is_behind(order):
            # An ended topic has only statements from before its end, so the newest one ended.
            ended = self.ended and statements[-1][1].id
            on = self.ended_on if ended == self.ended else None
            return replace(self, statements=statements, ended=ended, ended_on=on)
        return KnownTopic(record, order, statements)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome of one statement: the record that now holds it, and the record that it displaced.
    `created` means that the record, or a version of its topic, is new. `updated` means that the
    record was already stored and some fields changed.
    """

    record: Record
    outcome: Outcome
    displaced: Record | None = None


@dataclass(slots=True)
class MemoryState:
    """The part of a user's memory that statements concern: records by id, and topics by key. Each
    decision adds to it. `new` has the records to create. `said` has the known records that were
    said again, with the new time and source.
    """

    records: dict[str, Record]
    topics: dict[str, KnownTopic]
    new: list[Record] = field(default_factory=list)
    said: list[Record] = field(default_factory=list)


Near = Callable[[Record, Record], bool]
"""Returns whether two records of one topic say the same in other words."""


def is_same(record: Record, other: Record) -> bool:
    if record.type in KEYED:
        return json.dumps(record.data, sort_keys=True) == json.dumps(other.data, sort_keys=True)
    return normalized(record.content) == normalized(other.content)


def taken_in(
    records: Sequence[Record], known: MemoryState, *, near: Near = is_same
) -> tuple[Remembered, ...]:
    """Decide about each record in turn, and add the decisions to `known`, so that later records see
    earlier decisions. Return the outcomes.

    A statement with a topic changes nothing only if the statement just before or just after it says
    the same (`near`). A return to an earlier value is a new version. A statement older than the
    current record is placed before it. The versions therefore do not depend on the order in which
    statements arrive.
    """
    made = []
    for record in records:
        there = known.records.get(record.id)
        if there is not None and (record.topic_key is None or is_of_one_message(record, there)):
            made.append(Remembered(there, "unchanged"))
        elif record.topic_key is None:
            made.append(Remembered(_stored(record, known), "created"))
        else:
            made.append(_topical(record, record.topic_key, known, near))
    return tuple(made)


def is_of_one_message(record: Record, other: Record) -> bool:
    return record.order[:3] == other.order[:3]


def _stored(record: Record, known: MemoryState) -> Record:
    """Add the record to `known` and return it. If `known` has a record with its id, note that this
    record was said again, and return it instead.
    """
    there = known.records.get(record.id)
    if there is not None:
        known.said.append(said_again(there, record))
        return there
    known.records[record.id] = record
    known.new.append(record)
    return record


def _topical(record: Record, key: str, known: MemoryState, near: Near) -> Remembered:
    topic = known.topics.get(key, KnownTopic())
    for order, other in topic.neighbours(record.order):
        if near(record, other):
            # A statement that its own message repeats adds no place to the topic.
            if order[:3] != record.order[:3]:
                again = said_again(other, record)
                known.said.append(again)
                known.topics[key] = topic.having(again.order, other)
            return Remembered(known.records.get(other.id, other), "unchanged")
    if topic.current is not None and not topic.is_behind(record.order):
        record = drawing(record, topic.current)
    stored = _stored(record, known)
    known.topics[key] = topic.having(record.order, stored)
    if topic.is_behind(record.order) or topic.current is None:
        return Remembered(stored, "created")
    return Remembered(stored, "created", displaced=topic.current)


def topic_since(record: Record, there: Record | None, *, is_said_now: bool) -> str | None:
    """Return the topic that an edit gave to the stored record, or None. A later statement without a
    topic that repeats the record's words then joins this topic.
    """
    if there is None or record.topic_key is not None:
        return None
    return there.topic_key if is_said_now or record.valid_from > there.valid_from else None


def with_updates(
    made: Sequence[Remembered], statements: Sequence[Statement], known: MemoryState
) -> tuple[Remembered, ...]:
    """Return the outcomes after updates. A statement that is already stored may set fields of its
    record, if that record is current.
    """
    results = []
    for decision, statement in zip(made, statements, strict=True):
        record = known.records.get(decision.record.id, decision.record)
        after = (
            updated(record, statement)
            if decision.outcome == "unchanged" and _is_current(record, known.topics)
            else record
        )
        if after != record:
            known.records[record.id] = after
            known.new[:] = [after if new.id == after.id else new for new in known.new]
        results.append(decision if after == record else Remembered(after, "updated"))
    return tuple(results)


def changed_records(
    made: Sequence[Remembered],
    drafts: Sequence[Record],
    there: Mapping[str, Record],
    topics: Mapping[str, KnownTopic],
    *,
    now: int,
    lifetime: Lifetime,
) -> tuple[Record, ...]:
    """Return the stored records that change. A record that is said again expires later. A record
    that becomes current, or stops being current, is indexed again.
    """
    changed: dict[str, Record] = {}
    for decision, draft in zip(made, drafts, strict=True):
        record = there.get(decision.record.id)
        if record is not None and _is_current(record, topics):
            again = (
                decision.record if decision.outcome == "updated" else changed.get(record.id, record)
            )
            again = kept_longer(said_also(again, draft), draft, lifetime=lifetime(again.type))
            again = confirmed(again, now=now, lifetime=lifetime(again.type))
            if decision.outcome != "unchanged":
                again = replace(again, index_state="pending")
            if again != record:
                changed[record.id] = again
    for decision in made:
        if decision.displaced is not None and decision.displaced.id in there:
            changed[decision.displaced.id] = replace(
                there[decision.displaced.id], index_state="pending"
            )
    return tuple(changed.values())


def _is_current(record: Record, topics: Mapping[str, KnownTopic]) -> bool:
    if record.topic_key is None:
        return True
    current = topics.get(record.topic_key, KnownTopic()).current
    return current is not None and current.id == record.id


def is_near(record: Record, other: Record) -> bool:
    """Return whether two records of one topic are the same, or say the same in other words."""
    if record.type in KEYED:
        return is_same(record, other)
    from palimpsest.memory.meaning.frames import differ_in_value  # not at import: no turn needs it

    ours, theirs = record.content, other.content
    return says_the_same(ours, theirs) or (
        means_the_same(ours, theirs) and not differ_in_value(ours, theirs)
    )


def says_the_same(statement: str, other: str) -> bool:
    """Return whether two statements of one topic have the same meaningful words, in the same order,
    and the same signs.

    A wrong "no" costs a new version with the same meaning. A wrong "yes" would lose a correction.
    Accents therefore count. Two forms of a word are the same only if they have the same stem, and
    differ by no more than a plural, a third person or an "-ing".
    """
    if _signs(statement) != _signs(other):
        return False
    ours, theirs = accented_words(statement), accented_words(other)
    if ours == theirs:
        return True
    empty = _empty_words()
    ours = [word for word in ours if word not in empty]
    theirs = [word for word in theirs if word not in empty]
    if not ours or len(ours) != len(theirs):
        return False
    return all(map(_is_same_word, ours, theirs, stems(ours), stems(theirs)))


@cache
def _empty_words() -> frozenset[str]:
    """Return words that change no meaning if they are added or left out. Negations, past forms,
    directions and quantities are not among them.
    """
    return frozenset(entries("palimpsest.text", "empty_words"))


@cache
def _inflections() -> frozenset[frozenset[str]]:
    """Return pairs of word endings with the same meaning, as in "lives, living" and "city, cities".
    Past forms are not among them.
    """
    return frozenset(map(frozenset, entries("palimpsest.text", "inflections")))


def _signs(text: str) -> list[str]:
    """Return the characters with a meaning outside words: symbols such as "+" or "€", and hyphens
    at one end of a word.
    """
    plain = unicodedata.normalize("NFKC", text)
    return _SIGNS.findall(plain) + [
        character for character in plain if unicodedata.category(character)[0] == "S"
    ]


def _is_same_word(word: str, other: str, stem: str, other_stem: str) -> bool:
    if word == other:
        return True
    shared = sum(takewhile(bool, map(eq, word, other)))
    is_inflected = (
        shared >= LEAST_STEM and frozenset((word[shared:], other[shared:])) in _inflections()
    )
    return is_inflected and stem == other_stem
