"""The tenants' shares of the queues on DynamoDB. There is one item for each tenant and queue, and
one for each waiting job.
"""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import OneTable, key
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import RETENTION_SECONDS
from palimpsest.jobs.kinds import Queue
from palimpsest.jobs.ports import Waiting
from palimpsest.scope import Scope

SHARE, WAITS = "share", "w#"
UNDER_WAY = "under_way"
PAGE = 25


class DynamoDbShares(OneTable):
    """Implements `Shares` over the table of sessions. Safe to use from many threads."""

    def enter(self, scope: Scope, queue: Queue, job_id: str, *, most: int) -> bool:
        update = Update()
        update.put("type", text(SHARE))
        update.include(UNDER_WAY, job_id)
        # A job that is under way may enter again, because messages are delivered twice.
        update.require_room(UNDER_WAY, job_id, most=most)
        try:
            self._table.call(
                "UpdateItem", **update.arguments(self._table.name, _partition(scope, queue), SHARE)
            )
        except CommitLost:
            return False
        return True

    def leave(self, scope: Scope, queue: Queue, job_id: str) -> None:
        update = Update()
        update.exclude(UNDER_WAY, job_id)
        self._table.call(
            "UpdateItem", **update.arguments(self._table.name, _partition(scope, queue), SHARE)
        )

    def under_way(self, scope: Scope, queue: Queue) -> frozenset[str]:
        item = self._table.get(_partition(scope, queue), SHARE)
        return frozenset(item[UNDER_WAY]["SS"] if item and UNDER_WAY in item else ())

    def wait(self, scope: Scope, queue: Queue, job_id: str, *, since: int) -> None:
        update = Update()
        update.put("type", text("waiting"))
        update.put("ttl", number(since + RETENTION_SECONDS))
        sort = _sort(Waiting(job_id, since))
        self._table.call(
            "UpdateItem", **update.arguments(self._table.name, _partition(scope, queue), sort)
        )

    def waiting(self, scope: Scope, queue: Queue) -> Iterator[Waiting]:
        values = {":pk": text(_partition(scope, queue)), ":waits": text(WAITS)}
        for page in self._table.pages("pk = :pk AND begins_with(sk, :waits)", values, Limit=PAGE):
            for item in page:
                _, since, job_id = item["sk"]["S"].split("#")
                yield Waiting(job_id, int(since))

    def call(self, scope: Scope, queue: Queue, waiting: Waiting) -> None:
        place = key(_partition(scope, queue), _sort(waiting))
        self._table.call("DeleteItem", TableName=self._table.name, Key=place)


def _partition(scope: Scope, queue: Queue) -> str:
    return f"{scope.tenant}#share#{queue}"


def _sort(waiting: Waiting) -> str:
    return f"{WAITS}{waiting.since:012d}#{waiting.job_id}"
