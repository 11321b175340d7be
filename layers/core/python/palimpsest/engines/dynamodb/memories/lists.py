"""Lists over the indexes of the memories table: a user's records by creation, a tenant's users."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.sessions.items import text
from palimpsest.engines.dynamodb.table import Item, Table
from palimpsest.engines.memory_cursors import EXAMINED, created_as, record_cursor, record_place, user_cursor, user_place
from palimpsest.memory.ports import Page
from palimpsest.memory.records import Record, RecordType
from palimpsest.scope import Scope, UserScope

Read = Callable[[UserScope, Sequence[str]], tuple[Record, ...]]
READ_AT_ONCE = 99  # with the user's item as many as one batch holds


def record_page(
    table: Table,
    scope: UserScope,
    read: Read,
    *,
    types: frozenset[RecordType],
    limit: int,
    after: str | None,
    newest_first: bool,
) -> Page:
    """The index names records, the table says what they are: what went, or is of another type, is passed over."""
    place = None if after is None else record_place(scope, after)
    found: list[Record] = []
    examined = 0
    start = {} if place is None else {"ExclusiveStartKey": _record_key(scope, place)}
    pages = table.pages(
        "#owner = :owner", {":owner": text(scope.partition)}, IndexName="by_created",
        ExpressionAttributeNames={"#owner": "owner"}, Limit=min(limit + 1, READ_AT_ONCE),
        ScanIndexForward=newest_first is False, **start,
    )  # fmt: skip
    for page in pages:
        records = read(scope, [items.name_of(item) for item in page])
        found += [record for record in records if not types or record.type in types]
        examined += len(page)
        if len(found) > limit:
            return Page(tuple(found[:limit]), record_cursor(scope, created_as(found[limit - 1])))
        if page:
            place = page[-1]["created"]["S"]
        if examined >= EXAMINED:
            return Page(tuple(found), record_cursor(scope, str(place)))
    return Page(tuple(found), None)


def user_page(table: Table, scope: Scope, *, limit: int, after: str | None) -> tuple[tuple[str, ...], str | None]:
    start = {} if after is None else {"ExclusiveStartKey": _user_key(scope.user(user_place(scope, after)))}
    found: list[str] = []
    pages = table.pages(
        "#tenant = :tenant", {":tenant": text(scope.tenant)}, IndexName="by_tenant",
        ExpressionAttributeNames={"#tenant": "tenant"}, Limit=limit + 1, **start,
    )  # fmt: skip
    for page in pages:
        found += [item["user_id"]["S"] for item in page]
        if len(found) > limit:
            return tuple(found[:limit]), user_cursor(scope, found[limit - 1])
    return tuple(found), None


def _record_key(scope: UserScope, place: str) -> Item:
    """Where the index goes on after a record: its key there, and its own key in the table."""
    return {
        "owner": text(scope.partition), "created": text(place),
        "pk": text(scope.partition), "sk": text(items.record_sort(place.partition("#")[2])),
    }  # fmt: skip


def _user_key(scope: UserScope) -> Item:
    return {
        "tenant": text(scope.tenant), "user_id": text(scope.user),
        "pk": text(scope.partition), "sk": text(items.USER),
    }  # fmt: skip
