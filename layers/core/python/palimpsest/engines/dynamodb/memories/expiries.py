"""What may have expired in the long-term store on DynamoDB: found by the index of what is due, walked by key."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.memories.commits import put_walk, require_epoch, require_walk
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import Item, Meter, Table, key
from palimpsest.engines.places import SHARDS
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import Page
from palimpsest.scope import UserScope


class DynamoDbExpiries:
    """`Expiries` over the table of `DynamoDbMemories`. Safe to use from many threads."""

    def __init__(
        self, table: str, *, region: str | None = None, endpoint: str | None = None, meter: Meter | None = None
    ) -> None:
        self._table = Table(table, region=region, endpoint=endpoint, meter=meter)

    def warm(self) -> None:
        self._table.warm()

    def due(self, *, now: int, limit: int) -> Iterator[UserScope]:
        for shard in range(SHARDS):
            values = {":shard": text(str(shard)), ":now": number(now)}
            left = limit
            condition = "due_shard = :shard AND due_at <= :now"
            for page in self._table.pages(condition, values, IndexName="due", Limit=limit):
                yield from (UserScope(*item["pk"]["S"].split("#", 1)) for item in page[:left])
                left -= len(page)
                if left <= 0:
                    break

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
