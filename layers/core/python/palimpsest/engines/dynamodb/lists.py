"""The lists on DynamoDB: the lists of a tenant, and the index of due work. Each is spread over
several partitions, so that no partition becomes hot.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice

from palimpsest.engines.dynamodb.table import Item, Table
from palimpsest.engines.places import shards_at
from palimpsest.parallel import run_each
from palimpsest.scope import Scope, UserScope

BUCKETS = 16
"""The number of partitions of one tenant's list. Each partition takes 1,000 writes a second. A page
of the whole list queries each partition once.

Items store the name of their bucket. To change this number, every listed item must be rewritten
(docs/adr/0015).
"""
BUCKET = "tenant_bucket"
"""The attribute that holds an item's bucket. It is the hash key of the indexes `by_user` and
`by_tenant`.
"""
SHORT_LIST = 500
"""The highest number of items that wait in a list of due work, due or not, with which the list is
read as a whole. That takes one request, and about 5 read units for 500 items. To query each shard
takes 64 requests and 32 units, also if nothing is due.
"""
# The two lists of a tenant that are not ordered by user: its sessions, and its failed jobs.
SESSIONS, FAILED = "sessions#", "failed#"
# Texts that sort below and above every place, because ids and times do not contain these
# characters.
_FIRST, _LAST = "!", "~"


def bucket_of(scope: UserScope) -> str:
    """Return the partition of the tenant's lists that contains this user and everything that the
    user has.
    """
    return bucket_for(scope.owner, scope.user)


def bucket_for(scope: Scope, name: str, *, among: str = "") -> str:
    """Return the partition in which an item with this name is listed. `among` selects one kind of
    the tenant's lists.
    """
    # `hash` differs from process to process. The bucket of a name must never change.
    return f"{scope.tenant}#{among}{zlib.crc32(name.encode()) % BUCKETS:02d}"


def buckets_of(scope: Scope, *, among: str = "") -> tuple[str, ...]:
    """Return all partitions of one kind of the tenant's lists."""
    return tuple(f"{scope.tenant}#{among}{number:02d}" for number in range(BUCKETS))


@dataclass(frozen=True, slots=True)
class TenantIndex:
    """A DynamoDB index whose hash key is a bucket. `place` names its range key, which orders the
    list. A range key is ASCII and unique within a tenant.
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
        """Return up to `limit` places beyond `after`, and whether there are more. `user` restricts
        the list to the bucket of one user. `within` is the lowest and the highest place to return.

        Eventually consistent. An item that exists during the whole listing is on exactly one page,
        even if other items appear or disappear meanwhile.
        """
        low, high = within
        if after is not None:
            low, high = (low, min(after, high)) if newest_first else (max(after, low), high)
        # the range includes its ends, so `after` may be found again
        count = limit + 1 if after is None else limit + 2
        read = partial(self._bucket, low=low, high=high, count=count, newest_first=newest_first)
        buckets = (
            buckets_of(scope, among=self.among) if user is None else (bucket_of(scope.user(user)),)
        )
        merged = merge(*run_each(read, buckets, threads=BUCKETS), reverse=newest_first)
        places = tuple(islice((place for place in merged if place != after), limit + 1))
        return places[:limit], len(places) > limit

    def count(self, scope: Scope, *, most: int) -> int:
        """Return the number of entries in the tenant's list, at most `most`. Eventually
        consistent.
        """
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
    """Yield the keys of the items that are due at `now` (epoch seconds). Each shard gives up to
    `limit` items, the oldest first. Eventually consistent.

    A short list is read as a whole. Of a longer one, each shard is queried.
    """
    short = _due_in_short_list(table, now=now)
    for shard in shards_at(now):
        if short is not None:
            yield from short.get(shard, ())[:limit]
            continue
        values = {":shard": {"S": shard}, ":now": {"N": str(now)}}
        pages = table.pages(
            "due_shard = :shard AND due_at <= :now", values, IndexName="due", Limit=limit
        )
        yield from islice((item for page in pages for item in page), limit)


def _due_in_short_list(table: Table, *, now: int) -> Mapping[str, Sequence[Item]] | None:
    """Return all items that are due at `now`, by shard, the oldest first. Return None if the list
    has more than `SHORT_LIST` items, due or not.
    """
    due, left, start = list[Item](), SHORT_LIST + 1, dict[str, Item]()
    while left > 0:
        answer = table.call(
            "Scan",
            TableName=table.name,
            IndexName="due",
            Limit=left,
            FilterExpression="due_at <= :now",
            ExpressionAttributeValues={":now": {"N": str(now)}},
            **start,
        )
        due += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return _by_shard(due)
        left -= answer["ScannedCount"]
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    return None


def _by_shard(due: Sequence[Item]) -> Mapping[str, Sequence[Item]]:
    shards = defaultdict[str, list[Item]](list)
    for item in sorted(due, key=lambda item: int(item["due_at"]["N"])):
        shards[item["due_shard"]["S"]].append(item)
    return shards
