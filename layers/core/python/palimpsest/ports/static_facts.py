"""Static facts: what a tenant states for all its users, or for those of one agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from palimpsest.domain.scope import Scope


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

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        """The tenant's facts, by id."""

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        """Store the fact, or replace the one under its id. Raises `CommitLost` if the version is another one."""

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        """Remove the fact, whether or not it is there. Raises `CommitLost` if the version is another one."""
