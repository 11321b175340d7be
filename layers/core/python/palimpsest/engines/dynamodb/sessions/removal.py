"""Removing what a session held, page by page, without meeting what a later life of it wrote."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.table import BATCH_WRITE, Item, Table, key
from palimpsest.errors import CommitLost
from palimpsest.scope import SessionScope


def remove(table: Table, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
    """Messages and compactions go unasked: a sequence number is used once. Keys and settings go if old."""
    removed = 0
    if first <= last:
        for sort in (items.message_sort, items.compaction_sort):
            removed += _remove_range(table, scope.partition, sort(first), sort(last))
    if whole:
        for name in _keys(table, scope):
            removed += _remove_if(table, key(scope.partition, name), "#seq <= :last", seq="last_seq", last=last)
        removed += _remove_if(table, key(scope.partition, items.SETTINGS), "#seq < :last", seq="base", last=last)
    return removed


def _remove_range(table: Table, partition: str, low: str, high: str) -> int:
    values = {":pk": items.text(partition), ":low": items.text(low), ":high": items.text(high)}
    removed = 0
    for page in table.pages("pk = :pk AND sk BETWEEN :low AND :high", values, ProjectionExpression="sk"):
        sorts = [item["sk"]["S"] for item in page]
        for start in range(0, len(sorts), BATCH_WRITE):
            table.delete_many(partition, sorts[start : start + BATCH_WRITE])
        removed += len(sorts)
    return removed


def _keys(table: Table, scope: SessionScope) -> Iterator[str]:
    values = {":pk": items.text(scope.partition), ":prefix": items.text(items.KEYS)}
    for page in table.pages("pk = :pk AND begins_with(sk, :prefix)", values, ProjectionExpression="sk"):
        yield from (item["sk"]["S"] for item in page)


def _remove_if(table: Table, item: Item, is_old: str, *, seq: str, last: int) -> int:
    """Delete one item if it belongs to a life that ended at or before `last`; a later life may have written it anew."""
    try:
        table.call(
            "DeleteItem", TableName=table.name, Key=item, ConditionExpression=is_old,
            ExpressionAttributeNames={"#seq": seq}, ExpressionAttributeValues={":last": items.number(last)},
        )  # fmt: skip
    except CommitLost:
        return 0
    return 1
