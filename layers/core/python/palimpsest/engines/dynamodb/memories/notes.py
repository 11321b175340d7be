"""Single writes beside the commits: that a record was indexed, that it was used."""

from __future__ import annotations

from contextlib import suppress

from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import Table, key
from palimpsest.errors import CommitLost
from palimpsest.memory.records import Record
from palimpsest.scope import UserScope


def mark_indexed(table: Table, scope: UserScope, record: Record) -> None:
    update = Update()
    update.put("index_state", text("done"))
    update.require("version", number(record.version))
    with suppress(CommitLost):  # it has changed or gone: another notice tells of that
        _update(table, scope, items.record_sort(record.id), update)


def count_use(table: Table, scope: UserScope, record_id: str, *, epoch: int, now: int) -> None:
    sort = items.uses_sort(record_id)
    use = Update()
    use.put("last", number(now))
    use.add("uses", 1)
    use.require("epoch", number(epoch))
    try:
        _update(table, scope, sort, use)
    except CommitLost:
        if not _is_first_use(table, scope, sort, epoch=epoch, now=now):
            with suppress(CommitLost):  # erased once more since: there is nothing left to count
                _update(table, scope, sort, use)


def _is_first_use(table: Table, scope: UserScope, sort: str, *, epoch: int, now: int) -> bool:
    """Begin to count, also where an earlier epoch had counted; False if another writer was first."""
    item = key(scope.partition, sort) | items.common("uses", epoch) | {"last": number(now), "uses": number(1)}
    try:
        table.call(
            "PutItem", TableName=table.name, Item=item,
            ConditionExpression="attribute_not_exists(pk) OR #epoch < :epoch",
            ExpressionAttributeNames={"#epoch": "epoch"}, ExpressionAttributeValues={":epoch": number(epoch)},
        )  # fmt: skip
    except CommitLost:
        return False
    return True


def _update(table: Table, scope: UserScope, sort: str, update: Update) -> None:
    table.call("UpdateItem", **update.arguments(table.name, scope.partition, sort))
