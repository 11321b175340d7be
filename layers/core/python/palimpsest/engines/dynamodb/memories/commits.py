"""The translation of a memory commit into the actions of one DynamoDB transaction. The transaction
covers the tables of memories and of jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.engines.dynamodb.lists import BUCKET, bucket_of
from palimpsest.engines.dynamodb.memories import items as memory_items
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Action, Update, finishing, keyed_call
from palimpsest.engines.dynamodb.sessions.items import Attributes, number, text
from palimpsest.engines.dynamodb.table import Table, key
from palimpsest.engines.places import MOST_ITEMS, job_partition, shard_of
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.memory.expiry import Walk, noting
from palimpsest.memory.ports import MemoryCommit, Reminder
from palimpsest.memory.record import Record
from palimpsest.scope import UserScope

WIPED_AT_ONCE = 50


def actions_of(
    table: str, jobs_table: str, scope: UserScope, commit: MemoryCommit, *, walk: Walk | None = None
) -> list[Action]:
    """Return the actions of the transaction. The first action updates the user's item; its
    condition on the epoch guards all other actions. Raises `ValueError` if there are too many
    actions.

    `walk` is the user's stored walk. Pass it if the commit writes an expiry that is earlier than
    the expiry noted in the walk.
    """
    actions = [
        {
            "Update": _user_update(scope, commit, walk).arguments(
                table, scope.partition, memory_items.USER
            )
        },
        *_Actions(table, scope, commit).all(),
    ]
    if commit.job is not None:
        actions.append(job_put(jobs_table, commit.job))
    if commit.finished is not None:
        actions.append({"Update": finishing(jobs_table, commit.finished)})
    if commit.call is not None:
        actions.append({"Update": keyed_call(jobs_table, commit.call)})
    if len(actions) > MOST_ITEMS:
        raise ValueError(f"{len(actions)} items in one transaction")
    return actions


def erasing(table: str, scope: UserScope, epoch: int) -> Action:
    """Return the action that raises the user's epoch and takes the user off the tenant's list. The
    user is listed again with the next commit.
    """
    update = Update()
    update.put("type", text("user"))
    update.put("epoch", number(epoch + 1))
    update.put(BUCKET, None)
    update.put("user_id", None)
    # The counts begin again with the epoch.
    update.put("current", None)
    update.put("uncounted", number(0))
    update.add("version", 1)
    put_walk(update, scope, None)
    require_epoch(update, epoch)
    return {"Update": update.arguments(table, scope.partition, memory_items.USER)}


def job_put(jobs_table: str, job: Job) -> Action:
    item = key(job_partition(job), items.JOB) | items.job_attributes(job)
    return {
        "Put": {
            "TableName": jobs_table,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }


def _user_update(scope: UserScope, commit: MemoryCommit, walk: Walk | None) -> Update:
    update = _listed(scope)
    # Readers need the attribute `version`. Adding 0 creates it if it is missing, and does not
    # change it otherwise.
    update.add("version", int(commit.changes_memory))
    if commit.gained:
        update.add("current", commit.gained)
    require_epoch(update, commit.epoch)
    if commit.expires_at is not None:
        _note(update, scope, commit.epoch, commit.expires_at, walk)
    return update


def _listed(scope: UserScope) -> Update:
    update = Update()
    update.put("type", text("user"))
    update.put(BUCKET, text(bucket_of(scope)))
    update.put("user_id", text(scope.user))
    return update


def _note(update: Update, scope: UserScope, epoch: int, expires_at: int, walk: Walk | None) -> None:
    """Note an expiry in the user's walk. Without `walk`, the update requires that no later expiry
    is noted.
    """
    if walk is not None:
        require_walk(update, walk)
        put_walk(update, scope, noting(walk, epoch=epoch, expires_at=expires_at))
        return
    update.put_if_absent("due_shard", text(shard_of(scope.partition)))
    update.put_if_absent("due_at", number(expires_at))
    update.put_if_absent("noted", number(expires_at))
    update.require_at_most("noted", number(expires_at))


def put_walk(update: Update, scope: UserScope, walk: Walk | None) -> None:
    update.put_due(scope.partition, walk.due_at if walk else None)
    update.put("noted", None if walk is None or walk.noted is None else number(walk.noted))
    update.put("walk", memory_items.walk_body(walk) if walk else None)


def require_walk(update: Update, walk: Walk) -> None:
    body = memory_items.walk_body(walk)
    update.require("walk", *([body] if body else []))
    update.require("due_at", number(walk.due_at))
    update.require("noted", *([] if walk.noted is None else [number(walk.noted)]))


def listing(table: str, scope: UserScope, epoch: int) -> Action:
    """Return the action that adds the user to the tenant's list. It requires that the user is in
    this epoch.
    """
    update = _listed(scope)
    update.add("version", 0)  # as in _user_update
    require_epoch(update, epoch)
    return {"Update": update.arguments(table, scope.partition, memory_items.USER)}


def put_reminder(update: Update, record: Record) -> None:
    """Set a reminder if the record's index state is pending; otherwise remove the reminder."""
    due_at = Reminder().due_at if record.index_state == "pending" else None
    update.put_due(record.id, due_at)
    update.put("looked_at", None)


