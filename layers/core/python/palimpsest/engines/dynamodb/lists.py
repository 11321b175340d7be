"""Lists on DynamoDB that are spread over partitions, so that none is hot: a tenant's lists, and what has come due."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice

from palimpsest.engines.dynamodb.table import Item, Table
from palimpsest.engines.places import SHARDS
from palimpsest.parallel import each
from palimpsest.scope import Scope, UserScope

BUCKETS = 16
"""Partitions of one tenant's list. Each takes 1,000 writes a second, and a page of the whole list queries each once.

Items name their bucket, so another number needs every listed item written anew (docs/adr/0015).
"""
BUCKET = "tenant_bucket"
"""The attribute that holds the bucket: the hash key of the indexes `by_user` and `by_tenant`."""
_FIRST, _LAST = "!", "~"  # below and above every place: both stand outside the characters of ids and of times
_OF_USER, _AFTER_USER = "#", "$"  # what follows the user in a place, and the character after it


def bucket_of(scope: UserScope) -> str:
    """The partition of the tenant's lists that this user, and all that the user has, is listed in."""
    return f"{scope.tenant}#{zlib.crc32(scope.user.encode()) % BUCKETS:02d}"


def buckets_of(scope: Scope) -> tuple[str, ...]:
    """All partitions of the tenant's lists."""
    return tuple(f"{scope.tenant}#{number:02d}" for number in range(BUCKETS))


@dataclass(frozen=True, slots=True)
class TenantIndex:
    """An index with the hash key `BUCKET`. Its range key `place` orders the list: unique in a tenant, and ASCII."""

    table: Table
    name: str
    place: str

    def page(
        self, scope: Scope, *, user: str | None = None, limit: int, after: str | None = None, newest_first: bool = False
    ) -> tuple[tuple[str, ...], bool]:
        """Up to `limit` places beyond `after`, of the whole tenant or of one user, and whether there are more.

        Eventually consistent. What is there throughout is on exactly one page, whatever comes or goes meanwhile.
        """
        low, high = (_FIRST, _LAST) if user is None else (user + _OF_USER, user + _AFTER_USER)
        if after is not None:
            low, high = (low, after) if newest_first else (after, high)
        count = limit + 1 if after is None else limit + 2  # the range has both its ends: `after` may be found once more
        read = partial(self._bucket, low=low, high=high, count=count, newest_first=newest_first)
        buckets = buckets_of(scope) if user is None else (bucket_of(scope.user(user)),)
        found = merge(*each(read, buckets, threads=BUCKETS), reverse=newest_first)
        places = tuple(islice((place for place in found if place != after), limit + 1))
        return places[:limit], len(places) > limit

    def _bucket(self, bucket: str, *, low: str, high: str, count: int, newest_first: bool) -> Sequence[str]:
        values = {":bucket": {"S": bucket}, ":low": {"S": low}, ":high": {"S": high}}
        pages = self.table.pages(
            "#bucket = :bucket AND #place BETWEEN :low AND :high", values, IndexName=self.name, Limit=count,
            ExpressionAttributeNames={"#bucket": BUCKET, "#place": self.place}, ScanIndexForward=not newest_first,
        )  # fmt: skip
        return tuple(islice((item[self.place]["S"] for page in pages for item in page), count))


def due_items(table: Table, *, now: int, limit: int) -> Iterator[Item]:
    """Keys of the items that have come due at `now` (epoch seconds): up to `limit` of each shard, the oldest first.
    Eventually consistent.
    """
    for shard in range(SHARDS):
        values = {":shard": {"S": str(shard)}, ":now": {"N": str(now)}}
        pages = table.pages("due_shard = :shard AND due_at <= :now", values, IndexName="due", Limit=limit)
        yield from islice((item for page in pages for item in page), limit)
