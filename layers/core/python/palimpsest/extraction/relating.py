"""Finds the known statement that a new one repeats, replaces or ends, if no rule decides it.
Learned weights decide, and only a clear decision counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from palimpsest.memory.meaning.ends import MENDED, ends_of, owns_something
from palimpsest.memory.meaning.frames import differ_in_value
from palimpsest.memory.meaning.occasions import are_of_other_occasions
from palimpsest.memory.meaning.people import is_of_another
from palimpsest.memory.meaning.reading import any_of, fields_of, is_meant_by, naming
from palimpsest.memory.meaning.relation import Likely, learned
from palimpsest.memory.meaning.signs import Said
from palimpsest.memory.meaning.slots import RESIDENCE, is_of_one_slot
from palimpsest.memory.meaning.transitions import switched_to
from palimpsest.memory.names import INTRODUCED
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement
from palimpsest.memory.times import tense_of
from palimpsest.text.analyser import words

READ: Final = frozenset({"fact", "event"})
MOST_COMPARED = 24
"""A new statement is compared with at most this many known statements. Known statements that share
a word with it come first, then the newest.
"""
MOST_NEWEST = 8

_NAME = re.compile(r"(?<=[\w,] )(?!I\b)[A-ZÀ-Þ]|\d|^[a-z]")
Kind = Literal["replaces", "ends", "repeats"]


@dataclass(frozen=True, slots=True)
class Related:
    """The effect of a new statement on a known statement. `place` is the place of the known
    statement among the known statements that were given.
    """

    kind: Kind
    place: int


def said_in(of: Statement | Record) -> Said:
    return Said(of.content, of.type, of.topic_key, of.subject)


def related(
    new: Statement, known: Sequence[Record], *, may_repeat: bool, states: bool = True
) -> Related | None:
    """Return the known statement that a new statement concerns, or None if it clearly concerns
    none. The known statements are given newest first. The decision must be clearer if the new
    statement `states` nothing by itself, or if it gives a new day or number, because rules read
    these.
    """
    may_change = learned().may_change(new.content)
    if new.type not in READ or not (may_change or may_repeat) or _has_its_topic(new, known):
        return None
    marks = learned().thresholds
    concerns = list[tuple[float, Related]]()
    for place in compared(new, known):
        likely = learned().likely(said_in(new), said_in(known[place]))
        is_plain = states and not differ_in_value(new.content, known[place].content)
        least = marks.changes if is_plain else marks.clearly
        changed = _changed(likely, new.content, known[place].content)
        if (
            may_change
            and changed >= least
            and not _is_apart(new, known[place], _kind(likely))
            and _is_linked(new, known[place])
        ):
            concerns.append((changed, Related(_kind(likely), place)))
        if may_repeat and likely.repeats >= marks.repeats and _may_be_one(new, known[place]):
            concerns.append((likely.repeats, Related("repeats", place)))
    return max(concerns, key=lambda pair: pair[0])[1] if concerns else None


def _has_its_topic(new: Statement, known: Sequence[Record]) -> bool:
    """Return whether the new statement's topic has a value already. The new statement then concerns
    only that value.
    """
    key = new.topic_key
    return key is not None and any(record.topic_key == key for record in known)


def _may_be_one(new: Statement, known: Record) -> bool:
    """Return whether two statements may say the same. They say different things if their topics are
    known to be different, or if they differ in a value or in a single word ("I can't eat soy" and
    "I can't eat gluten").
    """
    if differ_in_value(new.content, known.content):
        return False
    keys = {new.topic_key, known.topic_key}
    is_of_one = None in keys or len(keys) == 1 or is_of_one_slot(new.content, known.content)
    return is_of_one and not _has_another_word(words(new.content), words(known.content))


def _has_another_word(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether two texts have the same words in the same places, except for a single word
    with another meaning.
    """
    if len(ours) != len(theirs):
        return False
    others = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    return len(others) == 1 and not is_meant_by(others[0][0], others[0][1:])


def _is_apart(new: Statement, known: Record, kind: Kind) -> bool:
    """Return whether a new statement cannot replace the known one. Only a place replaces a place of
    residence ("I moved to the window seat" names none), and what was so on one day replaces nothing
    that is so every day.
    """
    if kind != "replaces":
        return False
    if known.topic_key == RESIDENCE:
        return switched_to(new.content) is not None or not _NAME.search(new.content)
    is_of_one_day = new.occurs_at is not None and tense_of(new.content) == "past"
    return is_of_one_day and any_of("habits").search(known.content) is not None


def _is_linked(new: Statement, known: Record) -> bool:
    """Return whether two statements share a word, a field of life or a topic. Statements that share
    none of these are about different things, even if the new one sounds like a change.
    """
    if _is_near(naming(new.content), known) or is_of_one_slot(new.content, known.content):
        return True
    return not fields_of(new.content).isdisjoint(fields_of(known.content))


def _changed(likely: Likely, content: str, known: str) -> float:
    """Return how likely a change is. If the rules read an end in the content, the rules also say
    what it ends. A repair ends more than they know, but no possession.
    """
    kinds = {end.kind for end in ends_of(content)}
    is_end_read = likely.ends > likely.replaces and bool(kinds - {MENDED})
    is_possession = MENDED in kinds and owns_something(known)
    return 0.0 if is_end_read or is_possession else likely.changes


def _kind(likely: Likely) -> Kind:
    return "replaces" if likely.replaces >= likely.ends else "ends"


def compared(new: Statement, known: Sequence[Record]) -> Iterable[int]:
    """Return the places of the known statements that are compared with the new one."""
    named = naming(new.content)
    places = [
        place
        for place, record in enumerate(known)
        if record.type in READ
        and record.topic_key not in INTRODUCED  # only another introduction changes a name
        and record.speaker == new.speaker
        and not _is_of_one_message(new, record)
        and not is_of_another(new.content, record.content)
        and not are_of_other_occasions(new.content, record.content)
    ]
    near = (place for place in places if _is_near(named, known[place]))
    return dict.fromkeys((*islice(near, MOST_COMPARED - MOST_NEWEST), *places[:MOST_NEWEST]))


def _is_of_one_message(new: Statement, known: Record) -> bool:
    """Return whether both were said in one message. All statements of one message are true at the
    same time.
    """
    mine, theirs = new.source, known.source
    return mine.session == theirs.session and not set(mine.seqs).isdisjoint(theirs.seqs)


def _is_near(named: Sequence[str], known: Record) -> bool:
    return any(is_meant_by(word, named) for word in naming(known.content))
