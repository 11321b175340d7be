"""Tenants on DynamoDB: API keys under their SHA-256, and the settings and static facts of each tenant."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from palimpsest.engines.dynamodb.memories.commits import job_put
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Action, Update
from palimpsest.engines.dynamodb.sessions.items import Attributes
from palimpsest.engines.dynamodb.table import Item, OneTable, key
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.scope import Scope
from palimpsest.tenants.ports import ApiKey, Limits, StaticFact, TenantSettings

KEY = "key"
DEFAULTS = "defaults"
LOG_KEY = "log_key"


class DynamoDbTenants(OneTable):
    """`Tenants` over the table of tenants. `jobs_table` is only needed by who stores a job with the settings."""

    def __init__(self, table: str, jobs_table: str = "", **where: Any) -> None:
        super().__init__(table, **where)
        self._jobs_table = jobs_table

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
            by_type=json.loads(item["days_by_type"]["S"]) if "days_by_type" in item else {},
            models=tuple(json.loads(item["models"]["S"])) if "models" in item else None,
            change=item["change"]["S"] if "change" in item else None,
            limits=Limits(**json.loads(item["limits"]["S"])) if "limits" in item else Limits(),
        )

    def log_key(self, scope: Scope) -> bytes:
        place = (f"tenant#{scope.tenant}", LOG_KEY)
        item = self._table.get(*place)
        if item is None:
            item = key(*place) | {"type": items.text(LOG_KEY), "secret": {"B": secrets.token_bytes()}}
            condition = "attribute_not_exists(pk)"
            with suppress(CommitLost):  # another process was first: its key is the tenant's
                self._table.call("PutItem", TableName=self._table.name, Item=item, ConditionExpression=condition)
            item = self._table.get(*place) or item
        return bytes(item["secret"]["B"])

    def replace_settings(
        self, scope: Scope, settings: TenantSettings, *, before: TenantSettings | None = None, job: Job | None = None
    ) -> None:
        days, memory_days = settings.retention_days, settings.memory_days
        update = Update()
        update.put("type", items.text("settings"))
        update.put("memory", items.json_text({**settings.memory}))
        update.put("retention_days", None if days is None else items.number(days))
        update.put("memory_days", {"NULL": True} if memory_days is None else items.number(memory_days))
        update.put("days_by_type", items.json_text({**settings.by_type}))
        update.put("models", None if settings.models is None else items.json_text([*settings.models]))
        update.put("change", None if settings.change is None else items.text(settings.change))
        limits = {name: most for name, most in asdict(settings.limits).items() if most is not None}
        update.put("limits", items.json_text(limits) if limits else None)
        if before is not None:
            update.require("change", *([] if before.change is None else [items.text(before.change)]))
        arguments = update.arguments(self._table.name, f"tenant#{scope.tenant}", DEFAULTS)
        if job is None:
            self._table.call("UpdateItem", **arguments)
        else:
            self._table.transact([{"Update": arguments}, job_put(self._jobs_table, job)])


def _days(attribute: Mapping[str, Any] | None) -> int | None:
    """A number of days; for ever where there is none."""
    return int(attribute["N"]) if attribute and "N" in attribute else None


VERSION = "facts"
FACTS = "fact#"


class DynamoDbStaticFacts(OneTable):
    """`StaticFacts` over the table of tenants."""

    def version(self, scope: Scope) -> int:
        item = self._table.get(_partition(scope), VERSION)
        return int(item["version"]["N"]) if item else 0

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        item = self._table.get(_partition(scope), FACTS + fact_id)
        return _fact(item) if item else None

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        values = {":pk": items.text(_partition(scope)), ":facts": items.text(FACTS)}
        pages = self._table.pages("pk = :pk AND begins_with(sk, :facts)", values)
        return tuple(_fact(item) for page in pages for item in page)

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        update = Update()
        update.put("type", items.text("fact"))
        update.put("content", items.text(fact.content))
        update.put("updated_at", items.text(fact.updated_at))
        update.put("agent", None if fact.agent is None else items.text(fact.agent))
        put = {"Update": update.arguments(self._table.name, _partition(scope), FACTS + fact.id)}
        self._table.transact([self._changed(scope, version), put])

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        removal = {"Delete": {"TableName": self._table.name, "Key": key(_partition(scope), FACTS + fact_id)}}
        self._table.transact([self._changed(scope, version), removal])

    def _changed(self, scope: Scope, version: int) -> Action:
        update = Update()
        update.put("type", items.text(VERSION))
        update.put("version", items.number(version + 1))
        update.require("version", *([items.number(version)] if version else []))
        return {"Update": update.arguments(self._table.name, _partition(scope), VERSION)}


def _partition(scope: Scope) -> str:
    return f"tenant#{scope.tenant}"


def _fact(item: Item) -> StaticFact:
    return StaticFact(
        id=item["sk"]["S"].removeprefix(FACTS),
        content=item["content"]["S"],
        updated_at=item["updated_at"]["S"],
        agent=item["agent"]["S"] if "agent" in item else None,
    )
