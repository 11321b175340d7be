"""Finds the dates that texts name. It makes relative dates absolute, and finds the time that a
question is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from itertools import chain

from palimpsest.clock import milliseconds
from palimpsest.text.date_words import FRENCH, FRENCH_YESTERDAY, GERMAN, Unit, date_words
from palimpsest.text.sought import Sought
from palimpsest.text.triggers import Triggers, lowered
from palimpsest.text.word_files import entries

Found = tuple[re.Match[str], Unit, int]
"""The position of a relative date, and its distance from the present in days, weeks, months or
years.
"""

MOST_READ = 8_000  # characters of a text in which dates are looked for
_OF_ANOTHER = re.compile(r"\s+(?:of|vom|des|du)\b")
_SAID_ALREADY = re.compile(r"\s*[(\uff08][^)\uff09]{,40}\d")


@dataclass(frozen=True, slots=True)
class Dated:
    """A relative date in a text: its position, and the day, week, month or year that it means, in
    ISO 8601.

    `direction` is 1 for the future, -1 for the past and 0 for the present.
    """

    start: int
    end: int
    label: str
    direction: int


def dated(text: str, *, at: date) -> str:
    """Return the text with the absolute date in brackets after each relative date, unless the text
    has it already.
    """
    parts, done = [], 0
    for relative in relative_dates(text, at=at):
        parts.append(text[done : relative.end])
        if not _SAID_ALREADY.match(text, relative.end) and relative.label not in text:
            parts.append(f" ({relative.label})")
        done = relative.end
    return "".join((*parts, text[done:]))


def relative_dates(text: str, *, at: date) -> list[Dated]:
    """Return the relative dates of a text that was written on the day `at`, in order. If two dates
    overlap, the first one is returned. If both begin at the same place, the longer one is.
    """
    begins = text[:MOST_READ]
    return list(_relative_dates(with_places(begins), at)) if may_be_relative(begins) else []


def may_be_relative(text: str) -> bool:
    """Return whether a text may have a relative date. It may if it has one of the trigger words,
    because every relative date has one of them.
    """
    return bool(_triggers().mask(text))


def with_places(text: str) -> str:
    """Return the text in lower case. Each letter keeps its place."""
    return text.lower() if text.isascii() else "".join(letter.lower()[:1] for letter in text)


@lru_cache(maxsize=64)  # the same sentence is asked for by several readers
def _relative_dates(lower: str, at: date) -> Sequence[Dated]:
    dates = sorted(_all(lower, at), key=lambda relative: (relative.start, -relative.end))
    result: list[Dated] = []
    for relative in dates:
        if not result or relative.start >= result[-1].end:
            result.append(relative)
    return result


def _all(lower: str, at: date) -> Iterator[Dated]:
    likely = date_words().relative.likely(lower)
    dates = chain(_fixed(lower, likely), _counted(lower, likely), _weekdays(lower, at, likely))
    for match, unit, offset in dates:
        if _OF_ANOTHER.match(lower, match.end()):
            continue  # "the last week of April" is counted from another time
        label = _label(unit, offset, at)
        if label is not None:
            yield Dated(match.start(), match.end(), label, (offset > 0) - (offset < 0))


@cache
def _triggers() -> Triggers:
    """Return words of which every relative date has at least one."""
    return Triggers([tuple(entries("palimpsest.text", "date_words"))], asked_together=True)


def _fixed(text: str, likely: frozenset[Sought]) -> Iterator[Found]:
    for unit, offset, pattern in date_words().fixed:
        if pattern in likely:
            yield from ((match, unit, offset) for match in pattern.compiled.finditer(text))
    if FRENCH_YESTERDAY.search(text) and FRENCH.search(text) and not GERMAN.search(text):
        yield from ((match, "day", -1) for match in FRENCH_YESTERDAY.finditer(text))


def _counted(text: str, likely: frozenset[Sought]) -> Iterator[Found]:
    for sign, match in _matches(date_words().counted, text, likely):
        yield match, _unit(match["unit"]), sign * _number(match["n"])


def _matches(
    patterns: Sequence[tuple[int, Sought]], text: str, likely: frozenset[Sought]
) -> Iterator[tuple[int, re.Match[str]]]:
    for sign, pattern in patterns:
        if pattern in likely:
            yield from ((sign, match) for match in pattern.compiled.finditer(text))


_OF_EVERY_WEEK = re.compile(
    r"\b(?:days|\w*tage|jours|días)\b(?: \w+){0,3}? (?:are|were|to|sind|auf|sont|son)\b"
    r"(?P<days>[^.;!?]*)"
)
"""A clause with the weekdays on which something takes place each week: "my gym days are Monday and
Thursday".
"""


def _weekdays(text: str, at: date, likely: frozenset[Sought]) -> Iterator[Found]:
    words = date_words()
    matches = list(_matches(words.on_weekdays, text, likely))
    clauses = _OF_EVERY_WEEK.finditer(text) if matches else ()
    of_every_week = [clause.span("days") for clause in clauses]
    for sign, match in matches:
        if any(start <= match.start() <= end for start, end in of_every_week):
            continue
        days = (words.weekdays[match["day"]] - at.weekday()) * sign % 7 or 7
        yield match, "day", sign * days
    for sign, match in _matches(words.in_weeks, text, likely):
        yield match, "day", words.weekdays[match["day"]] - at.weekday() + 7 * sign


def _number(text: str) -> int:
    return int(text) if text.isdigit() else date_words().numbers[text]


def _unit(text: str) -> Unit:
    return next(unit for unit, words in date_words().units.items() if re.fullmatch(words, text))


def _label(unit: Unit, offset: int, at: date) -> str | None:
    """Return the date in ISO 8601, as exact as the unit, or None if it is outside the calendar."""
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


MARGIN = timedelta(days=1)  # in the asker's time zone a day may begin earlier or later

_DIGIT = re.compile(r"\d")
_LABEL = re.compile(r"(?P<week>week of )?(?P<year>\d{4})(?:-(?P<number>\d\d))?(?:-(?P<day>\d\d))?")


@dataclass(frozen=True, slots=True)
class Period:
    """A period from `start` until just before `end`, in epoch milliseconds. It includes a margin of
    one day at each end for all time zones. `words` are the words of the text that name the period.
    """

    start: int
    end: int
    words: str = ""

    def holds(self, moment: int) -> bool:
        return self.start <= moment < self.end

    def nearness(self, moment: int) -> float:
        """Return how near a moment is to the period: 1 on the days that were named, a half on the
        days of the margin, and 0 outside.
        """
        margin = MARGIN // timedelta(milliseconds=1)
        return (self.holds(moment) + (self.start + margin <= moment < self.end - margin)) / 2


def period(text: str, *, now: datetime) -> Period | None:
    """Return the first period that the text names, or None. A month or day without a year means the
    last such month or day that has begun.
    """
    begins = lowered(text[:MOST_READ])
    words = date_words()
    for pattern in words.absolute if _DIGIT.search(begins) else (words.month_alone,):
        for match in pattern.finditer(begins):
            if (named := _absolute(match, now.date())) is not None:
                return replace(named, words=match[0])
    return next(_relative(text, now.date()), None)


def _absolute(match: re.Match[str], today: date) -> Period | None:
    groups = match.groupdict()
    name = groups.get("month")
    month = date_words().months[name] if name else int(groups.get("number") or 0)
    day = int(groups.get("day") or 0)
    year = int(groups.get("year") or 0)
    try:
        if not year:
            begun = date(today.year, month, day or 1) <= today
            year = today.year if begun else today.year - 1
        return _between(year, month, day)
    except (ValueError, OverflowError):
        return None


def _between(year: int, month: int, day: int, *, days: int = 1) -> Period:
    """Return a period of `days` days, of a month (if `day` is 0), or of a year (if `month` is 0).
    Raises `ValueError` for an impossible date.
    """
    start = date(year, month or 1, day or 1)
    if day:
        return _spanning(start, start + timedelta(days=days))
    if month:
        return _spanning(start, date(year + month // 12, month % 12 + 1, 1))
    return _spanning(start, date(year + 1, 1, 1))


def _spanning(start: date, end: date) -> Period:
    first, beyond = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (start, end))
    return Period(milliseconds(first - MARGIN), milliseconds(beyond + MARGIN))


def _relative(text: str, today: date) -> Iterator[Period]:
    """Yield the periods of relative dates in the past or present. Dates in the future are left out,
    because memories are never of the future.
    """
    for relative in relative_dates(text, at=today):
        label = _LABEL.fullmatch(relative.label)
        if label is not None and relative.direction <= 0:
            days = 7 if label["week"] else 1
            named = _between(
                int(label["year"]), int(label["number"] or 0), int(label["day"] or 0), days=days
            )
            yield replace(named, words=text[relative.start : relative.end])
