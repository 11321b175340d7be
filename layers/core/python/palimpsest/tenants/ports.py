"""The ports of the stores of API keys, settings and static facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.jobs.job import Job
from palimpsest.scope import Scope
from palimpsest.tenants.keys import ApiKey
from palimpsest.tenants.settings import TenantSettings
from palimpsest.text.json_values import readable


class Tenants(Protocol):
    """The store of API keys and tenants' settings. Every call raises `Unavailable` if the store
    can't answer.
    """

    def api_key(self, key_id: str) -> ApiKey | None:
        """Return the key with this SHA-256, or None."""

    def settings(self, scope: Scope) -> TenantSettings:
        """Return the tenant's settings. A tenant that never set any has the built-in settings."""

    def log_key(self, scope: Scope) -> bytes:
        """Return the tenant's secret with which logs hash the names of users. It is made when it is
        first needed, and never changes.
        """

    def replace_settings(
        self,
        scope: Scope,
        settings: TenantSettings,
        *,
        before: TenantSettings | None = None,
        job: Job | None = None,
    ) -> None:
        """Store the settings, which apply to new sessions. The job is stored in the same
        transaction. With `before`, raises `CommitLost` if the retention was changed since those
        settings were read.
        """


@dataclass(frozen=True, slots=True)
class StaticFact:
    """A static fact. `content` is any JSON. If `agent` is None, the fact is for every agent.
    `updated_at` is in RFC 3339.
    """

    id: str
    content: Any
    updated_at: str
    agent: str | None = None

    @property
    def text(self) -> str:
        """The content as contexts show it."""
        return readable(self.content)


class StaticFacts(Protocol):
    """The store of static facts. Every read is strongly consistent. Every call raises `Unavailable`
    if the store can't answer.
    """

    def version(self, scope: Scope) -> int:
        """Return the version of the tenant's facts. It grows with every change, so facts that were
        read at another version are stale. 0 = the tenant never had a fact.
        """

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        """Return the fact with this id, or None."""

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        """Return the tenant's facts, ordered by id."""

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        """Store the fact in place of any fact with the same id. Raises `CommitLost` if the facts
        have another version than `version`.
        """

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        """Remove the fact, whether or not it exists. Raises `CommitLost` if the facts have another
        version than `version`.
        """
