"""Writes a memory as a line, with its speaker and with the time at which its content happens or was
due.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from palimpsest.conversations.spoken import name_of
from palimpsest.memory.record import Record, is_quoted
from palimpsest.memory.times import lasts_until


def quoted_in(record: Record, *, user: str) -> str | None:
    """Return the name of the person whose words the record quotes, or None if the record is about
    the user.
    """
    if record.speaker is None:
        return name_of("user", user=user) if is_quoted(record) else None
    is_named = record.speaker.casefold() in record.content.casefold()
    return None if is_named and not is_quoted(record) else record.speaker


def unlabelled(content: str, speaker: str | None) -> str:
    """Return the content without the label of its speaker: "Bob: I like tea" becomes "I like
    tea".
    """
    label = f"{speaker}: "
    is_labelled = speaker is not None and content.casefold().startswith(label.casefold())
    return content[len(label) :] if is_labelled else content


NO_LONGER_SURE = "may no longer be so: what it rests on has changed"

MATERIAL = "material, not testimony"
"""The mark on a message that is no statement of its speaker."""

OUTDATED = "outdated in part"
"""The mark on a message or memory that says an earlier value."""
"""The note after a memory that rests on another memory that has changed."""
LONG_PAST = 7
"""Days after which a task that was due counts as over."""
_BRACKETS = re.compile(r" \((?:week of )?\d{4}(?:-\d\d){0,2}\)")


def when(record: Record, *, now: datetime, ended: str | None = None) -> str | None:
    """Return when the content of the record happens, happened or was due, for a reader at the time
    `now`: "planned for 2026-10-01", "was due on 2026-03-06". If the record has `ended` on a day,
    return "ended 2026-09-08". Return None without a time.
    """
    if ended is not None:
        return f"ended {ended}"
    today = now.date().isoformat()
    if record.due_at is not None:
        return _due(record.due_at[:10], today)
    if record.occurs_at is None:
        return _until(last_day(record), today)
    first = record.occurs_at[:10]
    day = _period(first, record.time_unit)
    if first > today:
        return f"planned for {day}"
    if today <= _last(first, record.time_unit):
        return f"planned for today, {day}" if record.time_unit == "day" else f"planned for {day}"
    stated_on = _stated_on(record).isoformat()
    return (
        f"was planned for {day}" if first > stated_on else f"happened {_on(day, record.time_unit)}"
    )


def is_long_past(record: Record, *, now: datetime) -> bool:
    """Return whether the content of the record was due more than a week ago, or lasted until a day
    that is over.
    """
    least = (now.date() - timedelta(days=LONG_PAST)).isoformat()
    if record.due_at is not None:
        return record.due_at[:10] < least
    last = last_day(record)
    return last is not None and last < now.date().isoformat()


def last_day(record: Record) -> str | None:
    """Return the day until which the content of a record holds, if it says so: "I'm on vacation
    until Sunday".
    """
    if record.type not in ("fact", "event") or record.occurs_at is not None:
        return None
    last = lasts_until(record.content, at=_stated_on(record))
    return None if last is None else last.isoformat()


def _stated_on(record: Record) -> date:
    return datetime.fromtimestamp(record.valid_from / 1000, UTC).date()


def with_one_date(content: str, *, when: str | None) -> str:
    """Return the content without the dates in brackets that `when` repeats."""
    if when is None:
        return content
    return _BRACKETS.sub(lambda dates: "" if _days(dates[0]) in when else dates[0], content)


def names_a_date(content: str) -> bool:
    """Return whether a relative date in the content has its absolute date in brackets."""
    return _BRACKETS.search(content) is not None


def _days(brackets: str) -> str:
    return brackets.strip(" ()").removeprefix("week of ")


def _until(last: str | None, today: str) -> str | None:
    if last is None:
        return None
    return f"until {last}" if last >= today else f"was so until {last}"


def _due(day: str, today: str) -> str:
    if day < today:
        return f"was due on {day}"
    return f"due today, {day}" if day == today else f"due on {day}"


def _period(first: str, unit: str) -> str:
    """Return a day, or the week, month or year that begins on it, as text."""
    match unit:
        case "week":
            return f"the week of {first}"
        case "month":
            return first[:7]
        case "year":
            return first[:4]
        case _:
            return first


def _on(day: str, unit: str) -> str:
    return f"on {day}" if unit == "day" else f"in {day}"


def _last(first: str, unit: str) -> str:
    """Return the last day of the period that begins on this day."""
    match unit:
        case "week":
            return (date.fromisoformat(first) + timedelta(days=6)).isoformat()
        case "month":
            return f"{first[:7]}-31"
        case "year":
            return f"{first[:4]}-12-31"
        case _:
            return first
