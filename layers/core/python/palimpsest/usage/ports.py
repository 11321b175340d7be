"""What is counted, by day and user, and the store that counts it once, however often the work is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.scope import Scope, UserScope

KEPT_DAYS = 400
COUNTS = (
    "messages", "message_tokens", "bytes", "model_calls", "tokens_in", "tokens_out", "embedding_calls",
    "embedding_tokens", "cost_nano_usd", "unpriced",
)  # fmt: skip
"""What a row counts. `bytes` are those of messages as they came. `unpriced` are calls whose price is not known."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The messages that one life of a session took in on one day, up to some append. Of two tallies of the same life
    and day the greater one is the later one. `base` tells a session's lives apart, `day` is a date in ISO's form.
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
        """Count the messages of a tally, and return what it adds. One that is not greater than what is counted already
        adds nothing: tallies may come twice, and in any order.
        """

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        """Add what model calls of the user used. When it raises, they were counted once or not at all."""

    def spent(self, scope: Scope, *, month: str) -> int:
        """What model calls of a month ("2026-11") cost the tenant, in billionths of a dollar. Strongly consistent."""

    def rows(self, scope: Scope, *, first: str, last: str, user: str | None = None) -> Iterator[Row]:
        """The tenant's rows from one day through another, of one user or of all; several of a day and user may come.
        Eventually consistent.
        """

    def forget(self, scope: UserScope) -> int:
        """Take the user's name from all rows, which stay; return how many had it. Safe to repeat."""

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        """Count a request of this second (epoch), unless there were `most` already; whether it was counted."""
