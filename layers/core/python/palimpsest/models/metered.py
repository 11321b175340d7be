"""Counts calls of models for the tenant that pays for them, and refuses a language model once the
tenant's month is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from palimpsest.clock import Clock, day_of, milliseconds
from palimpsest.errors import CostLimitReached, Unavailable
from palimpsest.models.catalogue import priced
from palimpsest.models.ports import Completion, LanguageModel, Schema
from palimpsest.scope import Scope, payer
from palimpsest.usage import Usages

FAILED = {"model_calls": 1, "unpriced": 1}
"""The count of a call without an answer. Only the server knows whether it is billed."""


class ReportUsage(Protocol):
    def __call__(self, tenant: str, used: Mapping[str, int], *, is_counted: bool) -> None:
        """Report what a call used; `is_counted` is false if the store could not count it."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts the usage of a model call for the tenant and user of the present call. Calls without
    one are not counted. A count that fails takes no answer away: `report` says so, and it may be
    added by hand.
    """

    usages: Usages
    clock: Clock
    report: ReportUsage

    def __call__(self, used: Mapping[str, int]) -> None:
        user = payer()
        if user is None:
            return
        try:
            self.usages.add(user, day=_day(self.clock.now()), used=used)
        except Unavailable:
            self.report(user.tenant, used, is_counted=False)
        else:
            self.report(user.tenant, used, is_counted=True)


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """Each call is counted right after it, whatever becomes of its answer; so work that is repeated
    without a call counts nothing, and a second call counts as one more. `most` is what a tenant's
    model calls may cost in a month, in billionths of a dollar; None: any amount.
    """

    model: LanguageModel
    meter: Meter
    most: Callable[[Scope], int | None]

    def capacity(self, model: str | None = None) -> int:
        return self.model.capacity(model)

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        """As `ChatModel.complete`. Raises `CostLimitReached` too: nothing was called then."""
        ask = partial(
            self.model.complete,
            instructions=instructions,
            text=text,
            max_tokens=max_tokens,
            model=model,
        )
        return self._counted(ask)

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        """As `JsonModel.complete_json`. Raises `CostLimitReached` too: nothing was called then."""
        ask = partial(self.model.complete_json, instructions=instructions, text=text, schema=schema)
        return self._counted(partial(ask, max_tokens=max_tokens, model=model))

    def _counted(self, ask: Callable[[], Completion]) -> Completion:
        user = payer()
        if user is None:
            return ask()
        self._check(user.owner)
        used: Mapping[str, int] = FAILED
        try:
            completion = ask()
            used = priced(completion.model, **asdict(completion.usage))
            return completion
        finally:
            self.meter(used)

    def _check(self, scope: Scope) -> None:
        most, now = self.most(scope), self.meter.clock.now()
        if most is not None and self.meter.usages.spent(scope, month=_day(now)[:7]) >= most:
            raise CostLimitReached(retry_after=(_next_month(now) - now).total_seconds())


def _day(now: datetime) -> str:
    return day_of(milliseconds(now))


def _next_month(now: datetime) -> datetime:
    later = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)
    return later.replace(day=1)
