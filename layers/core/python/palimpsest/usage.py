"""Usage: what a tenant's users and models use, counted once where it happens, and summed up by day,
user or tenant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal, Protocol

from palimpsest.clock import Clock, day_of, milliseconds
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.scope import Scope, UserScope

KEPT_DAYS = 400
COUNTS = (
    "messages",
    "message_tokens",
    "bytes",
    "model_calls",
    "tokens_in",
    "tokens_out",
    "embedding_calls",
    "embedding_tokens",
    "cost_nano_usd",
    "unpriced",
    "chat_calls",
    "chat_tokens_in",
    "chat_tokens_cached",
    "chat_tokens_out",
    "chat_cost_nano_usd",
    "chat_unpriced",
)
"""What a row counts. `bytes` are those of messages as they came. `unpriced` are calls whose price
is not known. `chat_…` are calls that callers made of their own models, and reported.
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """The messages that one life of a session took in on one day, up to some append. Of two tallies
    of the same life and day the greater one is the later one. `base` tells a session's lives apart,
    `day` is a date in ISO's form.
    """

    tenant: str
    user: str
    session: str
    base: int
    day: str
    messages: int
    message_tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted on a day for a user; `user` None: for one who was erased."""

    day: str
    user: str | None
    counts: Mapping[str, int] = field(default_factory=dict)


class Usages(Protocol):
    """Every call raises `Unavailable` if the store can't answer. Rows are kept for `KEPT_DAYS`."""

    def reach(self, tally: Tally) -> Mapping[str, int]:
        """Count the messages of a tally, and return what it adds. One that is not greater than what
        is counted already adds nothing: tallies may come twice, and in any order.
        """

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        """Add what model calls of the user used. When it raises, they were counted once or not at
        all.
        """

    def spent(self, scope: Scope, *, month: str) -> int:
        """What model calls of a month ("2026-11") cost the tenant, in billionths of a dollar.
        Strongly consistent.
        """

    def rows(
        self, scope: Scope, *, first: str, last: str, user: str | None = None
    ) -> Iterator[Row]:
        """The tenant's rows from one day through another, of one user or of all; several of a day
        and user may come.
        Eventually consistent.
        """

    def forget(self, scope: UserScope) -> int:
        """Take the user's name from all rows, which stay; return how many had it. Safe to
        repeat.
        """

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        """Count a request of this second (epoch), unless there were `most` already; whether it was
        counted.
        """


LONGEST = 93  # days of one answer
By = Literal["tenant", "user", "day"]


@dataclass(frozen=True, slots=True)
class Sum:
    """What was counted for a day, a user, or (both are None) for all. Users who were erased are
    summed up as one, whose `user` is None.
    """

    day: str | None
    user: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class UsageSums:
    """The sums of the days `first` through `last`, in order of days or users; those without a name
    come last.
    """

    first: str
    last: str
    sums: tuple[Sum, ...]


@dataclass(frozen=True, slots=True)
class ReadUsage:
    usages: Usages
    clock: Clock

    def __call__(
        self,
        scope: Scope,
        *,
        first: date | None = None,
        last: date | None = None,
        by: By,
        user: str | None = None,
    ) -> UsageSums:
        """What was used from one day (None: the first of the month) through another (None: today),
        by all or one user.
        There is always one sum `by` tenant. Raises `Unprocessable` (`invalid_period`),
        `Unavailable`.
        """
        begin, end = self._period(first, last)
        return UsageSums(
            begin, end, summed(self.usages.rows(scope, first=begin, last=end, user=user), by=by)
        )

    def _period(self, first: date | None, last: date | None) -> tuple[str, str]:
        today = date.fromisoformat(day_of(milliseconds(self.clock.now())))
        end = last or today
        begin = first or end.replace(day=1)
        if begin > end or end - begin >= timedelta(days=LONGEST):
            error = FieldError("from", f"up to {LONGEST - 1} days before `to`")
            raise Unprocessable(
                "This is no period that can be summed up.", code="invalid_period", errors=(error,)
            )
        if begin < today - timedelta(days=KEPT_DAYS):
            error = FieldError("from", f"counts are kept for {KEPT_DAYS} days")
            raise Unprocessable(
                "Nothing is counted there any more.", code="invalid_period", errors=(error,)
            )
        return begin.isoformat(), end.isoformat()


def summed(rows: Iterable[Row], *, by: By) -> tuple[Sum, ...]:
    sums: defaultdict[tuple[str | None, str | None], Counter[str]] = defaultdict(Counter)
    if by == "tenant":
        sums[None, None] = Counter()
    for row in rows:
        day = row.day if by == "day" else None
        place = (day, row.user if by == "user" else None)
        sums[place].update(row.counts)
    return tuple(Sum(*place, dict(sums[place])) for place in sorted(sums, key=_order))


def _order(place: tuple[str | None, str | None]) -> tuple[bool, str]:
    name = place[0] or place[1]
    return name is None, name or ""
