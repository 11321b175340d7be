"""Gives known statements the new values of a statement: a moved day, another thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.known import (
    KnownStatements,
    are_of_one_speaker,
    draft_of,
    end_own,
    end_stored,
    next_version,
    order_of,
    speaker_of,
)
from palimpsest.extraction.reconciling.versions import version_of, with_times
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.meaning.frames import contrasted, contrasts_of, may_move, move_of, moved
from palimpsest.memory.meaning.makes import Make
from palimpsest.memory.meaning.occasions import are_of_other_occasions
from palimpsest.memory.meaning.people import is_of_another
from palimpsest.memory.meaning.reading import naming
from palimpsest.memory.meaning.releases import release_of, with_release
from palimpsest.memory.meaning.slots import RESIDENCE
from palimpsest.memory.meaning.transitions import (
    Transition,
    carried_over,
    is_of_another_make,
    is_value_of,
    switched_to,
    transitions_of,
)
from palimpsest.memory.names import unlabelled
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement


def changes(finding: Finding, statement: Statement, rank: int, state: KnownStatements) -> bool:
    """Return whether a full statement gives another one a new value. If so, the other one
    gets it.
    """
    better = _new_contents(statement)
    if not better:
        return False
    for change in better:
        for place in reversed(range(len(state.statements))):
            other_finding, other, its_rank = state.statements[place]
            content = _changed(change, draft_of(other), statement)
            if content is not None:
                says = replace(other_finding, content=content, relations=())
                right = with_times(other, content, by=statement)
                state.statements[place] = (says, right, its_rank)
                return True
        if (record := _meant_record(change, statement, rank, state)) is not None:
            content = _changed(change, record, statement) or record.content
            right = version_of(statement, record, content)
            state.statements.append((replace(finding, content=content), right, rank))
            return True
    return False


def takes_a_place(
    finding: Finding, statement: Statement, rank: int, state: KnownStatements
) -> bool:
    """Return whether the statement says that the user now has a thing of another make. If so, the
    statement replaces the known statement about that thing.
    """
    is_own = statement.type in ("fact", "event") and (statement.subject or USER) == USER
    is_own &= speaker_of(statement) == USER
    by = switched_to(statement.content) if is_own else None
    if by is None:
        return False
    order = order_of(statement, rank)
    own = [
        place
        for place, (_, other, _) in enumerate(state.statements)
        if _is_of_another_make(draft_of(other), by)
        and not are_of_other_occasions(statement.content, other.content)
    ]
    stored = [
        record
        for record in state.records
        if record.order < order
        and _is_of_another_make(record, by)
        and not are_of_other_occasions(statement.content, record.content)
    ]
    if len(own) + len(stored) != 1:
        return False
    for place in own:
        end_own(place, order, state)
    new = replace(statement, type="fact", occurs_at=None)
    new = replace(new, topic=None) if new.topic == RESIDENCE else new
    for record in stored:
        if new.topic_key is None:
            new = next_version(new, record)
        elif new.topic_key != record.topic_key:
            end_stored(record, order, state)
    state.statements.append((replace(finding, depends=False), new, rank))
    return True


def _is_of_another_make(record: Record, by: Make) -> bool:
    is_own = (record.subject or USER) == USER and record.speaker in (None, USER)
    return is_own and record.type in ("fact", "event") and is_of_another_make(record.content, by)


Change = Callable[[Record], str | None]
"""Replaces a value in the content of a record by the new value of a statement. Returns None if the
record is about something else.
"""


def _new_contents(statement: Statement) -> Sequence[Change]:
    """Return the ways in which a statement may change another one."""
    if statement.type not in ("fact", "event"):
        return ()
    text = unlabelled(statement.content, statement.subject)
    ways: list[Change] = [
        partial(_with_value, change=partial(contrasted, by=contrast))
        for contrast in contrasts_of(text)
    ]
    who = statement.subject or USER
    ways += [partial(_with_new_thing, by=by, who=who) for by in transitions_of(text)]
    release = release_of(text) if who == USER else None
    if release is not None:
        ways.append(partial(_with_value, change=partial(with_release, by=release)))
    move = move_of(text) if may_move(text) else None
    if move is not None:
        ways.append(partial(_with_value, change=partial(moved, by=move)))
    return ways


def _with_value(record: Record, *, change: Callable[[str], str | None]) -> str | None:
    content = unlabelled(record.content, record.subject)
    changed = change(content)
    return None if changed is None else record.content.removesuffix(content) + changed


def _with_new_thing(record: Record, *, by: Transition, who: str) -> str | None:
    """Return the record's content after a transition in the life of a person. If one person takes
    the place of another, it must be the user's: "my boss".
    """
    is_about_them = (record.subject or USER) == who
    is_held = who == USER and not by.is_own and is_value_of(record.content, by)
    return (
        _with_value(record, change=partial(carried_over, by=by))
        if is_about_them or is_held
        else None
    )


def _changed(change: Change, other: Record, statement: Statement) -> str | None:
    if not are_of_one_speaker(statement, other):
        return None
    if other.type == "instruction" or _is_preference(other.topic_key):
        return None
    if other.topic_key is not None and other.topic_key == statement.topic_key:
        return None
    is_of_other = is_of_another(statement.content, other.content)
    if is_of_other or are_of_other_occasions(statement.content, other.content):
        return None
    return change(other)


def _is_preference(topic: str | None) -> bool:
    return topic is not None and topic.startswith("preference")


def _meant_record(
    change: Change, statement: Statement, rank: int, state: KnownStatements
) -> Record | None:
    """Return the stored record that a change is about. If several name the same things, it is the
    newest one. Return None if they name different things.
    """
    order = order_of(statement, rank)
    meant = [
        record
        for record in state.records
        if record.order < order and _changed(change, record, statement) is not None
    ]
    named = {naming(record.content) for record in meant}
    return max(meant, key=lambda record: record.order) if len(named) == 1 else None
