"""Determines from the last day that a record names whether it still holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from palimpsest.memory.as_line import last_day
from palimpsest.memory.record import Record

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_LABEL = re.compile(r"(?:(week) of )?(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


def day_of(task: Record) -> int | None:
    """Return the end of the last day that a task names, in epoch milliseconds, or None if it names
    no day. The day is `due_at`, or else the last date in its words. Relative dates count from the
    day on which the task was said.
    """
    due = () if task.due_at is None else _end(task.due_at[:10])
    return max(due, default=None) or max(_named(task), default=None)


def is_open(task: Record, *, now: int) -> bool:
    """Return whether the day of the task has not passed. `now` is in epoch milliseconds."""
    end = day_of(task)
    return end is None or now < end


def end_of_what_lasts(record: Record) -> int | None:
    """Return the end of the day until which a record holds ("until Sunday"), in epoch milliseconds,
    or None if it names none.
    """
    last = last_day(record)
    return None if last is None else max(_end(last), default=None)


def _named(task: Record) -> Iterator[int]:
    from palimpsest.text.dates import relative_dates  # only tasks need them

    day = datetime.fromtimestamp(task.valid_from / 1000, UTC).date()
    for dated in relative_dates(task.content, at=day):
        if dated.direction >= 0:
            yield from _end(dated.label)
    for written in _DATE.findall(task.content):
        yield from _end(written)


def _end(label: str) -> Iterator[int]:
    """Yield the end of a day, week, month or year in ISO 8601. Yield nothing if there is no such
    day.
    """
    match = _LABEL.fullmatch(label)
    if match is None:
        return
    week, year, month, day = match.groups()
    try:
        begin = date(int(year), int(month or 1), int(day or 1))
        yield _midnight(_after(begin, week=bool(week), month=bool(month), day=bool(day)))
    except (ValueError, OverflowError):
        return


def _after(begin: date, *, week: bool, month: bool, day: bool) -> date:
    if week or day:
        return begin + timedelta(days=7 if week else 1)
    if month:
        return date(begin.year + begin.month // 12, begin.month % 12 + 1, 1)
    return date(begin.year + 1, 1, 1)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
