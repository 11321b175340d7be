"""The translation of a commit into the actions of one DynamoDB transaction. Updates name the
attributes that they change and have conditions. No update replaces a whole item unconditionally.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from palimpsest.conversations.session import Commit, Compaction, Head, IdempotencyKey
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.items import Attributes
from palimpsest.engines.dynamodb.table import key
from palimpsest.engines.places import COUNTERS, job_partition, shard_of
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import Job
from palimpsest.scope import SessionScope

Action = dict[str, Any]

_HEAD_FIELDS = tuple(field.name for field in fields(Head))
ITEM_BYTES = 400 * 1024  # the limit of an item (DynamoDB)
TRANSACTION_BYTES = 4 * 1024 * 1024  # the limit of a transaction (DynamoDB)


class Update:
    """Builds an UpdateItem: the attributes to set, remove and add to, and the conditions."""

    def __init__(self) -> None:
        self._clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        self._conditions: list[str] = []
        self._names: dict[str, str] = {}
        self._values: Attributes = {}

    def put(self, name: str, value: dict[str, Any] | None) -> None:
        """Set the attribute; remove it if the value is None."""
        if value is None:
            self._say("REMOVE", name, f"#{name}")
        else:
            self._say("SET", name, f"#{name}=:{name}", {f":{name}": value})

    def put_if_absent(self, name: str, value: dict[str, Any]) -> None:
        """Set the attribute if it is absent."""
        self._say("SET", name, f"#{name}=if_not_exists(#{name},:{name})", {f":{name}": value})

    def put_all(self, attributes: Attributes) -> None:
        for name, value in attributes.items():
            self.put(name, value)

    def put_due(self, partition: str, due_at: int | None) -> None:
        """Set the item's place in the index of due work; None takes the item out of the index."""
        self.put("due_shard", None if due_at is None else items.text(shard_of(partition)))
        self.put("due_at", None if due_at is None else items.number(due_at))

    def add(self, name: str, difference: int) -> None:
        self._say("ADD", name, f"#{name} :{name}", {f":{name}": items.number(difference)})

    def include(self, name: str, value: str) -> None:
        """Add the text to the attribute, which is a set of texts."""
        self._say("ADD", name, f"#{name} :{name}", {f":{name}": {"SS": [value]}})

    def exclude(self, name: str, value: str) -> None:
        """Remove the text from the attribute, which is a set of texts."""
        self._say("DELETE", name, f"#{name} :{name}", {f":{name}": {"SS": [value]}})

    def require(self, name: str, *values: dict[str, Any]) -> None:
        """Require that the attribute has one of these values; without values, that it is absent."""
        allowed = {f":{name}_{number}": value for number, value in enumerate(values)}
        holds = f"#{name} IN ({','.join(allowed)})" if allowed else f"attribute_not_exists(#{name})"
        self._require(name, holds, allowed)

    def require_present(self, name: str) -> None:
        """Require that the attribute is present."""
        self._require(name, f"attribute_exists(#{name})", {})

    def require_at_most(self, name: str, value: dict[str, Any]) -> None:
        """Require that the attribute is absent or at most this value."""
        holds = f"(attribute_not_exists(#{name}) OR #{name} <= :most_{name})"
        self._require(name, holds, {f":most_{name}": value})

    def require_below(self, name: str, value: dict[str, Any]) -> None:
        """Require that the attribute is absent or below this value."""
        holds = f"(attribute_not_exists(#{name}) OR #{name} < :below_{name})"
        self._require(name, holds, {f":below_{name}": value})

    def require_room(self, name: str, value: str, *, most: int) -> None:
        """Require that the attribute, a set of texts, is absent, includes this text, or has fewer
        than `most` texts.
        """
        holds = (
            f"(attribute_not_exists(#{name}) OR contains(#{name}, :one_{name}) "
            f"OR size(#{name}) < :most_{name})"
        )
        self._require(
            name, holds, {f":one_{name}": items.text(value), f":most_{name}": items.number(most)}
        )

    def require_included(self, name: str, *values: str) -> None:
        """Require that the attribute, a set of texts, includes all of these values."""
        for number, value in enumerate(values):
            place = f":{name}_{number}"
            self._require(name, f"contains(#{name}, {place})", {place: items.text(value)})

    def _say(self, verb: str, name: str, clause: str, values: Attributes | None = None) -> None:
        self._names[f"#{name}"] = name
        self._values |= values or {}
        self._clauses[verb].append(clause)

    def _require(self, name: str, holds: str, values: Attributes) -> None:
        self._names[f"#{name}"] = name
        self._values |= values
        self._conditions.append(holds)

    def arguments(self, table: str, partition: str, sort: str) -> dict[str, Any]:
        clauses = (f"{verb} {','.join(parts)}" for verb, parts in self._clauses.items() if parts)
        arguments = {
            "TableName": table,
            "Key": key(partition, sort),
            "UpdateExpression": " ".join(clauses),
            "ConditionExpression": " AND ".join(self._conditions),
            "ExpressionAttributeNames": self._names,
            "ExpressionAttributeValues": self._values,
        }
        return {name: value for name, value in arguments.items() if value}


