"""Models whose calls are counted for the tenant that pays for them. A language model refuses calls
once the tenant has reached its cost limit of the month.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from palimpsest.clock import Clock, day_of, milliseconds
from palimpsest.errors import CostLimitReached, Unavailable
from palimpsest.models.calls import ModelOverAnother, ModelRequest
from palimpsest.models.catalogue import priced
from palimpsest.models.ports import Completion, ReportUsage
from palimpsest.scope import Scope, payer
from palimpsest.usage import Usages

FAILED = {"model_calls": 1, "unpriced": 1}
"""The count of a call without an answer. Only the server knows whether the call is billed."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Counts the usage of a model call for the tenant and user of the present call. A call without
    a tenant and user is not counted.

    If counting fails, the model's answer is returned all the same. `report` then says that the
    usage was not counted, and an operator may add it.
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
class MeteredModel(ModelOverAnother):
    """A language model whose calls are counted.

    Each call is counted right after it, even if its answer is not used. If repeated work calls the
    model again, this call counts too. If it does not, nothing is counted. `most` is how much a
    tenant's model calls may cost in a month, in billionths of a dollar. None sets no limit.
    """

    meter: Meter
    most: Callable[[Scope], int | None]

    def answer(self, request: ModelRequest) -> Completion:
        """Answer the request and count the call. Raises the errors of the model, and
        `CostLimitReached` before the model is called.
        """
        user = payer()
        if user is None:
            return request.send_to(self.model)
        self._check(user.owner)
        used: Mapping[str, int] = FAILED
        try:
            completion = request.send_to(self.model)
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
