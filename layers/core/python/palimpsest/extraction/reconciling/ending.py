"""Ends the known records that a statement says have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.known import (
    MOST_ENDED,
    KnownStatements,
    are_of_one_speaker,
    day_of,
    draft_of,
    end_own,
    end_stored,
    order_of,
    speaker_of,
)
from palimpsest.extraction.reconciling.versions import version_of, with_times
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.ended_on import label_of
from palimpsest.memory.meaning.ends import End, ends_of, is_ended, is_of_one_occurrence
from palimpsest.memory.meaning.other_clauses import parts_left
from palimpsest.memory.meaning.rules import is_lifted, is_opposite
from palimpsest.memory.meaning.searches import found_in, is_search_for
from palimpsest.memory.names import unlabelled
from palimpsest.memory.record import Order, Record
from palimpsest.memory.statements import Statement
from palimpsest.memory.times import ended_on, is_to_come

LASTING = frozenset({"denial", "plain", "left", "job", "home", "partner"})
"""Kinds of ends of things that last until the day of their end. Such a thing has not ended yet if
that day is still to come.
"""


def ends(finding: Finding, statement: Statement, rank: int, state: KnownStatements) -> bool:
    """Return whether the statement says that something ended, and thereby ends a known record."""
    content = unlabelled(finding.content, statement.subject)
    ended = _newly_ended(finding, content) if statement.type in ("fact", "event") else ()
    if not ended:
        return False
    if _is_planned(ended, content, statement):
        return False
    order = order_of(statement, rank)
    is_dated = is_of_one_occurrence(content)
    own, places = _ended_here(ended, statement, state, is_dated=is_dated)
    stored = [
        record
        for record in state.records
        if (not is_dated or _has_a_day(record)) and _is_ended(record, ended, statement, order)
    ]
    for place in own:
        if not _ends_one_of_several_own(place, ended, statement, state):
            end_own(place, order, state)
    on = ended_when(content, statement) if stored else None
    for record in stored[: MOST_ENDED - places]:
        left = _left_of(record, ended)
        if left is None:
            end_stored(record, order, state, on=on)
        else:
            version = version_of(statement, record, left)
            state.statements.append((replace(finding, content=left), version, rank))
    return bool(own or stored)


def finds(statement: Statement, rank: int, state: KnownStatements) -> None:
    """End the known searches for the thing that the statement says to be found."""
    is_own = statement.type in ("fact", "event") and (statement.subject or USER) == USER
    thing = found_in(statement.content) if is_own else ()
    if not thing:
        return
    order = order_of(statement, rank)
    for place, (_, other, _) in enumerate(state.statements):
        if is_own_search(draft_of(other), thing):
            end_own(place, order, state)
    for record in state.records:
        if record.order < order and is_own_search(record, thing):
            end_stored(record, order, state)


def only_lifts(statement: Statement, rank: int, state: KnownStatements) -> bool:
    """End the known instructions that a statement lifts. Return whether that is all it says: "You
    don't need bullet points any more" does, "Stop using bullet points" is an instruction too.
    """
    order = order_of(statement, rank)
    own = [
        place
        for place, (_, other, _) in enumerate(state.statements)
        if _may_end(statement, other) and _lifts(statement, draft_of(other))
    ]
    stored = [
        record
        for record in state.records
        if record.order < order and _may_end(statement, record) and _lifts(statement, record)
    ]
    for place in own[:MOST_ENDED]:
        end_own(place, order, state)
    for record in stored[:MOST_ENDED]:
        end_stored(record, order, state)
    return bool(own or stored) and statement.type != "instruction"


def _lifts(statement: Statement, record: Record) -> bool:
    if record.type != "instruction":
        return False
    content = unlabelled(statement.content, statement.subject)
    is_rule = statement.type == "instruction"
    return is_lifted(record.content, content) or (is_rule and is_opposite(content, record.content))


def is_own_search(record: Record, thing: Sequence[str]) -> bool:
    """Return whether a record says that the user is looking for this thing."""
    is_of_user = (record.subject or USER) == USER and record.type != "instruction"
    return is_of_user and is_search_for(record.content, thing)


def _left_of(record: Record, ended: Sequence[End]) -> str | None:
    """Return the content of a record without what has ended, if that is one of several things, or
    is in one of two clauses.
    """
    lefts = parts_left(record.content, [end.words for end in ended if end.words])
    return next(
        (left for left in lefts if not is_ended(replace(record, content=left), ended)), None
    )


def _ends_one_of_several_own(
    place: int, ended: Sequence[End], statement: Statement, state: KnownStatements
) -> bool:
    """Take what has ended out of a statement of this step, and return whether it is one of several
    things there.
    """
    finding, other, rank = state.statements[place]
    left = _left_of(draft_of(other), ended)
    if left is None:
        return False
    right = with_times(other, left, by=statement)
    state.statements[place] = (replace(finding, content=left, relations=()), right, rank)
    return True


def _newly_ended(finding: Finding, content: str) -> Sequence[End]:
    """Return the ends that a finding states. If it has the sentence before it too, the ends of
    that sentence are left out, because they are a finding of their own.
    """
    ended = ends_of(content)
    if not finding.depends or not ended:
        return ended
    before = ends_of(content.removesuffix(finding.quote).strip())
    return [end for end in ended if end not in before]


def _is_planned(ended: Sequence[End], content: str, statement: Statement) -> bool:
    """Return whether the statement announces a later end of something that lasts until then.
    Something that happens on a later day is different, because it can be cancelled now: "Friday's
    class is off".
    """
    lasts = all(end.kind in LASTING for end in ended)
    return lasts and is_to_come(content, at=day_of(statement))


def ended_when(content: str, statement: Statement) -> str | None:
    """Return the time that the statement names for an end (`Pointer.ended_on`), or None."""
    moment = ended_on(content, at=day_of(statement))
    return None if moment is None else label_of(moment)


def _ended_here(
    ended: Sequence[End], statement: Statement, state: KnownStatements, *, is_dated: bool
) -> tuple[list[int], int]:
    """Return the places of the step's own statements that end, and their number. An end that
    `is_dated` ends only what has a day.
    """
    places = [
        place
        for place, (_, other, _) in enumerate(state.statements)
        if other.topic_key != (statement.topic_key or "")
        and (not is_dated or _has_a_day(other))
        and _may_end(statement, other)
        and is_ended(draft_of(other), ended, subject=statement.subject)
    ][-MOST_ENDED:]
    return places, len(places)


def _is_ended(record: Record, ended: Sequence[End], statement: Statement, order: Order) -> bool:
    is_other_topic = record.topic_key is None or record.topic_key != statement.topic_key
    is_later = is_other_topic and record.order < order and _may_end(statement, record)
    return is_later and is_ended(record, ended, subject=statement.subject)


def _has_a_day(known: Statement | Record) -> bool:
    return known.occurs_at is not None or known.due_at is not None


def _may_end(statement: Statement, known: Statement | Record) -> bool:
    """Return whether a statement's speaker may end a known one: the user any, everybody else only
    their own.
    """
    return speaker_of(statement) == USER or are_of_one_speaker(statement, known)
