"""Tenants on DynamoDB: API keys under their SHA-256, and settings, static facts and usage of each tenant."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from palimpsest.engines import calls_name, tally_name
from palimpsest.engines.dynamodb import Item, OneTable, key
from palimpsest.engines.dynamodb.lists import BUCKETS, bucket_for, buckets_of
from palimpsest.engines.dynamodb.memories.commits import job_put
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Action, Update
from palimpsest.engines.dynamodb.sessions.items import Attributes, number, text
from palimpsest.errors import CommitLost
from palimpsest.jobs import Job
from palimpsest.parallel import each
from palimpsest.scope import Scope, UserScope
from palimpsest.tenants import ApiKey, Limits, StaticFact, TenantSettings
from palimpsest.usage import COUNTS, KEPT_DAYS, Row, Tally

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
        update.put("content", items.text(fact.text))  # the release before reads this alone
        update.put("json", None if isinstance(fact.content, str) else items.json_text(fact.content))
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
        content=json.loads(item["json"]["S"]) if "json" in item else item["content"]["S"],
        updated_at=item["updated_at"]["S"],
        agent=item["agent"]["S"] if "agent" in item else None,
    )


AMONG = "usage#"
USAGE, RATE = "usage", "rate"
ERASED = {"NULL": True}
DAY_SECONDS = 24 * 3600
_LAST = "~"  # behind every name of a row


class DynamoDbUsages(OneTable):
    """`Usages` over the table of sessions: one row a day for each session and for each user's model calls."""

    def reach(self, tally: Tally) -> Mapping[str, int]:
        scope = Scope(tally.tenant).user(tally.user)
        new = {"messages": tally.messages, "message_tokens": tally.message_tokens, "bytes": tally.bytes}
        update = _usage_row(scope, tally.day)
        for name, amount in new.items():
            update.put(name, number(amount))
        update.require_below("messages", number(tally.messages))
        arguments = update.arguments(self._table.name, _bucket(scope), f"{tally.day}#{tally_name(tally)}")
        try:
            answer = self._table.call("UpdateItem", **arguments, ReturnValues="UPDATED_OLD")
        except CommitLost:
            return {}
        before = _counts(answer.get("Attributes", {}))
        return {name: amount - before.get(name, 0) for name, amount in new.items()}

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        row, month = _usage_row(scope, day), Update()
        for name, amount in used.items():
            row.add(name, amount)
        month.put("type", text(USAGE))
        month.put("ttl", number(_ttl(day)))
        month.add("cost_nano_usd", used.get("cost_nano_usd", 0))
        table, bucket = self._table.name, _bucket(scope)
        self._table.transact(
            [
                {"Update": row.arguments(table, bucket, f"{day}#{calls_name(scope)}")},
                {"Update": month.arguments(table, bucket, _month(day))},
            ]
        )

    def spent(self, scope: Scope, *, month: str) -> int:
        places = [(bucket, _month(month)) for bucket in buckets_of(scope, among=AMONG)]
        return sum(int(item["cost_nano_usd"]["N"]) for item in self._table.get_each(places))

    def rows(self, scope: Scope, *, first: str, last: str, user: str | None = None) -> Iterator[Row]:
        of_user = [_bucket(scope.user(user))] if user is not None else buckets_of(scope, among=AMONG)
        read = each(lambda bucket: list(self._rows(bucket, first, last, user)), of_user, threads=BUCKETS)
        yield from (row for rows in read for row in rows)

    def _rows(self, bucket: str, first: str, last: str, user: str | None = None) -> Iterator[Row]:
        for item in self._items(bucket, first, last, user):
            yield Row(item["sk"]["S"].partition("#")[0], item["user"].get("S"), _counts(item))

    def _items(self, bucket: str, first: str, last: str, user: str | None) -> Iterator[Item]:
        values: Attributes = {":bucket": text(bucket), ":first": text(first), ":last": text(last + _LAST)}
        more: dict[str, Any] = {"ConsistentRead": False}
        if user is not None:
            values[":user"] = text(user)
            more |= {"FilterExpression": "#user = :user", "ExpressionAttributeNames": {"#user": "user"}}
        for page in self._table.pages("pk = :bucket AND sk BETWEEN :first AND :last", values, **more):
            yield from page

    def forget(self, scope: UserScope) -> int:
        bucket = _bucket(scope)
        named = list(self._items(bucket, "0", "9", scope.user))
        for item in named:
            update = Update()
            update.put("user", ERASED)
            self._table.call("UpdateItem", **update.arguments(self._table.name, bucket, item["sk"]["S"]))
        return len(named)

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        update = Update()
        update.put("type", text(RATE))
        update.put("ttl", number(second + 60))
        update.add("taken", 1)
        update.require_below("taken", number(most))
        try:
            self._table.call(
                "UpdateItem", **update.arguments(self._table.name, f"{scope.tenant}#{RATE}#{second}", RATE)
            )
        except CommitLost:
            return False
        return True


def _usage_row(scope: UserScope, day: str) -> Update:
    """An update of a row, which keeps the name that it has."""
    update = Update()
    update.put("type", text(USAGE))
    update.put("ttl", number(_ttl(day)))
    update.put_if_absent("user", text(scope.user))
    return update


def _bucket(scope: UserScope) -> str:
    return bucket_for(scope.owner, scope.user, among=AMONG)


def _month(day: str) -> str:
    """Where the cost of a day's month is added up; behind all days."""
    return f"month#{day[:7]}"


def _ttl(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) + KEPT_DAYS * DAY_SECONDS


def _counts(item: Item) -> dict[str, int]:
    return {name: int(item[name]["N"]) for name in COUNTS if name in item}
