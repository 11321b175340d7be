"""The stores of background work on DynamoDB: jobs, calls with idempotency keys, items that are due
or expire, and lists of all sessions and users.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from palimpsest.engines.cursors import job_cursor
from palimpsest.engines.dynamodb.lists import FAILED, TenantIndex, due_items
from palimpsest.engines.dynamodb.memories import items as memory_items
from palimpsest.engines.dynamodb.memories.commits import put_walk, require_epoch, require_walk
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Update, finishing, keyed_call
from palimpsest.engines.dynamodb.sessions.items import SETTINGS, number, text
from palimpsest.engines.dynamodb.table import Item, OneTable, Table, key
from palimpsest.engines.places import job_partition
from palimpsest.errors import CommitLost
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job, JobState
from palimpsest.jobs.ports import Due
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import RecordPage, Reminder
from palimpsest.scope import Scope, SessionScope, UserScope


class DynamoDbJobs(OneTable):
    """Implements `Jobs` over the table that `DynamoDbSessions` writes jobs to. Safe to use from
    many threads.
    """

    def put(self, job: Job) -> None:
        item = key(job_partition(job), items.JOB) | items.job_attributes(job)
        condition = "attribute_not_exists(pk)"
        self._table.call(
            "PutItem", TableName=self._table.name, Item=item, ConditionExpression=condition
        )

    def get(self, scope: Scope, job_id: str) -> Job | None:
        item = self._table.get(scope.job_partition(job_id), items.JOB)
        return items.job_of(item) if item else None

    def listed(
        self, scope: UserScope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        cursor = job_cursor(scope)
        place = cursor.place(after)
        start = {} if place is None else {"ExclusiveStartKey": _index_key(scope, place)}
        places: list[str] = []
        owner = {":owner": items.text(scope.partition)}
        for page in self._table.pages(
            "job_owner = :owner", owner, IndexName="by_owner", Limit=limit + 1,
            ScanIndexForward=not newest_first, **start,
        ):  # fmt: skip
            places += [item["created"]["S"] for item in page]
            if len(places) > limit:
                break
        more = len(places) > limit
        following = cursor.at(places[limit - 1]) if more else None
        return self._read(scope.owner, places[:limit]), following

    def failed(
        self, scope: Scope, *, limit: int, after: str | None = None, newest_first: bool = True
    ) -> tuple[tuple[Job, ...], str | None]:
        cursor = job_cursor(scope)
        index = TenantIndex(self._table, "by_user", "listed", among=FAILED)
        places, has_more = index.page(
            scope, limit=limit, after=cursor.place(after), newest_first=newest_first
        )
        # The index follows the table a moment later, so the job may have been started again
        # meanwhile.
        jobs = tuple(job for job in self._read(scope, places) if job.state == "failed")
        return jobs, cursor.at(places[-1]) if has_more else None

    def _read(self, scope: Scope, places: Sequence[str]) -> tuple[Job, ...]:
        """Return the jobs at these places of the list, in the order of the list. Jobs that were
        removed in the meantime are left out.
        """
        if not places:
            return ()
        partitions = [scope.job_partition(place.partition("#")[2]) for place in places]
        stored = self._table.get_each([(partition, items.JOB) for partition in partitions])
        by_partition = {item["pk"]["S"]: item for item in stored}
        return tuple(
            items.job_of(by_partition[partition])
            for partition in partitions
            if partition in by_partition
        )

    def start(self, job: Job) -> None:
        update = Update()
        update.put("state", items.text("running"))
        update.put_due(job_partition(job), job.due_at)
        update.require("state", items.text("pending"), items.text("running"))
        # A job without a deadline rests, because other jobs do its work.
        update.require_present("due_at")
        self._if_so(job, update)

    def mark(self, job: Job, part: str) -> None:
        update = Update()
        update.include("stored", part)
        update.require("state", items.text("pending"), items.text("running"))
        self._if_so(job, update)

    def spend(self, job: Job, used: Mapping[str, int]) -> None:
        update = Update()
        for name, amount in used.items():
            update.add(f"spent_{name}", amount)
        update.require("id", items.text(job.root))
        arguments = update.arguments(
            self._table.name, Scope(job.tenant).job_partition(job.root), items.JOB
        )
        with suppress(CommitLost):  # that job is gone
            # a plain update would be repeated if its answer is lost
            self._table.transact([{"Update": arguments}])

    def finish(self, job: Job) -> None:
        self._table.call("UpdateItem", **finishing(self._table.name, job))

    def settle(self, job: Job, *, due_at: int | None, state: JobState | None = None) -> None:
        update = Update()
        update.put_due(job_partition(job), due_at)
        for name, count in (("lost", job.lost), ("tries", job.tries)):
            update.put(name, items.number(count) if count else None)
        update.require("id", items.text(job.id))
        if state is not None:
            update.require("state", items.text(state))
        self._if_so(job, update)

    def due(self, *, now: int, limit: int) -> Iterator[Due]:
        return map(_due, due_items(self._table, now=now, limit=limit))

    def _if_so(self, job: Job, update: Update) -> None:
        arguments = update.arguments(self._table.name, job_partition(job), items.JOB)
        with suppress(CommitLost):  # the job is gone or in another state, so nothing is to be done
            self._table.call("UpdateItem", **arguments)


class DynamoDbKeyedCalls(OneTable):
    """Implements `KeyedCalls` over the table of jobs."""

    def get(self, call: KeyedCall) -> KeyedCall | None:
        item = self._table.get(*items.call_place(call))
        return items.call_of(call, item) if item else None

    def put(self, call: KeyedCall) -> None:
        self._table.call("UpdateItem", **keyed_call(self._table.name, call))


def _index_key(scope: UserScope, place: str) -> Item:
    """Return the start key that continues the index `by_owner` after a job: the job's key in the
    index and its key in the table.
    """
    job = scope.owner.job_partition(place.partition("#")[2])
    return {
        items.OWNER: items.text(scope.partition), "created": items.text(place),
        "pk": items.text(job), "sk": items.text(items.JOB),
    }  # fmt: skip


def _due(item: Item) -> Due:
    tenant, _, job_id = item["pk"]["S"].partition("#job#")
    if item["sk"]["S"] == items.JOB:
        return Due(tenant, job_id=job_id, session_id=None)
    tenant, _, session = item["pk"]["S"].partition("#")
    return Due(tenant, job_id=None, session_id=session)


PAGE = 100


class DynamoDbOwners:
    """Implements `Owners` over the tables of sessions and of memories."""

    def __init__(self, sessions: str, memories: str, **where: Any) -> None:
        self._sessions, self._memories = Table(sessions, **where), Table(memories, **where)

    def sessions(self, *, after: str | None = None) -> Iterator[tuple[SessionScope, str]]:
        for item, place in _scanned(self._sessions, "by_user", after):
            if item["sk"]["S"] == SETTINGS:  # the index also lists failed jobs
                yield SessionScope(*item["pk"]["S"].split("#")), place

    def users(self, *, after: str | None = None) -> Iterator[tuple[UserScope, str]]:
        for item, place in _scanned(self._memories, "by_tenant", after):
            yield UserScope(*item["pk"]["S"].split("#")), place


def _scanned(table: Table, index: str, after: str | None) -> Iterator[tuple[Item, str]]:
    """Yield the items of an index, which hold keys only, each with the place at which a later scan
    can continue after it.
    """
    start = (
        {}
        if after is None
        else {"ExclusiveStartKey": {name: {"S": key} for name, key in json.loads(after).items()}}
    )
    for page in table.scan(IndexName=index, Limit=PAGE, **start):
        for item in page:
            yield (
                item,
                json.dumps({name: key["S"] for name, key in item.items()}, separators=(",", ":")),
            )


class DynamoDbExpiries(OneTable):
    """Implements `Expiries` over the table of `DynamoDbMemories`."""

    def due(self, *, now: int, limit: int) -> Iterator[tuple[UserScope, str | None]]:
        for item in due_items(self._table, now=now, limit=limit):
            record_id = None if item["sk"]["S"] == memory_items.USER else memory_items.name_of(item)
            yield UserScope(*item["pk"]["S"].split("#", 1)), record_id

    def reminder(self, scope: UserScope, record_id: str) -> Reminder | None:
        return memory_items.reminder_of(
            self._table.get(scope.partition, memory_items.record_sort(record_id))
        )

    def remind(
        self, scope: UserScope, record_id: str, *, before: Reminder, to: Reminder | None
    ) -> None:
        sort = memory_items.record_sort(record_id)
        update = Update()
        update.put_due(record_id, to.due_at if to else None)
        update.put("looked_at", None if to is None or to.since is None else number(to.since))
        update.require("due_at", number(before.due_at))
        update.require("looked_at", *([] if before.since is None else [number(before.since)]))
        self._table.call("UpdateItem", **update.arguments(self._table.name, scope.partition, sort))

    def walk(self, scope: UserScope) -> Walk | None:
        return memory_items.walk_of(self._table.get(scope.partition, memory_items.USER))

    def move(self, scope: UserScope, *, before: Walk, to: Walk | None) -> None:
        update = Update()
        put_walk(update, scope, to)
        require_walk(update, before)
        require_epoch(update, before.epoch)
        self._table.call(
            "UpdateItem", **update.arguments(self._table.name, scope.partition, memory_items.USER)
        )

    def records(self, scope: UserScope, *, limit: int, after: str | None = None) -> RecordPage:
        epoch = memory_items.epoch_of(self._table.get(scope.partition, memory_items.USER))
        values = {":pk": text(scope.partition), ":prefix": text(memory_items.record_sort(""))}
        start = (
            {}
            if after is None
            else {"ExclusiveStartKey": key(scope.partition, memory_items.record_sort(after))}
        )
        pages = self._table.pages(
            "pk = :pk AND begins_with(sk, :prefix)", values, Limit=limit, **start
        )
        read: list[Item] = []
        for page in pages:
            read += page
            if len(read) >= limit:
                break
        records = [
            memory_items.record_of(item)
            for item in read[:limit]
            if memory_items.epoch_of(item) == epoch
        ]
        return RecordPage(
            tuple(records), memory_items.name_of(read[:limit][-1]) if len(read) >= limit else None
        )