def actions_of(table: str, scope: SessionScope, commit: Commit) -> list[Action]:
    """Return the actions of the transaction. The first action updates the head of the session; the
    others write the other parts of the commit.
    """
    partition = scope.partition
    head = _head_update(commit).arguments(table, partition, items.HEAD)
    actions: list[Action] = [{"Update": {**head, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}]
    settings = _settings_update(scope, commit)
    if settings is not None:
        actions.append({"Update": settings.arguments(table, partition, items.SETTINGS)})
    actions += [
        _put(table, partition, items.message_sort(message.seq), items.message_attributes(message))
        for message in commit.messages
    ]
    # The newest message carries the counts, because an item of their own would cost each append two
    # write units (docs/adr/0038).
    if commit.messages and (tally := commit.after.tally(scope)) is not None:
        actions[-1]["Put"]["Item"]["counted"] = items.counted(tally)
    for message in (*commit.marked, *([commit.redacted] if commit.redacted else ())):
        update, sort = Update(), items.message_sort(message.seq)
        update.put_all(items.message_attributes(message))
        # An update would make the item again if the message was removed meanwhile.
        update.require("type", items.text("message"))
        actions.append({"Update": update.arguments(table, partition, sort)})
    if commit.compaction is not None:
        actions.append({"Update": _compaction_arguments(table, partition, commit.compaction)})
    if commit.key is not None:
        actions.append(_key_put(table, partition, commit.key, commit.after))
    actions += [
        _put(table, job_partition(job), items.JOB, items.job_attributes(job)) for job in commit.jobs
    ]
    if commit.finished is not None:
        actions.append({"Update": finishing(table, commit.finished)})
    if commit.call is not None:
        actions.append({"Update": keyed_call(table, commit.call)})
    return actions


def keyed_call(table: str, call: KeyedCall) -> dict[str, Any]:
    """Return the update that stores a call with an idempotency key. It requires that the stored
    call is still at the version that was read.
    """
    update = Update()
    update.put_all(items.call_attributes(call))
    update.require("version", *([items.number(call.version)] if call.version else []))
    return update.arguments(table, *items.call_place(call))


def finishing(table: str, job: Job) -> dict[str, Any]:
    """Return the update that stores the progress of a job. It requires that the job exists, has not
    ended, and has stored all parts that it needs.
    """
    partition = job_partition(job)
    update = Update()
    for name, value in (items.job_progress(job) | items.failed_place(job)).items():
        update.put(name, value)
    update.put_due(partition, job.due_at)
    update.require("state", items.text("pending"), items.text("running"))
    update.require_included("stored", *job.needed)
    return update.arguments(table, partition, items.JOB)


def is_too_large(actions: Iterable[Action]) -> bool:
    """Return whether an item or the whole transaction is over DynamoDB's limit."""
    sizes = [_bytes(action) for action in actions]
    return max(sizes) > ITEM_BYTES or sum(sizes) > TRANSACTION_BYTES


def _bytes(action: Action) -> int:
    arguments = action.get("Put") or action.get("Update") or {}
    attributes: Attributes = {
        **arguments.get("Item", {}),
        **arguments.get("ExpressionAttributeValues", {}),
    }
    return sum(len(name) + _size(next(iter(value.values()))) for name, value in attributes.items())


def _size(value: Any) -> int:
    """Return the size of a value in a request: text as JSON in ASCII, bytes in base 64. Some
    engines apply their limits to this size.
    """
    return len(value) * 4 // 3 if isinstance(value, bytes) else len(json.dumps(value))


def _settings_update(scope: SessionScope, commit: Commit) -> Update | None:
    """Return the update of the session's settings; None if the commit leaves them as they are."""
    update = Update()
    if commit.settings is not None:
        update.put_all(items.settings_attributes(scope, commit.settings))
        update.put_due(scope.partition, commit.settings.due_at)
        return update
    if commit.visit_at is not None:
        update.put_due(scope.partition, commit.visit_at)
        # The settings may be those of a later session with the same id.
        update.require("base", items.number(commit.after.base))
        return update
    return None


def _head_update(commit: Commit) -> Update:
    before, after = commit.before, commit.after
    update = Update()
    if before is None:
        update.put("type", items.text("head"))
        update.require("pk")
    elif commit.guard == "version":
        update.require("version", items.number(before.version))
    else:
        # Each append changes the version. An overflow's commit must not lose against every append
        # at the same time, so it is guarded by its job and window, and changes counters by their
        # difference (docs/adr/0001).
        update.require("job", *([items.text(before.job)] if before.job else []))
        update.require("window_start", items.number(before.window_start))
    for name in _HEAD_FIELDS:
        _change(update, name, commit)
    if after.status == "deleted":
        update.put("ttl", items.tombstone_ttl(after))
    elif before is not None and before.status == "deleted":
        update.put("ttl", None)
    return update


def _change(update: Update, name: str, commit: Commit) -> None:
    """Add one field of the head to the update, if the commit changes that field."""
    new = getattr(commit.after, name)
    if commit.before is None:
        value = items.head_value(name, new)
        if value is not None:
            update.put(name, value)
        return
    old = getattr(commit.before, name)
    if new == old:
        return
    if commit.guard == "window" and name in COUNTERS:
        update.add(name, new - old)
    else:
        update.put(name, items.head_value(name, new))


def _compaction_arguments(table: str, partition: str, compaction: Compaction) -> dict[str, Any]:
    """Return the update that stores a compaction. It replaces an existing compaction with the same
    number, which is obsolete because its messages were opened again.
    """
    update = Update()
    update.put_all(items.compaction_attributes(compaction))
    return update.arguments(table, partition, items.compaction_sort(compaction.last))


def _put(table: str, partition: str, sort: str, attributes: Attributes) -> Action:
    item = key(partition, sort) | attributes
    return {
        "Put": {"TableName": table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
    }


def _key_put(table: str, partition: str, idempotency: IdempotencyKey, after: Head) -> Action:
    """Return the put of an idempotency key. It requires that the key is absent, has expired at the
    time of the commit, or was written before the session was last deleted.
    """
    put = _put(table, partition, items.key_sort(idempotency.key), items.key_attributes(idempotency))
    put["Put"] |= {
        "ConditionExpression": (
            "attribute_not_exists(pk) OR expires_at <= :now OR last_seq <= :base"
        ),
        "ExpressionAttributeValues": {
            ":now": items.number(after.updated_second),
            ":base": items.number(after.base),
        },
    }
    return put
