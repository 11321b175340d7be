"""Finds the time that a question is about: a day, week, month or year, by its date or its distance from today."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from palimpsest.clock import milliseconds
from palimpsest.text.dates import relative_dates

MARGIN = timedelta(days=1)  # in the asker's time zone a day may begin earlier or later

_MONTHS = (
    "january januar janvier enero jan", "february februar février fevrier febrero feb", "march märz mars marzo mar",
    "april avril abril apr", "may mai mayo", "june juni juin junio jun", "july juli juillet julio jul",
    "august août aout agosto aug", "september septembre septiembre setiembre sep sept",
    "october oktober octobre octubre oct okt", "november novembre noviembre nov",
    "december dezember décembre decembre diciembre dec dez",
)  # fmt: skip
_NUMBER = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_M = rf"(?P<month>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})\b\.?"
_Y = r"(?P<year>(?:19|20)\d\d)"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.|º)?"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_Y}-(?P<number>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"{_Y}[年년]\s?(?P<number>1?\d)[月월]\s?(?:(?P<day>[1-3]?\d)[日号일])?",
        rf"\b{_Y}-(?P<number>[01]\d)\b",
        rf"\b{_M}\s+{_D},?\s+{_Y}\b",
        rf"\b{_D}\s+(?:de\s+|of\s+)?{_M}(?:,?\s+(?:de\s+)?{_Y})?\b",
        rf"\b{_M},?\s+(?:(?:of|de)\s+)?{_Y}\b",
        rf"\b{_M}\s+{_D}(?!\d)\b",
        rf"\b(?:in|im|en|since|last|during|for|until|of|seit|depuis|desde)\s+{_M}",
        r"(?<!\d)(?P<number>1?\d)[月월](?:\s?(?P<day>[1-3]?\d)[日号일])?",
        rf"\b(?:in|im|en|since|during|of|seit|depuis|desde)\s+{_Y}\b",
        rf"{_Y}[年년]",
    )
)
_LABEL = re.compile(r"(?P<week>week of )?(?P<year>\d{4})(?:-(?P<number>\d\d))?(?:-(?P<day>\d\d))?")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`, in epoch milliseconds, with a margin of one day for all time zones."""

    start: int
    end: int

    def holds(self, moment: int) -> bool:
        return self.start <= moment < self.end


def period(text: str, *, now: datetime) -> Period | None:
    """The first time that the text names, or None; a month or day without a year is the last one that has begun."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if (found := _absolute(match, now.date())) is not None:
                return found
    return next(_relative(text, now.date()), None)


def _absolute(match: re.Match[str], today: date) -> Period | None:
    groups = match.groupdict()
    name = groups.get("month")
    month = _NUMBER[name.casefold()] if name else int(groups.get("number") or 0)
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
    """The period of `days` days, a month (day 0) or a year (month 0). Raises `ValueError` for an impossible date."""
    start = date(year, month or 1, day or 1)
    if day:
        return _spanning(start, start + timedelta(days=days))
    if month:
        return _spanning(start, date(year + month // 12, month % 12 + 1, 1))
    return _spanning(start, date(year + 1, 1, 1))


def _spanning(start: date, end: date) -> Period:
    first, beyond = (datetime(each.year, each.month, each.day, tzinfo=UTC) for each in (start, end))
    return Period(milliseconds(first - MARGIN), milliseconds(beyond + MARGIN))


def _relative(text: str, today: date) -> Iterator[Period]:
    """Relative dates in the past or now: memories are never of the future."""
    for each in relative_dates(text, at=today):
        label = _LABEL.fullmatch(each.label)
        if label is not None and each.direction <= 0:
            days = 7 if label["week"] else 1
            yield _between(int(label["year"]), int(label["number"] or 0), int(label["day"] or 0), days=days)
