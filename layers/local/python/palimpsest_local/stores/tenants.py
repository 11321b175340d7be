"""Tenants within one process: API keys, settings, static facts and usage, in dictionaries."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from palimpsest.engines.places import calls_name
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.scope import Scope, UserScope
from palimpsest.tenants.keys import ApiKey
from palimpsest.tenants.ports import StaticFact
from palimpsest.tenants.settings import TenantSettings
from palimpsest.usage import Row, Tally

from palimpsest_local.stores.kinds import FACTS, FACTS_VERSIONS
from palimpsest_local.stores.shelves import Shelf
from palimpsest_local.stores.state import State


class LocalTenants:
    """`Tenants` within the process. Jobs are stored in `state`."""

    def __init__(self, state: State | None = None) -> None:
        self._state = state or State()
        self._keys: dict[str, ApiKey] = {}
        self._settings: dict[str, TenantSettings] = {}
        self._log_keys: dict[str, bytes] = {}

    def api_key(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    def add(self, api_key: ApiKey) -> None:
        """Store a new key. Raises `CommitLost` if a key with its SHA-256 is stored."""
        if self._keys.setdefault(api_key.id, api_key) is not api_key:
            raise CommitLost("Another writer changed this first; nothing was written.")

    def settings(self, scope: Scope) -> TenantSettings:
        return self._settings.get(scope.tenant, TenantSettings())

    def log_key(self, scope: Scope) -> bytes:
        return self._log_keys.setdefault(scope.tenant, secrets.token_bytes())

    def replace_settings(
        self,
        scope: Scope,
        settings: TenantSettings,
        *,
        before: TenantSettings | None = None,
        job: Job | None = None,
    ) -> None:
        with self._state.lock if before is None else self._state.write("settings"):
            if before is not None and before.change != self.settings(scope).change:
                raise CommitLost("Another writer changed this first; nothing was written.")
            self._settings[scope.tenant] = settings
            if job is not None:
                self._state.put_job(job)


class LocalStaticFacts:
    """`StaticFacts` over the state of the other stores. Safe for many threads."""

    def __init__(self, state: State | None = None) -> None:
        self._state = state or State()

    def version(self, scope: Scope) -> int:
        with self._state.lock:
            return self._versions.get(scope.tenant, 0)

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        with self._state.lock:
            return self._facts(scope).get(fact_id)

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        with self._state.lock:
            facts = dict(self._facts(scope))
        return tuple(facts[name] for name in sorted(facts))

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        with self._state.write("put fact"):
            self._change(scope, version)
            self._facts(scope)[fact.id] = fact

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        with self._state.write("delete fact"):
            self._change(scope, version)
            self._facts(scope).pop(fact_id, None)

    @property
    def _versions(self) -> Shelf[str, int]:
        return self._state.shelves.shelf(FACTS_VERSIONS)

    def _facts(self, scope: Scope) -> Shelf[str, StaticFact]:
        return self._state.shelves.shelf(FACTS, scope.tenant)

    def _change(self, scope: Scope, version: int) -> None:
        if self._versions.get(scope.tenant, 0) != version:
            raise CommitLost("Another writer changed this first; nothing was written.")
        self._versions[scope.tenant] = version + 1


class LocalUsages:
    """`Usages` over the state of `LocalSessions`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def reach(self, tally: Tally) -> Mapping[str, int]:
        with self._state.write("reach"):
            return self._state.reach(tally)

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        with self._state.write("count"):
            rows, place = self._state.usage_of(scope.tenant), (day, calls_name(scope))
            before = rows.get(place, Row(day, scope.user))
            rows[place] = replace(before, counts=Counter(before.counts) + Counter(used))

    def spent(self, scope: Scope, *, month: str) -> int:
        rows = self.rows(scope, first=month, last=f"{month}-31")
        return sum(row.counts.get("cost_nano_usd", 0) for row in rows)

    def rows(
        self, scope: Scope, *, first: str, last: str, user: str | None = None
    ) -> Iterator[Row]:
        with self._state.lock:
            stored = list(self._state.usage_of(scope.tenant).values())
        yield from (row for row in stored if first <= row.day <= last and user in (None, row.user))

    def forget(self, scope: UserScope) -> int:
        with self._state.write("forget usage"):
            rows = self._state.usage_of(scope.tenant)
            named = [place for place, row in rows.items() if row.user == scope.user]
            rows.update({place: replace(rows[place], user=None) for place in named})
            return len(named)

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        with self._state.lock:
            taken = self._state.taken.get((scope.tenant, second), 0)
            if taken < most:
                self._state.taken[scope.tenant, second] = taken + 1
            return taken < most
