"""Tenants: their API keys and the defaults of their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.jobs.job import Job
from palimpsest.scope import Scope


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`id` is the SHA-256 (hex) of the key; `expires_at` is in epoch seconds, None = never."""

    id: str
    tenant: str
    scopes: frozenset[str]
    expires_at: int | None = None
    revoked: bool = False
    label: str = ""
    created_at: str = ""


DAY = 24 * 3600
PERMANENT = frozenset({"task", "preference"})
"""Types of records that are kept for ever, unless the tenant says otherwise; a task ends with its session."""


NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a tenant may use: requests in a second, sessions at a time, memories of each user at a time, and US dollars
    for model calls in a calendar month (UTC). None limits nothing.
    """

    requests_per_second: int | None = None
    sessions: int | None = None
    memories: int | None = None
    model_cost_usd: float | None = None

    @property
    def model_cost(self) -> int | None:
        """In billionths of a dollar."""
        return None if self.model_cost_usd is None else round(self.model_cost_usd * NANO)


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """Defaults of new sessions: memory configuration (fields over the built-in defaults) and retention.

    `models` are those of the operator's list that the tenant's sessions may name; None = all of it. Sessions are kept
    `retention_days` after their last activity; facts, events and instructions `memory_days` after they were last
    written or confirmed, preferences for ever, and types that `by_type` names so many days; None = for ever. `change`
    identifies the last change of these days.
    """

    memory: Mapping[str, Any] = field(default_factory=dict)
    retention_days: int | None = 30
    memory_days: int | None = 365
    by_type: Mapping[str, int | None] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    change: str | None = None
    limits: Limits = Limits()

    @property
    def days(self) -> tuple[int | None, int | None, Mapping[str, int | None]]:
        """All that decides how long data is kept."""
        return self.retention_days, self.memory_days, {**self.by_type}

    def lifetime(self, record_type: str) -> int | None:
        """Seconds until a record expires after it was last written or confirmed; None = never."""
        days = self.by_type.get(record_type, None if record_type in PERMANENT else self.memory_days)
        return None if days is None else days * DAY


class Tenants(Protocol):
    """Raises `Unavailable` if the store can't answer."""

    def api_key(self, key_id: str) -> ApiKey | None:
        """The key stored under that SHA-256."""

    def settings(self, scope: Scope) -> TenantSettings:
        """The tenant's settings; the built-in ones if it never set any."""

    def log_key(self, scope: Scope) -> bytes:
        """The tenant's secret with which logs name users. It is made when it is first asked for, and never changes."""

    def replace_settings(
        self, scope: Scope, settings: TenantSettings, *, before: TenantSettings | None = None, job: Job | None = None
    ) -> None:
        """Store them; sessions made from now on take them. The job is stored in the same transaction.

        Raises `CommitLost` unless the last change of retention is still that of `before`, if that is given.
        """


@dataclass(frozen=True, slots=True)
class StaticFact:
    """`agent` None: for every agent. `updated_at` is RFC 3339."""

    id: str
    content: str
    updated_at: str
    agent: str | None = None


class StaticFacts(Protocol):
    """Every read is strongly consistent, and every call raises `Unavailable` if the store can't answer."""

    def version(self, scope: Scope) -> int:
        """Grows with every change: what was read at another is stale. 0 = there never was a fact."""

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        """The fact with this id."""

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        """The tenant's facts, by id."""

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        """Store the fact, or replace the one under its id. Raises `CommitLost` if the version is another one."""

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        """Remove the fact, whether or not it is there. Raises `CommitLost` if the version is another one."""
