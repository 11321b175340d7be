"""Who has anything stored, from the sparse indexes that list sessions and users: they hold keys, and nobody twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

from palimpsest.engines.dynamodb.table import Item, Table
from palimpsest.scope import SessionScope, UserScope

PAGE = 100


class DynamoDbOwners:
    """`Owners` over the tables of sessions and of memories."""

    def __init__(self, sessions: str, memories: str, *, region: str | None = None, endpoint: str | None = None) -> None:
        self._sessions = Table(sessions, region=region, endpoint=endpoint)
        self._memories = Table(memories, region=region, endpoint=endpoint)

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        for item, place in _scanned(self._sessions, "by_user", after):
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
            yield item, json.dumps({name: key["S"] for name, key in item.items()})
