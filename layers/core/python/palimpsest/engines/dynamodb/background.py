"""What background work reads of the tables: who has anything stored, and what may have expired."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from palimpsest.engines.dynamodb.lists import due_items
from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.memories.commits import put_walk, require_epoch, require_walk
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import SETTINGS, number, text
from palimpsest.engines.dynamodb.table import Item, OneTable, Table, key
from palimpsest.memory.ports import Page, Reminder
from palimpsest.memory.records import Walk
from palimpsest.scope import SessionScope, UserScope

PAGE = 100


class DynamoDbOwners:
    """`Owners` over the tables of sessions and of memories."""

    def __init__(self, sessions: str, memories: str, **where: Any) -> None:
        self._sessions, self._memories = Table(sessions, **where), Table(memories, **where)

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        for item, place in _scanned(self._sessions, "by_user", after):
            if item["sk"]["S"] == SETTINGS:  # the index also lists failed jobs
                yield SessionScope(*item["pk"]["S"].split("#")), place

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        for item, place in _scanned(self._memories, "by_tenant", after):
            yield UserScope(*item["pk"]["S"].split("#")), place


def _scanned(table: Table, index: str, after: str | None) -> Iterator[tuple[Item, str]]:
    """An index's items, which are nothing but keys: each says itself where a scan goes on after it."""
    start = (
        {} if after is None else {"ExclusiveStartKey": {name: {"S": key} for name, key in json.loads(after).items()}}
    )
    for page in table.scan(IndexName=index, Limit=PAGE, **start):
        for item in page:
            yield item, json.dumps({name: key["S"] for name, key in item.items()}, separators=(",", ":"))


class DynamoDbExpiries(OneTable):
    """`Expiries` over the table of `DynamoDbMemories`."""

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        for item in due_items(self._table, now=now, limit=limit):
            record_id = None if item["sk"]["S"] == items.USER else items.name_of(item)
            yield UserScope(*item["pk"]["S"].split("#", 1)), record_id

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        return items.reminder_of(self._table.get(scope.partition, items.record_sort(record_id)))

    def remind(self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None) -> None:
        sort = items.record_sort(record_id)
        update = Update()
        update.put_due(record_id, to.due_at if to else None)
        update.put("looked_at", None if to is None or to.since is None else number(to.since))
        update.require("due_at", number(before.due_at))
        update.require("looked_at", *([] if before.since is None else [number(before.since)]))
        self._table.call("UpdateItem", **update.arguments(self._table.name, scope.partition, sort))

    def walk(self, scope: UserScope) -> Walk | None:
        return items.walk_of(self._table.get(scope.partition, items.USER))

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        update = Update()
        put_walk(update, scope, to)
        require_walk(update, before)
        require_epoch(update, before.epoch)
        self._table.call("UpdateItem", **update.arguments(self._table.name, scope.partition, items.USER))

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> Page:
        epoch = items.epoch_of(self._table.get(scope.partition, items.USER))
        values = {":pk": text(scope.partition), ":prefix": text(items.record_sort(""))}
        start = {} if after is None else {"ExclusiveStartKey": key(scope.partition, items.record_sort(after))}
        pages = self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values, Limit=limit, **start)
        read: list[Item] = []
        for page in pages:
            read += page
            if len(read) >= limit:
                break
        records = [items.record_of(item) for item in read[:limit] if items.epoch_of(item) == epoch]
        return Page(tuple(records), items.name_of(read[:limit][-1]) if len(read) >= limit else None)