def require_epoch(update: Update, epoch: int) -> None:
    """Require that the user is in this epoch. A user who was never erased has no epoch, which
    counts as 0.
    """
    update.require("epoch", *([number(epoch)] if epoch else []))


def put_anew(table: str, scope: UserScope, sort: str, attributes: Attributes) -> dict[str, Any]:
    """Return the arguments of a put that requires a new item. An item of an earlier epoch counts as
    absent, because it was erased and only waits for its deletion.
    """
    return {
        "TableName": table,
        "Item": key(scope.partition, sort) | attributes,
        "ConditionExpression": "attribute_not_exists(pk) OR #epoch < :epoch",
        "ExpressionAttributeNames": {"#epoch": "epoch"},
        "ExpressionAttributeValues": {":epoch": attributes["epoch"]},
    }


class _Actions:
    """The actions on one user's partition that a memory commit needs."""

    def __init__(self, table: str, scope: UserScope, commit: MemoryCommit) -> None:
        self._table = table
        self._scope = scope
        self._commit = commit
        self._epoch = commit.epoch

    def all(self) -> Iterator[Action]:
        for record in self._commit.new:
            attributes = memory_items.record_attributes(self._scope, self._epoch, record)
            sort = memory_items.record_sort(record.id)
            if record.index_state == "pending":
                attributes |= {
                    "due_shard": text(shard_of(record.id)),
                    "due_at": number(Reminder().due_at),
                }
            yield self._put(sort, attributes)
        for record in self._commit.changed:
            yield self._change(record)
        for record in (*self._commit.new, *self._commit.said):
            if record.topic_key is not None:
                place = memory_items.place_sort(record.topic_key, record.order)
                yield self._set(place, memory_items.place_attributes(self._epoch, record))
        yield from self._removals()
        for burial in self._commit.buried:
            attributes = memory_items.burial_attributes(self._epoch, burial)
            yield self._set(memory_items.burial_sort(burial.id), attributes)
        for pointer in self._commit.pointers:
            attributes = memory_items.pointer_attributes(self._epoch, pointer)
            yield self._at(
                memory_items.pointer_sort(pointer.topic_key), attributes, pointer.version
            )
        yield from self._ledger()

    def _ledger(self) -> Iterator[Action]:
        line, progress = self._commit.line, self._commit.progress
        if line is not None:
            sort = memory_items.line_sort(line.session, line.first)
            yield self._set(sort, memory_items.line_attributes(self._epoch, line))
        if progress is not None:
            attributes = memory_items.progress_attributes(self._epoch, progress)
            yield self._at(
                memory_items.progress_sort(progress.session), attributes, progress.version
            )

    def _removals(self) -> Iterator[Action]:
        by_id: dict[str, list[Record]] = {}
        for record in self._commit.removed:
            by_id.setdefault(record.id, []).append(record)
        for record in (*self._commit.removed, *self._commit.removed_places):
            if record.topic_key is not None:
                yield self._delete(memory_items.place_sort(record.topic_key, record.order))
        for record_id, removed in by_id.items():
            yield self._delete(memory_items.record_sort(record_id), version=removed[0].version)
            yield self._delete(memory_items.uses_sort(record_id))
            yield self._set(
                memory_items.mark_sort(record_id),
                memory_items.mark_attributes(self._epoch, removed),
            )

    def _put(self, sort: str, attributes: Attributes) -> Action:
        return {"Put": put_anew(self._table, self._scope, sort, attributes)}

    def _at(self, sort: str, attributes: Attributes, version: int) -> Action:
        """Return the action that stores an item if its stored version is `version`. 0 means that
        the item does not exist yet.
        """
        return (
            self._set(sort, attributes, version=version) if version else self._put(sort, attributes)
        )

    def _change(self, record: Record) -> Action:
        sort, update = memory_items.record_sort(record.id), Update()
        update.put_all(
            memory_items.record_changes(record) | {"version": number(record.version + 1)}
        )
        put_reminder(update, record)
        update.require("version", number(record.version))
        return {"Update": update.arguments(self._table, self._scope.partition, sort)}

    def _set(self, sort: str, attributes: Attributes, *, version: int | None = None) -> Action:
        update = Update()
        update.put_all(attributes)
        if version is not None:
            update.require("version", number(version))
        return {"Update": update.arguments(self._table, self._scope.partition, sort)}

    def _delete(self, sort: str, *, version: int | None = None) -> Action:
        arguments = {"TableName": self._table, "Key": key(self._scope.partition, sort)}
        if version is not None:
            arguments |= {
                "ConditionExpression": "#version = :version",
                "ExpressionAttributeNames": {"#version": "version"},
                "ExpressionAttributeValues": {":version": number(version)},
            }
        return {"Delete": arguments}


