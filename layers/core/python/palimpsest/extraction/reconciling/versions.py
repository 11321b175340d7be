"""Makes the next version of a record, with the times that its new content names."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.extraction.reconciling.known import day_of, next_version
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement
from palimpsest.memory.times import moment_of


def version_of(statement: Statement, record: Record, content: str) -> Statement:
    """Return the statement as the next version of the record, with the corrected content."""
    occurs_at, due_at = _times(record, content, statement)
    return replace(
        next_version(statement, record),
        type=record.type,
        content=content,
        due_at=due_at,
        occurs_at=occurs_at,
        subject=record.subject,
        importance=record.importance,
        keywords=record.keywords,
        topic=record.topic_key,
    )


def with_times(wrong: Statement, content: str, *, by: Statement) -> Statement:
    """Return the statement with the right content, and with the times that this names."""
    occurs_at, due_at = _times(wrong, content, by)
    return replace(wrong, content=content, occurs_at=occurs_at, due_at=due_at)


def _times(wrong: Statement | Record, content: str, by: Statement) -> tuple[str | None, str | None]:
    """Return when the corrected content happens or is due. Without a new day, the old day stays."""
    moment = moment_of(content, at=day_of(by)) if by.valid_from is not None else None
    has_moved = moment is not None and moment != moment_of(wrong.content, at=day_of(by))
    is_new = has_moved or by.occurs_at or by.due_at
    new = (moment.first.isoformat() if is_new and moment else None) or by.occurs_at or by.due_at
    if wrong.due_at is not None:
        return None, new or wrong.due_at
    return new or wrong.occurs_at, None
