"""Relative dates made absolute: what "yesterday" was when it was said is written beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain

from palimpsest.text.date_words import (
    COUNTED,
    FIXED,
    FRENCH,
    FRENCH_YESTERDAY,
    GERMAN,
    IN_WEEKS,
    NUMBERS,
    ON_WEEKDAYS,
    UNITS,
    WEEKDAYS,
    Unit,
)

Found = tuple[re.Match[str], Unit, int]
"""Where it stands, and how many days, weeks, months or years it is from now."""

_SAID_ALREADY = re.compile(r"\s*[(\uff08][^)\uff09]*\d")
_UNITS = tuple((unit, re.compile(words, re.IGNORECASE)) for unit, words in UNITS)


@dataclass(frozen=True, slots=True)
class Dated:
    """A relative date in a text: where it stands, the day, week, month or year that it means, and which way it lies."""

    start: int
    end: int
    label: str
    direction: int


def dated(text: str, *, at: date) -> str:
    """The text with each relative date's absolute one in brackets behind it, unless that stands there already."""
    parts, done = [], 0
    for found in relative_dates(text, at=at):
        parts.append(text[done : found.end])
        if not _SAID_ALREADY.match(text, found.end) and found.label not in text:
            parts.append(f" ({found.label})")
        done = found.end
    return "".join((*parts, text[done:]))


def relative_dates(text: str, *, at: date) -> list[Dated]:
    """The relative dates of a text that was written on the day `at`, in order; of two that overlap the first, or the
    longer one.
    """
    found = sorted(_all(text, at), key=lambda each: (each.start, -each.end))
    kept: list[Dated] = []
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _all(text: str, at: date) -> Iterator[Dated]:
    for match, unit, offset in chain(_fixed(text), _counted(text), _weekdays(text, at)):
        label = _label(unit, offset, at)
        if label is not None:
            yield Dated(match.start(), match.end(), label, (offset > 0) - (offset < 0))


def _fixed(text: str) -> Iterator[Found]:
    for unit, offset, pattern in FIXED:
        yield from ((match, unit, offset) for match in pattern.finditer(text))
    if FRENCH.search(text) and not GERMAN.search(text):
        yield from ((match, "day", -1) for match in FRENCH_YESTERDAY.finditer(text))


def _counted(text: str) -> Iterator[Found]:
    for sign, pattern in COUNTED:
        yield from ((match, _unit(match["unit"]), sign * _number(match["n"])) for match in pattern.finditer(text))


def _weekdays(text: str, at: date) -> Iterator[Found]:
    for sign, pattern in ON_WEEKDAYS:
        for match in pattern.finditer(text):
            days = (WEEKDAYS[match["day"].lower()] - at.weekday()) * sign % 7 or 7
            yield match, "day", sign * days
    for sign, pattern in IN_WEEKS:
        for match in pattern.finditer(text):
            yield match, "day", WEEKDAYS[match["day"] or match["ja"]] - at.weekday() + 7 * sign


def _number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text.lower()]


def _unit(text: str) -> Unit:
    return next(unit for unit, words in _UNITS if words.fullmatch(text))


def _label(unit: Unit, offset: int, at: date) -> str | None:
    """ISO 8601, as exact as the unit; None beyond the calendar."""
    try:
        if unit == "day":
            return (at + timedelta(days=offset)).isoformat()
        if unit == "week":
            monday = at + timedelta(days=7 * offset - at.weekday())
            return f"week of {monday.isoformat()}"
        months = at.year * 12 + at.month - 1 + (offset if unit == "month" else 12 * offset)
        day = date(months // 12, months % 12 + 1, 1)
    except (ValueError, OverflowError):
        return None
    return day.isoformat()[:7] if unit == "month" else day.isoformat()[:4]
