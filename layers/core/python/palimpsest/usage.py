"""The usage of a tenant's users and models. It is counted once, where it happens, and summed by
day, user or tenant.
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

KEPT_DAYS = 400  # a month can be compared with that of the year before
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
    "feedback_useful",
    "feedback_wrong",
    "feedback_missing",
)
"""The counts of a row. `bytes` counts messages as they arrived. `unpriced` counts calls whose price
is not known. The counts `chat_…` are of calls that callers made of their own models, and reported.
`feedback_…` count opinions on memories of recalls.
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many messages a session had received on one day, counted after one of its appends.

    If a session is deleted and begun again, the new session is counted anew. `base` distinguishes
    the two sessions. Of two tallies with the same session, `base` and day, the greater one is the
    later one. `day` is an ISO date.
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
    """The counts of one user on one day. `user` is None if the user was erased."""

    day: str
    user: str | None
    counts: Mapping[str, int] = field(default_factory=dict)


class Usages(Protocol):
    """The store of usage. Every call raises `Unavailable` if the store can't answer. Rows are kept
    for `KEPT_DAYS`.
    """

    def reach(self, tally: Tally) -> Mapping[str, int]:
        """Add the messages that the tally counts and the store does not yet, and return the added
        counts. Tallies may come twice, and in any order. A tally that is not greater than the
        stored one adds nothing.
        """

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        """Add the usage of the user's model calls. If this raises an error, the usage was added
        once or not at all.
        """

    def spent(self, scope: Scope, *, month: str) -> int:
        """Return the cost of the tenant's model calls in a month ("2026-11"), in billionths of a
        dollar. The read is strongly consistent.
        """

    def rows(
        self, scope: Scope, *, first: str, last: str, user: str | None = None
    ) -> Iterator[Row]:
        """Yield the tenant's rows of the days `first` through `last`, of one user, or of all users
        if `user` is None. One day and user may have several rows. The read is eventually
        consistent.
        """

    def forget(self, scope: UserScope) -> int:
        """Remove the user's id from all rows, and keep the rows. Return the number of rows that had
        the id. Safe to repeat.
        """

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        """Count a request in this second (epoch) and return True. If `most` requests were counted
        in it already, count nothing and return False.
        """


LONGEST = 93  # most days of one answer
By = Literal["tenant", "user", "day"]


@dataclass(frozen=True, slots=True)
class Sum:
    """The counts of a day, of a user, or (if `day` and `user` are both None) of the whole tenant.
    All erased users together are one sum, whose `user` is None.
    """

    day: str | None
    user: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class UsageSums:
    """The sums of the days `first` through `last`, in the order of days or users. A sum without a
    user comes last.
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
        """Return the usage of the days `first` through `last`, of one user, or of all users if
        `user` is None. `first` is by default the first of the month, `last` is today. If `by` is
        tenant, the result is a single sum.

        Raises `Unprocessable` (`invalid_period`) and `Unavailable`.
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
            error = FieldError("from", f"must be `to`, or up to {LONGEST - 1} days before it")
            raise Unprocessable(
                "This period is empty or too long.", code="invalid_period", errors=(error,)
            )
        if begin < today - timedelta(days=KEPT_DAYS):
            error = FieldError("from", f"must be at most {KEPT_DAYS} days ago")
            raise Unprocessable(
                "The period begins before the oldest counts.",
                code="invalid_period",
                errors=(error,),
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
