"""The long-term store on DynamoDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from palimpsest import parallel
from palimpsest.engines.cursors import record_cursor, user_cursor
from palimpsest.engines.dynamodb.errors import Refused
from palimpsest.engines.dynamodb.lists import TenantIndex
from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.memories.commits import (
    actions_of,
    erasing,
    job_put,
    put_anew,
    put_reminder,
    wipe,
)
from palimpsest.engines.dynamodb.sessions.commits import Update, is_too_large
from palimpsest.engines.dynamodb.sessions.items import number, text
from palimpsest.engines.dynamodb.table import BATCH_GET, Item, OneTable, Table
from palimpsest.engines.places import EXAMINED, MOST_ITEMS, items_of, record_listed_as
from palimpsest.errors import CommitLost, TooLarge
from palimpsest.jobs.job import Job
from palimpsest.memory.burials import Burial
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import (
    ChunkLine,
    MemoryCommit,
    Pointer,
    Progress,
    RecordPage,
    Tombstone,
)
from palimpsest.memory.record import Record, RecordType, UserState
from palimpsest.scope import Scope, UserScope

READ_AT_ONCE = BATCH_GET - 1  # records in one batch, with the user's item
MOST_EPOCHS = 10_000  # users whose epoch is remembered


class DynamoDbMemories(OneTable):
    """Implements `Memories` over one table. `jobs_table` is the table of `DynamoDbJobs`, which
    takes the jobs of commits.

    Every read also reads the user's item, in the same call or before. Items of another epoch than
    the user's count as absent. A batch of reads isn't a snapshot. But an epoch only grows, so the
    result never holds data that was erased before the call.
    """

    def __init__(self, table: str, jobs_table: str, **where: Any) -> None:
        super().__init__(table, **where)
        self._jobs_table = jobs_table
        self._epochs: dict[str, int] = {}  # of the users read last, by partition

    def user(self, scope: UserScope) -> UserState:
        item = self._table.get(scope.partition, items.USER)
        self._epoch(scope, item)
        return items.user_of(item)

    def _epoch(self, scope: UserScope, user: Item | None) -> int:
        """Return the epoch of the user's item, and remember it for `count_use`."""
        if len(self._epochs) >= MOST_EPOCHS:
            # An epoch that is no longer remembered only costs one read.
            self._epochs.clear()
        self._epochs[scope.partition] = epoch = items.epoch_of(user)
        return epoch

    def current(self, scope: UserScope) -> int:
        """Return the number of current memories. Each commit adds its gain to a counter. Memories
        that are older than this counter are counted by the first call. It stores their number,
        unless another commit came in between.
        """
        item = self._table.get(scope.partition, items.USER)
        if not item:
            return 0
        gained, before = items.counted(item, "current") or 0, items.counted(item, "uncounted")
        if before is not None:
            return gained + before
        there = self._current(scope, number(items.epoch_of(item)))
        update = Update()
        update.put("uncounted", number(there - gained))
        update.require("version", item["version"])
        with suppress(CommitLost):
            self._table.call(
                "UpdateItem", **update.arguments(self._table.name, scope.partition, items.USER)
            )
        return there

    def _current(self, scope: UserScope, epoch: Item) -> int:
        values = {":pk": text(scope.partition), ":prefix": text(items.record_sort(""))}
        pages = self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values)
        records = (
            items.record_of(item) for page in pages for item in page if item["epoch"] == epoch
        )
        return sum(record.topic_key is None for record in records) + len(
            self.topics(scope, prefix="")
        )

    def erase(self, scope: UserScope, *, epoch: int, job: Job) -> None:
        self._table.transact(
            [erasing(self._table.name, scope, epoch), job_put(self._jobs_table, job)]
        )
        self._epochs.pop(scope.partition, None)

    def room(self, commit: MemoryCommit) -> int:
        return MOST_ITEMS - items_of(commit)

    def commit(self, scope: UserScope, commit: MemoryCommit) -> None:
        try:
            self._commit(scope, commit)
        except CommitLost:
            if commit.expires_at is None:
                raise
            walk = items.walk_of(self._table.get(scope.partition, items.USER))
            if walk is None or walk.noted is None or walk.noted <= commit.expires_at:
                raise
            # The noted expiry may be the reason why the commit was lost.
            self._commit(scope, commit, walk=walk)

    def _commit(self, scope: UserScope, commit: MemoryCommit, *, walk: Walk | None = None) -> None:
        actions = actions_of(self._table.name, self._jobs_table, scope, commit, walk=walk)
        try:
            self._table.transact(actions)
        except Refused as error:
            if is_too_large(action for action in actions if "Delete" not in action):
                raise TooLarge("An item or the whole commit is over the store's limit.") from error
            raise

    def records(self, scope: UserScope, ids: Sequence[str]) -> tuple[Record, ...]:
        stored = self._found(scope, map(items.record_sort, ids))
        return tuple(items.record_of(item) for item in stored.values())

    def tombstones(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, Tombstone]:
        marks = self._found(scope, map(items.mark_sort, ids))
        marked = {items.name_of(item): items.mark_of(item) for item in marks.values()}
        # A record that was stored again is no longer removed.
        there = self._found(scope, map(items.record_sort, marked))
        return {name: mark for name, mark in marked.items() if items.record_sort(name) not in there}

    def burials(self, scope: UserScope) -> tuple[Burial, ...]:
        epoch = number(self.user(scope).epoch)
        values = {":pk": text(scope.partition), ":prefix": text(items.burial_sort(""))}
        pages = self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values)
        return tuple(
            items.burial_of(item) for page in pages for item in page if item["epoch"] == epoch
        )

    def pointers(self, scope: UserScope, topic_keys: Sequence[str]) -> Mapping[str, Pointer]:
        stored = self._found(scope, map(items.pointer_sort, topic_keys))
        return {pointer.topic_key: pointer for pointer in map(items.pointer_of, stored.values())}

    def topics(self, scope: UserScope, *, prefix: str) -> tuple[Pointer, ...]:
        epoch = number(self.user(scope).epoch)
        values = {":pk": text(scope.partition), ":prefix": text(items.pointer_sort(prefix))}
        pages = self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values)
        pointers = (
            items.pointer_of(item) for page in pages for item in page if item["epoch"] == epoch
        )
        return tuple(pointer for pointer in pointers if pointer.record is not None)

    def topics_after(
        self, scope: UserScope, after: str, *, limit: int
    ) -> tuple[tuple[Pointer, ...], str | None]:
        epoch = number(self.user(scope).epoch)
        low, high = items.pointer_sort(after), items.pointer_sort(items.LAST)
        values = {":pk": text(scope.partition), ":low": text(low), ":high": text(high)}
        # Two more than the limit are read: the range begins with `after` itself, and the last item
        # shows whether more follow.
        looked_at: list[Item] = []
        for page in self._table.pages(
            "pk = :pk AND sk BETWEEN :low AND :high", values, Limit=limit + 2
        ):
            looked_at += (item for item in page if item["sk"]["S"] != low)
            if len(looked_at) > limit:
                break
        mine = (item for item in looked_at[:limit] if item["epoch"] == epoch)
        pointers = tuple(pointer for pointer in map(items.pointer_of, mine) if pointer.record)
        last = items.name_of(looked_at[limit - 1]) if len(looked_at) > limit else None
        return pointers, last

    def versions(self, scope: UserScope, topic_key: str) -> tuple[Record, ...]:
        places = [item for page in self._places(scope, topic_key) for item in page]
        items_by_key = self._found(
            scope, (items.record_sort(place["record"]["S"]) for place in places)
        )
        records = {item["sk"]["S"]: item for item in items_by_key.values()}
        return tuple(
            items.said_of(place, items.record_of(item))
            for place in places
            if (item := records.get(items.record_sort(place["record"]["S"]))) is not None
            # After an erasure, a record may be stored again beside a place of the earlier epoch.
            and place["epoch"] == item["epoch"]
        )

    def listed(
        self,
        scope: UserScope,
        *,
        types: frozenset[RecordType] = frozenset(),
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> RecordPage:
        """Return one page of the user's records, in the order of their creation. The index gives
        only ids, so each record is read from the table. Records that no longer exist or have
        another type are skipped.
        """
        cursor = record_cursor(scope)
        place = cursor.place(after)
        matching: list[Record] = []
        examined = 0
        owner = items.list_of(scope, types)
        at_once = min(limit + 1, READ_AT_ONCE)
        for page in self._created(
            scope, place, owner=owner, at_once=at_once, newest_first=newest_first
        ):
            records = self.records(scope, [items.name_of(item) for item in page])
            matching += [record for record in records if not types or record.type in types]
            examined += len(page)
            if len(matching) > limit:
                return RecordPage(
                    tuple(matching[:limit]), cursor.at(record_listed_as(matching[limit - 1]))
                )
            if page:
                place = page[-1]["created"]["S"]
            # A type may be rare, and a call reads a bounded number of records.
            if examined >= EXAMINED:
                return RecordPage(tuple(matching), cursor.at(str(place)))
        return RecordPage(tuple(matching), None)

    def progress(self, scope: UserScope, session: str) -> Progress:
        stored = self._found(scope, [items.progress_sort(session)])
        return items.progress_of(session, next(iter(stored.values()), None))

    def lines(
        self, scope: UserScope, session: str, *, first: int, last: int
    ) -> tuple[ChunkLine, ...]:
        if first > last:
            return ()
        epoch = number(self.user(scope).epoch)
        values = {
            ":pk": text(scope.partition), ":low": text(items.line_sort(session, first)),
            ":high": text(items.line_sort(session, last)),
        }  # fmt: skip
        pages = self._table.pages("pk = :pk AND sk BETWEEN :low AND :high", values)
        return tuple(
            items.line_of(session, item)
            for page in pages
            for item in page
            if item["epoch"] == epoch
        )

    def mark_indexed(self, scope: UserScope, record: Record) -> None:
        _mark_indexed(self._table, scope, record)

    def count_use(self, scope: UserScope, ids: Sequence[str], *, now: int) -> None:
        """Count a use of each record. A recall waits for this call, so it relies on the epoch that
        was read last. It reads the epoch only if none is known.
        """
        known = self._epochs.get(scope.partition)
        left, epoch = list(dict.fromkeys(ids)), self.user(scope).epoch if known is None else known
        counted = parallel.run_each(
            partial(_is_counted, self._table, scope, epoch=epoch, now=now), left
        )
        if left := [
            record_id for record_id, is_counted in zip(left, counted, strict=True) if not is_counted
        ]:
            # The remembered epoch may be outdated. A first use must have the present one.
            epoch = epoch if known is None else self.user(scope).epoch
            parallel.run_each(
                partial(_count_first_use, self._table, scope, epoch=epoch, now=now), left
            )

    def uses(self, scope: UserScope, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        stored = self._found(scope, map(items.uses_sort, ids))
        return {
            items.name_of(item): (int(item["uses"]["N"]), int(item["last"]["N"]))
            for item in stored.values()
        }

    def users(
        self, tenant: str, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        scope = Scope(tenant)
        cursor = user_cursor(scope)
        index = TenantIndex(self._table, "by_tenant", "user_id")
        users, has_more = index.page(scope, limit=limit, after=cursor.place(after))
        return users, cursor.at(users[-1]) if has_more else None

    def wipe(self, scope: UserScope, *, below_epoch: int, limit: int | None = None) -> int:
        return wipe(self._table, scope, below_epoch=below_epoch, limit=limit)

    def _created(
        self, scope: UserScope, after: str | None, *, owner: str, at_once: int, newest_first: bool
    ) -> Iterator[Sequence[Item]]:
        """Yield the keys of the user's records in the order of their creation, page by page."""
        start = (
            {}
            if after is None
            else {"ExclusiveStartKey": items.created_key(scope, after, owner=owner)}
        )
        return self._table.pages(
            "#owner = :owner",
            {":owner": text(owner)},
            IndexName="by_created",
            ExpressionAttributeNames={"#owner": "owner"},
            Limit=at_once,
            ScanIndexForward=not newest_first,
            **start,
        )

    def _places(self, scope: UserScope, topic_key: str) -> Iterator[Sequence[Item]]:
        values = {":pk": text(scope.partition), ":prefix": text(items.places_of(topic_key))}
        return self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values)

    def _found(self, scope: UserScope, sorts: Iterable[str]) -> dict[str, Item]:
        """Return the items that exist in the user's present epoch, by sort key, in the order in
        which they were asked for.
        """
        wanted = list(dict.fromkeys(sorts))
        if not wanted:
            return {}
        existing: dict[str, Item] = {}
        keys = [items.USER, *wanted]
        for start in range(0, len(keys), BATCH_GET):
            batch = self._table.get_many(scope.partition, keys[start : start + BATCH_GET])
            existing |= {item["sk"]["S"]: item for item in batch}
        epoch = self._epoch(scope, existing.get(items.USER))
        there = {sort: item for sort in wanted if (item := existing.get(sort)) is not None}
        return {sort: item for sort, item in there.items() if items.epoch_of(item) == epoch}


def _mark_indexed(table: Table, scope: UserScope, record: Record) -> None:
    update = Update()
    update.put("index_state", text("done"))
    put_reminder(update, replace(record, index_state="done"))
    update.require("version", number(record.version))
    with suppress(CommitLost):  # the record was changed or removed, which has its own notice
        _update(table, scope, items.record_sort(record.id), update)


def _is_counted(table: Table, scope: UserScope, record_id: str, *, epoch: int, now: int) -> bool:
    """Count one more use; return False if no use was counted in this epoch before."""
    use = Update()
    use.put("last", number(now))
    use.add("uses", 1)
    use.require("epoch", number(epoch))
    try:
        _update(table, scope, items.uses_sort(record_id), use)
    except CommitLost:
        return False
    return True


def _count_first_use(
    table: Table, scope: UserScope, record_id: str, *, epoch: int, now: int
) -> None:
    """Start counting uses in this epoch, even if uses were counted in an earlier epoch. If another
    writer has just started, count one more use.
    """
    attributes = items.common("uses", epoch) | {"last": number(now), "uses": number(1)}
    try:
        table.call("PutItem", **put_anew(table.name, scope, items.uses_sort(record_id), attributes))
    except CommitLost:  # if this fails too, the user was erased again, and nothing is left to count
        _is_counted(table, scope, record_id, epoch=epoch, now=now)


def _update(table: Table, scope: UserScope, sort: str, update: Update) -> None:
    table.call("UpdateItem", **update.arguments(table.name, scope.partition, sort))
