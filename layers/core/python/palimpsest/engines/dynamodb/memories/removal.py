"""Wiping what a user's earlier epochs left, page by page, without meeting what was written since."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.engines.dynamodb.memories.commits import deletions
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import Table
from palimpsest.errors import CommitLost
from palimpsest.scope import UserScope

WIPED_AT_ONCE = 50


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
