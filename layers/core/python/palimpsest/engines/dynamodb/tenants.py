"""Tenants on DynamoDB: API keys under their SHA-256, and each tenant's defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import Attributes
from palimpsest.engines.dynamodb.table import Meter, Table, key
from palimpsest.scope import Scope
from palimpsest.tenants.ports import ApiKey, TenantSettings

KEY = "key"
DEFAULTS = "defaults"


class DynamoDbTenants:
    """`Tenants` over one table. Connects when first used or by `warm`; safe to use from many threads."""

    def __init__(
        self, table: str, *, region: str | None = None, endpoint: str | None = None, meter: Meter | None = None
    ) -> None:
        self._table = Table(table, region=region, endpoint=endpoint, meter=meter)

    def warm(self) -> None:
        self._table.warm()

    def api_key(self, key_id: str) -> ApiKey | None:
        item = self._table.get(f"key#{key_id}", KEY)
        if item is None:
            return None
        return ApiKey(
            id=key_id,
            tenant=item["tenant"]["S"],
            scopes=frozenset(scope["S"] for scope in item["scopes"]["L"]),
            expires_at=int(item["expires_at"]["N"]) if "expires_at" in item else None,
            revoked=item.get("revoked", {}).get("BOOL", False),
            label=item.get("label", {}).get("S", ""),
            created_at=item.get("created_at", {}).get("S", ""),
        )

    def add(self, api_key: ApiKey) -> None:
        """Store a new key; raises `CommitLost` if there is one under its SHA-256."""
        attributes: Attributes = {
            "type": items.text("key"),
            "tenant": items.text(api_key.tenant),
            "scopes": {"L": [items.text(scope) for scope in sorted(api_key.scopes)]},
            "label": items.text(api_key.label),
            "created_at": items.text(api_key.created_at),
            "revoked": {"BOOL": api_key.revoked},
        }
        if api_key.expires_at is not None:
            attributes["expires_at"] = items.number(api_key.expires_at)
        item = key(f"key#{api_key.id}", KEY) | attributes
        condition = "attribute_not_exists(pk)"
        self._table.call("PutItem", TableName=self._table.name, Item=item, ConditionExpression=condition)

    def settings(self, scope: Scope) -> TenantSettings:
        item = self._table.get(f"tenant#{scope.tenant}", DEFAULTS)
        if item is None:
            return TenantSettings()
        return TenantSettings(
            memory=json.loads(item["memory"]["S"]),
            retention_days=_days(item.get("retention_days")),
            memory_days=_days(item["memory_days"]) if "memory_days" in item else TenantSettings().memory_days,
        )

    def replace_settings(self, scope: Scope, settings: TenantSettings) -> None:
        days, memory_days = settings.retention_days, settings.memory_days
        update = Update()
        update.put("type", items.text("settings"))
        update.put("memory", items.json_text({**settings.memory}))
        update.put("retention_days", None if days is None else items.number(days))
        update.put("memory_days", {"NULL": True} if memory_days is None else items.number(memory_days))
        self._table.call("UpdateItem", **update.arguments(self._table.name, f"tenant#{scope.tenant}", DEFAULTS))


def _days(attribute: Mapping[str, Any] | None) -> int | None:
    """A number of days; for ever where there is none."""
    return int(attribute["N"]) if attribute and "N" in attribute else None
