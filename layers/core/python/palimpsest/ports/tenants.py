"""Tenants: their API keys and the defaults of their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.domain.scope import Scope


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


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """Defaults of new sessions: memory configuration (fields over the built-in defaults) and retention.

    Sessions are kept `retention_days` after their last activity; facts, events and instructions `memory_days` after
    they were last written or confirmed; None = for ever.
    """

    memory: Mapping[str, Any] = field(default_factory=dict)
    retention_days: int | None = 30
    memory_days: int | None = 365


class Tenants(Protocol):
    """Raises `Unavailable` if the store can't answer."""

    def api_key(self, key_id: str) -> ApiKey | None:
        """The key stored under that SHA-256."""

    def settings(self, scope: Scope) -> TenantSettings:
        """The tenant's settings; the built-in ones if it never set any."""

    def replace_settings(self, scope: Scope, settings: TenantSettings) -> None:
        """Store them; sessions made from now on take them."""
