"""The time at which something ended, as a text in ISO 8601 that is as exact as the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.memory.times import Moment


@dataclass(frozen=True, slots=True)
class EndTime:
    """When something ended: in epoch milliseconds, and as a line shows it ("2026-05")."""

    at: int
    day: str


def named_end(label: str) -> EndTime:
    """Return the end that a label names. Raises `ValueError`."""
    return EndTime(begin_of(label), shown(label))


def label_of(moment: Moment) -> str:
    """Return a day, week, month or year: "2026-05-27", "2026-W22", "2026-05", "2026"."""
    day = moment.first
    match moment.unit:
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return f"{day:%Y-%m}"
        case "year":
            return f"{day:%Y}"
        case _:
            return day.isoformat()


def begin_of(label: str) -> int:
    """Return when the time that a label names begins, in epoch milliseconds. Raises `ValueError` if
    the text is not such a label.
    """
    return int(datetime.combine(_first(label), datetime.min.time(), UTC).timestamp() * 1000)


def is_label(text: str) -> bool:
    """Return whether a text is a label of a day, week, month or year, such as "2026-05"."""
    try:
        return begin_of(text) >= 0
    except ValueError:
        return False


def shown(label: str) -> str:
    """Return the time as a line shows it: "2026-05", "in the week of 2026-05-25"."""
    return f"in the week of {_first(label).isoformat()}" if "W" in label else label


def _first(label: str) -> date:
    """Return the first day of the time that a label names."""
    missing = {len("2026"): "-01-01", len("2026-05"): "-01"}
    return date.fromisoformat(label + missing.get(len(label), ""))
