"""Lists on DynamoDB that are spread over partitions, so that none is hot: a tenant's lists, and
what has come due.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice

from palimpsest.engines.dynamodb.table import Item, Table
from palimpsest.engines.places import SHARDS
from palimpsest.parallel import run_each
from palimpsest.scope import Scope, UserScope

BUCKETS = 16
"""Partitions of one tenant's list. Each takes 1,000 writes a second, and a page of the whole list
queries each once.

Items name their bucket, so another number needs every listed item written anew (docs/adr/0015).
"""
BUCKET = "tenant_bucket"
"""The attribute that holds the bucket: the hash key of the indexes `by_user` and `by_tenant`."""
SESSIONS, FAILED = (
    "sessions#",
    "failed#",
)  # lists of a tenant apart from those by user: of sessions, of failed jobs
_FIRST, _LAST = (
    "!",
    "~",
)  # below and above every place: both stand outside the characters of ids and of times


def bucket_of(scope: UserScope) -> str:
    """The partition of the tenant's lists that this user, and all that the user has, is listed
    in.
    """
    return bucket_for(scope.owner, scope.user)


def bucket_for(scope: Scope, name: str, *, among: str = "") -> str:
    """The partition that what has this name is listed in, among the tenant's lists of one kind."""
    return f"{scope.tenant}#{among}{zlib.crc32(name.encode()) % BUCKETS:02d}"


def buckets_of(scope: Scope, *, among: str = "") -> tuple[str, ...]:
    """All partitions of the tenant's lists of one kind."""
    return tuple(f"{scope.tenant}#{among}{number:02d}" for number in range(BUCKETS))


@dataclass(frozen=True, slots=True)
class TenantIndex:
    """An index with buckets as its hash key. Its range key `place` orders the list: unique in a
    tenant, and ASCII.
    """

    table: Table
    name: str
    place: str
    bucket: str = BUCKET
    among: str = ""

    def page(
        self,
        scope: Scope,
        *,
        user: str | None = None,
        within: tuple[str, str] = (_FIRST, _LAST),
        limit: int,
        after: str | None = None,
        newest_first: bool = False,
    ) -> tuple[tuple[str, ...], bool]:
        """Up to `limit` places beyond `after`, of the whole tenant or in the bucket of one user,
        and whether there are more. All are `within` two places.

        Eventually consistent. What is there throughout is on exactly one page, whatever comes or
        goes meanwhile.
        """
        low, high = within
        if after is not None:
            low, high = (low, min(after, high)) if newest_first else (max(after, low), high)
        count = (
            limit + 1 if after is None else limit + 2
        )  # the range has both its ends: `after` may be found once more
        read = partial(self._bucket, low=low, high=high, count=count, newest_first=newest_first)
        buckets = (
            buckets_of(scope, among=self.among) if user is None else (bucket_of(scope.user(user)),)
        )
        found = merge(*run_each(read, buckets, threads=BUCKETS), reverse=newest_first)
        places = tuple(islice((place for place in found if place != after), limit + 1))
        return places[:limit], len(places) > limit

    def count(self, scope: Scope, *, most: int) -> int:
        """How many entries the tenant's list has, at most `most`. Eventually consistent."""
        counted = run_each(
            partial(self._count, most=most), buckets_of(scope, among=self.among), threads=BUCKETS
        )
        return min(most, sum(counted))

    def _count(self, bucket: str, *, most: int) -> int:
        counted, start = 0, dict[str, Item]()
        while True:
            answer = self.table.call(
                "Query",
                TableName=self.table.name,
                IndexName=self.name,
                Select="COUNT",
                Limit=max(1, most - counted),
                KeyConditionExpression="#bucket = :bucket",
                ExpressionAttributeNames={"#bucket": self.bucket},
                ExpressionAttributeValues={":bucket": {"S": bucket}},
                **start,
            )
            counted += int(answer["Count"])
            if counted >= most or "LastEvaluatedKey" not in answer:
                return counted
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _bucket(
        self, bucket: str, *, low: str, high: str, count: int, newest_first: bool
    ) -> Sequence[str]:
        values = {":bucket": {"S": bucket}, ":low": {"S": low}, ":high": {"S": high}}
        pages = self.table.pages(
            "#bucket = :bucket AND #place BETWEEN :low AND :high",
            values,
            IndexName=self.name,
            Limit=count,
            ExpressionAttributeNames={"#bucket": self.bucket, "#place": self.place},
            ScanIndexForward=not newest_first,
        )
        return tuple(islice((item[self.place]["S"] for page in pages for item in page), count))


def due_items(table: Table, *, now: int, limit: int) -> Iterator[Item]:
    """Keys of the items that have come due at `now` (epoch seconds): up to `limit` of each shard,
    the oldest first.
    Eventually consistent.
    """
    for shard in range(SHARDS):
        values = {":shard": {"S": str(shard)}, ":now": {"N": str(now)}}
        pages = table.pages(
            "due_shard = :shard AND due_at <= :now", values, IndexName="due", Limit=limit
        )
        yield from islice((item for page in pages for item in page), limit)
