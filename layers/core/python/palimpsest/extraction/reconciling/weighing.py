"""Relates a statement to a known one by the learned weights, where no rule decides."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.reconciling.ending import ended_when
from palimpsest.extraction.reconciling.known import (
    KnownStatements,
    day_of,
    draft_of,
    end_own,
    end_stored,
    next_version,
    order_of,
)
from palimpsest.extraction.reconciling.versions import version_of
from palimpsest.extraction.relating import Related, related
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.extraction.timing import changes_on_a_day
from palimpsest.memory.meaning.other_clauses import parts_left
from palimpsest.memory.meaning.reading import is_meant_by, naming
from palimpsest.memory.meaning.slots import MOST_NAMED
from palimpsest.memory.record import Order, Record
from palimpsest.memory.statements import Statement
from palimpsest.memory.times import is_to_come


def related_by_weights(
    finding: Finding, statement: Statement, rank: int, state: KnownStatements
) -> Statement | None:
    """Relate the statement to a known one by the learned weights, and return it. The new statement
    becomes the next version of the known one, takes over the known words, or ends the known one. A
    finding that depends on others is returned only if it replaces a known statement. A known
    statement that also says something else keeps that.
    """
    if statement.speaker not in (None, USER):  # what others say moves no topic of the user
        return None if finding.depends else statement
    own = [
        (place, draft_of(own_statement))
        for place, (_, own_statement, _) in enumerate(state.statements)
    ]
    order = order_of(statement, rank)
    # `related` wants the newest first, and this step's statements are the newest.
    known = [record for _, record in reversed(own)]
    known += [record for record in state.records if record.order < order]
    may_repeat = _may_repeat(finding, statement)
    relation = related(statement, known, may_repeat=may_repeat, states=not finding.depends)
    if relation is None:
        return None if finding.depends else statement
    record = known[relation.place]
    if relation.kind == "repeats":
        return replace(
            statement, content=record.content, topic=record.topic_key, version_of=record.topic_key
        )
    if _is_not_yet(relation, finding, statement, record):
        return None if finding.depends else statement
    is_own = relation.place < len(own)
    left = None if is_own or relation.kind == "ends" else _left_beside(statement, record)
    if left is not None:
        state.statements.append((finding, version_of(statement, record, left), rank))
        return statement
    return _changing(relation, statement, record, order, state, is_own=is_own)


def _is_not_yet(relation: Related, finding: Finding, statement: Statement, record: Record) -> bool:
    """Return whether the statement announces a change on a later day. The record holds until
    then.
    """
    lasts = relation.kind == "ends" or changes_on_a_day(record.topic_key or "")
    return lasts and is_to_come(finding.content, at=day_of(statement))


def _may_repeat(finding: Finding, statement: Statement) -> bool:
    is_short = 0 < len(naming(statement.content)) <= MOST_NAMED + 1
    return statement.type == "fact" and not finding.depends and is_short


def _left_beside(statement: Statement, record: Record) -> str | None:
    """Return what a record says beside the thing that the statement changes: "I have 1 dog" of "I
    have 2 kids and 1 dog", for "It's three kids now". Return None if it is not clear what that is.
    """
    known = naming(record.content)
    shared = [word for word in naming(statement.content) if is_meant_by(word, known)]
    return next(parts_left(record.content, [shared]), None) if shared else None


def _changing(
    relation: Related,
    statement: Statement,
    record: Record,
    order: Order,
    state: KnownStatements,
    *,
    is_own: bool,
) -> Statement:
    """Let the statement end the known one, and return it. A statement without a topic becomes the
    next version of the known one.
    """
    if is_own:
        # `related_by_weights` gave these statements in reversed order.
        end_own(len(state.statements) - 1 - relation.place, order, state)
        return statement
    if relation.kind == "replaces" and statement.topic_key is None:
        return next_version(statement, record)
    if record.topic_key is None or record.topic_key != statement.topic_key:
        on = ended_when(statement.content, statement) if relation.kind == "ends" else None
        end_stored(record, order, state, on=on)
    return statement
