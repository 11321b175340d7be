"""Counts the calls that a caller makes of its own models, as the caller reports them."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.models.catalogue import cost
from palimpsest.models.metered import Meter
from palimpsest.scope import UserScope, paid_by


@dataclass(frozen=True, slots=True)
class ReportedCall:
    """A call of a model. Its `tokens_in` include `cached_tokens`, which a prompt cache has served,
    and `written_tokens`, which were written into it.
    """

    model: str | None
    tokens_in: int
    cached_tokens: int = 0
    written_tokens: int = 0
    tokens_out: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Return what the call adds to the usage of its user. Calls of models whose price is not
        known have no cost.
        """
        price = cost(
            self.model,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cached=self.cached_tokens,
            written=self.written_tokens,
        )
        priced = {"chat_unpriced": 1} if price is None else {"chat_cost_nano_usd": price}
        return {
            "chat_calls": 1,
            "chat_tokens_in": self.tokens_in,
            "chat_tokens_cached": self.cached_tokens,
            "chat_tokens_out": self.tokens_out,
            **priced,
        }


@dataclass(frozen=True, slots=True)
class CountReported:
    """Counts reported calls. The limit of a tenant's model calls does not apply to them, because
    the service makes none of them. A count that fails is logged, and raises nothing.
    """

    meter: Meter

    def __call__(self, scope: UserScope, call: ReportedCall) -> None:
        with paid_by(scope):
            self.meter(call.counts)
