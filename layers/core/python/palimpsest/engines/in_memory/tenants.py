"""Tenants in dictionaries."""

from __future__ import annotations

from palimpsest.errors import CommitLost
from palimpsest.scope import Scope
from palimpsest.tenants.ports import ApiKey, TenantSettings


class InMemoryTenants:
    """`Tenants` within the process."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}
        self._settings: dict[str, TenantSettings] = {}

    def api_key(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    def add(self, api_key: ApiKey) -> None:
        """Store a new key; raises `CommitLost` if there is one under its SHA-256."""
        if self._keys.setdefault(api_key.id, api_key) is not api_key:
            raise CommitLost("Another writer was first.")

    def settings(self, scope: Scope) -> TenantSettings:
        return self._settings.get(scope.tenant, TenantSettings())

    def replace_settings(self, scope: Scope, settings: TenantSettings) -> None:
        self._settings[scope.tenant] = settings
