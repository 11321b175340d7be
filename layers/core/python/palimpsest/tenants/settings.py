"""A tenant's settings and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DAY = 24 * 3600

SecretsRule = Literal["keep_in_message", "mask", "refuse"]
"""What becomes of a secret in a message. It stays there, and only the message's own session sees
it; it is stored as a mask; or the call is refused. No other place ever holds it.
"""

PERMANENT = frozenset({"task", "preference"})
"""Types of records that are kept for ever, unless the tenant's settings name a time. A task ends
with its session.
"""

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """A tenant's limits: requests per second, sessions at a time, memories per user at a time, and
    US dollars for model calls per calendar month (UTC). None means no limit.
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
    """Defaults of new sessions: memory configuration (fields over the built-in defaults) and
    retention.

    `models` are the models of the operator's list that the tenant's sessions may name; None = all
    of them. Sessions are kept `retention_days` after their last activity; facts, events and
    instructions `memory_days` after they were last written or confirmed, preferences for ever, and
    types that `by_type` names so many days; None = for ever. `change` identifies the last change of
    these days.
    """

    memory: Mapping[str, Any] = field(default_factory=dict)
    retention_days: int | None = 30
    memory_days: int | None = 365
    by_type: Mapping[str, int | None] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    change: str | None = None
    limits: TenantLimits = TenantLimits()
    secrets: SecretsRule = "keep_in_message"

    @property
    def days(self) -> tuple[int | None, int | None, Mapping[str, int | None]]:
        """All fields that decide how long data is kept."""
        return self.retention_days, self.memory_days, {**self.by_type}

    def lifetime(self, record_type: str) -> int | None:
        """Seconds until a record expires after it was last written or confirmed; None = never."""
        days = self.by_type.get(record_type, None if record_type in PERMANENT else self.memory_days)
        return None if days is None else days * DAY
