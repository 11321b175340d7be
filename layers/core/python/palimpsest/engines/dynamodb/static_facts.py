"""Static facts on DynamoDB, beside their tenant's defaults: one item a fact, and one that counts the changes."""

from __future__ import annotations

from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Action, Update
from palimpsest.engines.dynamodb.table import Item, Meter, Table, key
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact

VERSION = "facts"
FACTS = "fact#"


class DynamoDbStaticFacts:
    """`StaticFacts` over the table of tenants. Connects when first used; safe to use from many threads."""

    def __init__(
        self, table: str, *, region: str | None = None, endpoint: str | None = None, meter: Meter | None = None
    ) -> None:
        self._table = Table(table, region=region, endpoint=endpoint, meter=meter)

    def version(self, scope: Scope) -> int:
        item = self._table.get(_partition(scope), VERSION)
        return int(item["version"]["N"]) if item else 0

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
