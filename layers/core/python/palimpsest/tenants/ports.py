"""The stores of API keys, settings and static facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.jobs.job import Job
from palimpsest.scope import Scope
from palimpsest.tenants.keys import ApiKey
from palimpsest.tenants.settings import TenantSettings
from palimpsest.text.json_values import readable


class Tenants(Protocol):
    """Raises `Unavailable` if the store can't answer."""

    def api_key(self, key_id: str) -> ApiKey | None:
        """The key stored under that SHA-256."""

    def settings(self, scope: Scope) -> TenantSettings:
        """The tenant's settings; the built-in settings if it never set any."""

    def log_key(self, scope: Scope) -> bytes:
        """The tenant's secret from which logs make the names of users. It is made at its first use,
        and never changes.
        """

    def replace_settings(
        self,
        scope: Scope,
        settings: TenantSettings,
        *,
        before: TenantSettings | None = None,
        job: Job | None = None,
    ) -> None:
        """Store the settings; they apply to new sessions. The job is stored in the same
        transaction.

        With `before`, raises `CommitLost` if the retention was changed since those settings.
        """


@dataclass(frozen=True, slots=True)
class StaticFact:
    """`content` is any JSON. `agent` None: for every agent. `updated_at` is RFC 3339."""

    id: str
    content: Any
    updated_at: str
    agent: str | None = None

    @property
    def text(self) -> str:
        """The content as contexts show it."""
        return readable(self.content)


class StaticFacts(Protocol):
    """Every read is strongly consistent, and every call raises `Unavailable` if the store can't
    answer.
    """

    def version(self, scope: Scope) -> int:
        """The version of the tenant's facts. It grows with every change; facts that were read at
        another version are stale. 0 = there never was a fact.
        """

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        """The fact with this id."""

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        """The tenant's facts, by id."""

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        """Store the fact, or replace the one under its id. Raises `CommitLost` if the version is
        another one.
        """

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        """Remove the fact, whether or not it is there. Raises `CommitLost` if the version is
        another one.
        """
