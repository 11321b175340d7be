"""Begins a session: its first configuration, and the tenant's limit of sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.lifecycle import Beginning, Configuration, begun
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.ports import Opened
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import SessionScope
from palimpsest.tenants.ports import Tenants
from palimpsest.tenants.settings import TenantSettings

Setup = Callable[[Mapping[str, Any], TenantSettings], Configuration]
"""Returns the configuration of a new session: the tenant's defaults, overridden by these memory
fields.
"""


@dataclass(frozen=True, slots=True)
class BeginSession:
    """Makes sessions for appends and ingests, which store them with their first messages."""

    tenants: Tenants
    tokens: TokenCounter
    limit: SessionLimit
    setup: Setup | None = None  # None: every session begins with the tenant's defaults

    def __call__(
        self,
        scope: SessionScope,
        opened: Opened,
        *,
        user: str,
        agent: str | None,
        now: datetime,
        wanted: Mapping[str, Any] | None = None,
    ) -> Beginning:
        """Return a new session of the user, which is not stored yet. The memory fields of `wanted`
        override the tenant's defaults. Raises `LimitReached` (`session_limit`), `Unprocessable`,
        `Unavailable`.
        """
        defaults = self.tenants.settings(scope.owner)
        self.limit.check(scope.owner, most=defaults.limits.sessions)
        setup = self._setup(wanted, defaults)
        return begun(
            opened.head,
            scope=scope,
            user=user,
            agent=agent,
            setup=setup,
            epoch=opened.epoch,
            now=now,
        )

    def _setup(self, wanted: Mapping[str, Any] | None, defaults: TenantSettings) -> Configuration:
        if wanted and self.setup is not None:
            return self.setup(wanted, defaults)
        memory = parsed(dict(defaults.memory))
        return Configuration(
            memory, self.tokens.encoding_for(memory.model), defaults.retention_days
        )
