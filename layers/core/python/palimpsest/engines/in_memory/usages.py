"""What a tenant uses, in dictionaries: rows by day, and costs by month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from palimpsest.engines.in_memory.state import State
from palimpsest.engines.places import calls_name
from palimpsest.scope import Scope, UserScope
from palimpsest.usage.ports import Row, Tally


class InMemoryUsages:
    """`Usages` over the state of `InMemorySessions`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def reach(self, tally: Tally) -> Mapping[str, int]:
        with self._state.write("reach"):
            return self._state.reach(tally)

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        with self._state.write("count"):
            place = (scope.tenant, day, calls_name(scope))
            before = self._state.usage.get(place, Row(day, scope.user))
            self._state.usage[place] = replace(before, counts=Counter(before.counts) + Counter(used))

    def spent(self, scope: Scope, *, month: str) -> int:
        rows = self.rows(scope, first=month, last=f"{month}-31")
        return sum(row.counts.get("cost_nano_usd", 0) for row in rows)

    def rows(self, scope: Scope, *, first: str, last: str, user: str | None = None) -> Iterator[Row]:
        with self._state.lock:
            found = [row for (tenant, _, _), row in self._state.usage.items() if tenant == scope.tenant]
        yield from (row for row in found if first <= row.day <= last and user in (None, row.user))

    def forget(self, scope: UserScope) -> int:
        with self._state.write("forget usage"):
            rows = self._state.usage
            named = [place for place, row in rows.items() if (place[0], row.user) == (scope.tenant, scope.user)]
            rows |= {place: replace(rows[place], user=None) for place in named}
            return len(named)

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        with self._state.lock:
            taken = self._state.taken.get((scope.tenant, second), 0)
            if taken < most:
                self._state.taken[scope.tenant, second] = taken + 1
            return taken < most
