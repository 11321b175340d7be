"""What is counted, by day and user, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