def deletions(
    table: str, scope: UserScope, sorts: Sequence[str], *, below_epoch: int
) -> list[Action]:
    """Return the actions that delete these items. Each requires that its item is of an epoch before
    `below_epoch`.
    """
    return [
        {
            "Delete": {
                "TableName": table,
                "Key": key(scope.partition, sort),
                "ConditionExpression": "#epoch < :below",
                "ExpressionAttributeNames": {"#epoch": "epoch"},
                "ExpressionAttributeValues": {":below": number(below_epoch)},
            }
        }
        for sort in sorts
    ]


def wipe(table: Table, scope: UserScope, *, below_epoch: int, limit: int | None) -> int:
    """Delete the user's items of earlier epochs, and return how many were deleted. With `limit`,
    stop once at least `limit` items are deleted.

    The user's own item stays. An item that is written again in the meantime stays too, because each
    deletion checks the item's epoch.
    """
    pages = table.pages(
        "pk = :pk",
        {":pk": text(scope.partition), ":below": number(below_epoch), ":user": text("user")},
        FilterExpression="#epoch < :below AND #type <> :user",
        ExpressionAttributeNames={"#epoch": "epoch", "#type": "type", "#sk": "sk"},
        ProjectionExpression="#sk",
    )
    removed = 0
    for page in pages:
        sorts = [item["sk"]["S"] for item in page]
        for start in range(0, len(sorts), WIPED_AT_ONCE):
            removed += _wipe_some(table, scope, sorts[start : start + WIPED_AT_ONCE], below_epoch)
            if limit is not None and removed >= limit:
                return removed
    return removed


def _wipe_some(table: Table, scope: UserScope, sorts: Sequence[str], below_epoch: int) -> int:
    """Delete these items in one transaction, or one by one if another writer interferes. Returns
    how many were deleted.
    """
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
