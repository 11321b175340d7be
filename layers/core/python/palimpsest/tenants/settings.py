"""The settings and limits of a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DAY = 24 * 3600

SecretsRule = Literal["keep_in_message", "mask", "refuse"]
"""The rule for a secret in a message. `keep_in_message` stores it there, and only the message's own
session sees it. `mask` stores a mask in its place. `refuse` refuses the call. A secret is never
stored anywhere else.
"""

PERMANENT = frozenset({"task", "preference"})
"""The types of records that are kept for ever, unless the tenant's settings set a time for them. A
task is removed with its session.
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
        """The limit of the cost of model calls in billionths of a dollar; None means no limit."""
        return None if self.model_cost_usd is None else round(self.model_cost_usd * NANO)


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """The settings of a tenant: defaults of new sessions, retention, models, limits, and the rule
    for secrets. The fields of `memory` override the built-in memory configuration.

    `models` are the models of the operator's list that the tenant's sessions may name; None = all
    of them. Sessions are kept for `retention_days` after their last activity. Facts, events and
    instructions are kept for `memory_days` after they were last written or confirmed; preferences
    are kept for ever. `by_type` overrides this for the types that it names. None = for ever.
    `change` identifies the last change of these days. If a recall answers the question less likely
    than `answer_floor` (0..1), its `answer` is empty; None = the floor that was learned.
    With `keep_model_calls`, prompts and answers of jobs' model calls are kept for some days.
    """

    memory: Mapping[str, Any] = field(default_factory=dict)
    retention_days: int | None = 30
    memory_days: int | None = 365
    by_type: Mapping[str, int | None] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    change: str | None = None
    limits: TenantLimits = TenantLimits()
    secrets: SecretsRule = "keep_in_message"
    answer_floor: float | None = None
    keep_model_calls: bool = False

    @property
    def days(self) -> tuple[int | None, int | None, Mapping[str, int | None]]:
        """All fields that decide how long data is kept."""
        return self.retention_days, self.memory_days, {**self.by_type}

    def lifetime(self, record_type: str) -> int | None:
        """Return the seconds that a record of this type is kept after it was last written or
        confirmed; None = for ever.
        """
        days = self.by_type.get(record_type, None if record_type in PERMANENT else self.memory_days)
        return None if days is None else days * DAY
