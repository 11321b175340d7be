"""The usage counts on DynamoDB, in the table of sessions: rows for each day, the cost of each
month, and the requests of each second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from palimpsest.engines.dynamodb.lists import BUCKETS, bucket_for, buckets_of
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import Attributes, number, text
from palimpsest.engines.dynamodb.table import Item, OneTable
from palimpsest.engines.places import calls_name, tally_name
from palimpsest.errors import CommitLost
from palimpsest.parallel import run_each
from palimpsest.scope import Scope, UserScope
from palimpsest.usage import COUNTS, KEPT_DAYS, Row, Tally

AMONG = "usage#"
USAGE, RATE = "usage", "rate"
ERASED = {"NULL": True}
DAY_SECONDS = 24 * 3600
_LAST = "~"  # sorts after every name of a row


class DynamoDbUsages(OneTable):
    """Implements `Usages` over the table of sessions. Each day has one row for each session and one
    for each user's model calls.
    """

    def reach(self, tally: Tally) -> Mapping[str, int]:
        scope = Scope(tally.tenant).user(tally.user)
        new = {
            "messages": tally.messages,
            "message_tokens": tally.message_tokens,
            "bytes": tally.bytes,
        }
        update = _usage_row(scope, tally.day)
        for name, amount in new.items():
            update.put(name, number(amount))
        # Records of the stream come twice and late, so only a higher total counts (docs/adr/0038).
        update.require_below("messages", number(tally.messages))
        arguments = update.arguments(
            self._table.name, _bucket(scope), f"{tally.day}#{tally_name(tally)}"
        )
        try:
            answer = self._table.call("UpdateItem", **arguments, ReturnValues="UPDATED_OLD")
        except CommitLost:
            return {}
        before = _counts(answer.get("Attributes", {}))
        return {name: amount - before.get(name, 0) for name, amount in new.items()}

    def add(self, scope: UserScope, *, day: str, used: Mapping[str, int]) -> None:
        row, month = _usage_row(scope, day), Update()
        for name, amount in used.items():
            row.add(name, amount)
        month.put("type", text(USAGE))
        month.put("ttl", number(_ttl(day)))
        month.add("cost_nano_usd", used.get("cost_nano_usd", 0))
        table, bucket = self._table.name, _bucket(scope)
        # A plain update would be repeated if its answer is lost.
        self._table.transact(
            [
                {"Update": row.arguments(table, bucket, f"{day}#{calls_name(scope)}")},
                {"Update": month.arguments(table, bucket, _month(day))},
            ]
        )

    def spent(self, scope: Scope, *, month: str) -> int:
        places = [(bucket, _month(month)) for bucket in buckets_of(scope, among=AMONG)]
        return sum(int(item["cost_nano_usd"]["N"]) for item in self._table.get_each(places))

    def rows(
        self, scope: Scope, *, first: str, last: str, user: str | None = None
    ) -> Iterator[Row]:
        of_user = (
            [_bucket(scope.user(user))] if user is not None else buckets_of(scope, among=AMONG)
        )
        read = run_each(
            lambda bucket: list(self._rows(bucket, first, last, user)), of_user, threads=BUCKETS
        )
        yield from (row for rows in read for row in rows)

    def _rows(self, bucket: str, first: str, last: str, user: str | None = None) -> Iterator[Row]:
        for item in self._items(bucket, first, last, user):
            yield Row(item["sk"]["S"].partition("#")[0], item["user"].get("S"), _counts(item))

    def _items(self, bucket: str, first: str, last: str, user: str | None) -> Iterator[Item]:
        values: Attributes = {
            ":bucket": text(bucket),
            ":first": text(first),
            ":last": text(last + _LAST),
        }
        # Usage may be seconds late (docs/adr/0038), and this read costs half.
        more: dict[str, Any] = {"ConsistentRead": False}
        if user is not None:
            values[":user"] = text(user)
            more |= {
                "FilterExpression": "#user = :user",
                "ExpressionAttributeNames": {"#user": "user"},
            }
        for page in self._table.pages(
            "pk = :bucket AND sk BETWEEN :first AND :last", values, **more
        ):
            yield from page

    def forget(self, scope: UserScope) -> int:
        bucket = _bucket(scope)
        # Rows of days begin with a digit. The sums of months name no user.
        named = list(self._items(bucket, "0", "9", scope.user))
        for item in named:
            update = Update()
            update.put("user", ERASED)
            self._table.call(
                "UpdateItem", **update.arguments(self._table.name, bucket, item["sk"]["S"])
            )
        return len(named)

    def take(self, scope: Scope, *, second: int, most: int) -> bool:
        update = Update()
        update.put("type", text(RATE))
        update.put("ttl", number(second + 60))
        update.add("taken", 1)
        update.require_below("taken", number(most))
        try:
            self._table.call(
                "UpdateItem",
                **update.arguments(self._table.name, f"{scope.tenant}#{RATE}#{second}", RATE),
            )
        except CommitLost:
            return False
        return True


def _usage_row(scope: UserScope, day: str) -> Update:
    """Return an update of a row of usage. The row keeps the user's name that it already has."""
    update = Update()
    update.put("type", text(USAGE))
    update.put("ttl", number(_ttl(day)))
    # After `forget`, a late record must not write the name again.
    update.put_if_absent("user", text(scope.user))
    return update


def _bucket(scope: UserScope) -> str:
    return bucket_for(scope.owner, scope.user, among=AMONG)


def _month(day: str) -> str:
    """Return the sort key under which the cost of the day's month is summed. It sorts after all
    days.
    """
    return f"month#{day[:7]}"


def _ttl(day: str) -> int:
    return (
        int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) + KEPT_DAYS * DAY_SECONDS
    )


def _counts(item: Item) -> dict[str, int]:
    return {name: int(item[name]["N"]) for name in COUNTS if name in item}
