"""How many requests a second a tenant may make, if it has set a limit; without one nothing is counted."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from palimpsest.clock import Clock, seconds
from palimpsest.errors import LimitReached, Unavailable
from palimpsest.scope import Scope
from palimpsest.tenants.ports import Tenants
from palimpsest.usage.ports import Usages

KNOWN_SECONDS = 60


class Counting(Protocol):
    @property
    def tenants(self) -> Tenants: ...
    @property
    def usages(self) -> Usages: ...
    @property
    def clock(self) -> Clock: ...


class Rate:
    """Reads a tenant's limit once a minute, so that a new one holds within a minute. Only where there is one does a
    request cost a write.
    """

    def __init__(self) -> None:
        self._known: dict[Scope, tuple[int | None, int]] = {}

    def check(self, scope: Scope, wired: Counting) -> None:
        """Raise `LimitReached` (`too_many_requests`) if the tenant has made its requests of this second. If they can't
        be counted now, the request goes on: its own work says what is wrong.
        """
        now, taken = seconds(wired.clock.now()), True
        with suppress(Unavailable):
            most = self._most(scope, wired, now)
            if most is None:
                return
            taken = wired.usages.take(scope, second=now, most=most)
        if not taken:
            detail = f"The tenant may make {most} requests a second."
            raise LimitReached(
                detail, code="too_many_requests", limit="requests_per_second", most=most or 0, retry_after=1
            )

    def _most(self, scope: Scope, wired: Counting, now: int) -> int | None:
        most, read_at = self._known.get(scope, (None, -KNOWN_SECONDS))
        if now - read_at >= KNOWN_SECONDS:
            most = wired.tenants.settings(scope).limits.requests_per_second
            self._known[scope] = (most, now)
        return most
