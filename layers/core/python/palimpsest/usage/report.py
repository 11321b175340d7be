"""Sum up what was counted: by day, by user, or for the whole tenant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from palimpsest.clock import Clock, day_of, milliseconds
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.scope import Scope
from palimpsest.usage.ports import KEPT_DAYS, Row, Usages

LONGEST = 93  # days of one answer
By = Literal["tenant", "user", "day"]


@dataclass(frozen=True, slots=True)
class Sum:
    """What was counted for a day, a user, or (both are None) for all. Users who were erased are summed up as one, whose
    `user` is None.
    """

    day: str | None
    user: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Used:
    """The sums of the days `first` through `last`, in order of days or users; those without a name come last."""

    first: str
    last: str
    sums: tuple[Sum, ...]


@dataclass(frozen=True, slots=True)
class ReadUsage:
    usages: Usages
    clock: Clock

    def __call__(
        self, scope: Scope, *, first: date | None = None, last: date | None = None, by: By, user: str | None = None
    ) -> Used:
        """What was used from one day (None: the first of the month) through another (None: today), by all or one user.
        There is always one sum `by` tenant. Raises `Unprocessable` (`invalid_period`), `Unavailable`.
        """
        begin, end = self._period(first, last)
        return Used(begin, end, summed(self.usages.rows(scope, first=begin, last=end, user=user), by=by))

    def _period(self, first: date | None, last: date | None) -> tuple[str, str]:
        today = date.fromisoformat(day_of(milliseconds(self.clock.now())))
        end = last or today
        begin = first or end.replace(day=1)
        if begin > end or end - begin >= timedelta(days=LONGEST):
            error = FieldError("from", f"up to {LONGEST - 1} days before `to`")
            raise Unprocessable("This is no period that can be summed up.", code="invalid_period", errors=(error,))
        if begin < today - timedelta(days=KEPT_DAYS):
            error = FieldError("from", f"counts are kept for {KEPT_DAYS} days")
            raise Unprocessable("Nothing is counted there any more.", code="invalid_period", errors=(error,))
        return begin.isoformat(), end.isoformat()


def summed(rows: Iterable[Row], *, by: By) -> tuple[Sum, ...]:
    sums: defaultdict[tuple[str | None, str | None], Counter[str]] = defaultdict(Counter)
    if by == "tenant":
        sums[None, None] = Counter()
    for row in rows:
        place = (row.day, None) if by == "day" else (None, row.user if by == "user" else None)
        sums[place].update(row.counts)
    return tuple(Sum(*place, dict(sums[place])) for place in sorted(sums, key=_order))


def _order(place: tuple[str | None, str | None]) -> tuple[bool, str]:
    name = place[0] or place[1]
    return name is None, name or ""
