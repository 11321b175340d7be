"""Writes beside the commits: a record was indexed, a record was used, and what earlier epochs left is wiped."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.memories.commits import deletions
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import Table, key
from palimpsest.errors import CommitLost
from palimpsest.memory.records import Record
from palimpsest.scope import UserScope

WIPED_AT_ONCE = 50


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


def wipe(table: Table, scope: UserScope, *, below_epoch: int, limit: int | None) -> int:
    """Everything but the user's item has its epoch; a key may have been written anew in the meantime."""
    pages = table.pages(
        "pk = :pk", {":pk": text(scope.partition), ":below": number(below_epoch), ":user": text("user")},
        FilterExpression="#epoch < :below AND #type <> :user",
        ExpressionAttributeNames={"#epoch": "epoch", "#type": "type", "#sk": "sk"}, ProjectionExpression="#sk",
    )  # fmt: skip
    removed = 0
    for page in pages:
        sorts = [item["sk"]["S"] for item in page]
        for start in range(0, len(sorts), WIPED_AT_ONCE):
            removed += _wipe_some(table, scope, sorts[start : start + WIPED_AT_ONCE], below_epoch)
            if limit is not None and removed >= limit:
                return removed
    return removed


def _wipe_some(table: Table, scope: UserScope, sorts: Sequence[str], below_epoch: int) -> int:
    """All at once, or one by one where another writer stands in the way."""
    actions = deletions(table.name, scope, sorts, below_epoch=below_epoch)
    try:
        table.transact(actions)
    except CommitLost:
        return sum(_wiped(table, action["Delete"]) for action in actions)
    return len(sorts)


def _wiped(table: Table, deletion: dict[str, object]) -> bool:
    try:
        table.call("DeleteItem", **deletion)
    except CommitLost:
        return False
    return True
