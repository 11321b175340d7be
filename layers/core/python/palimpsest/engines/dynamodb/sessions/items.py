"""The DynamoDB items of sessions, messages, compactions, idempotency keys and jobs: their keys,
attributes and JSON bodies, and how they are read back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, astuple, fields, replace
from typing import Any, cast

from palimpsest import tracing
from palimpsest.conversations.message import Large, Message
from palimpsest.conversations.session import Compaction, Head, IdempotencyKey, Settings
from palimpsest.engines.dynamodb.lists import BUCKET, FAILED, SESSIONS, bucket_for, bucket_of
from palimpsest.engines.places import (
    TOMBSTONE_SECONDS,
    job_listed_as,
    job_partition,
    listed_as,
    session_listed_as,
    shard_of,
)
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.job import RETENTION_SECONDS, Job
from palimpsest.payloads import decoded, encoded
from palimpsest.scope import Scope, SessionScope
from palimpsest.usage import Tally

Item = Mapping[str, Any]
Attributes = dict[str, dict[str, Any]]

HEAD = "head"
SETTINGS = "settings"
JOB = "job"
CALL = "call"
KEYS = "k#"
OWNER = "job_owner"
"""The hash key of the index `by_owner`. It holds the user of a job or, for a session, a bucket of
the tenant's list by creation.
"""
LAST_SEQ = 10**12 - 1
DEFAULT_ENCODING = "o200k_base"
LARGE_TEXT = 4_000  # characters of a message's body

_KINDS = {
    "str": "S", "str | None": "S", "Status": "S", "CompactionState": "S", "bytes": "B",
    "int": "N", "int | None": "N", "tuple[tuple[int, int], ...]": "ranges",
}  # fmt: skip
HEAD_KINDS = {field.name: _KINDS[str(field.type)] for field in fields(Head)}
"""The attribute type of each field of a head. A field of an unknown type raises an error at import,
so that no field is lost silently.
"""
ALWAYS_KEPT = frozenset({"user", "version", "window_start"})
"""Fields that conditions compare, so they are stored even at their default. Other fields are absent
at their default.
"""


def message_sort(seq: int) -> str:
    return f"m#{min(max(seq, 0), LAST_SEQ):012d}"


def compaction_sort(last: int) -> str:
    return f"c#{min(max(last, 0), LAST_SEQ):012d}"


def key_sort(name: str) -> str:
    return KEYS + name


def text(value: str) -> dict[str, str]:
    return {"S": value}


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def body(**values: Any) -> dict[str, str]:
    """Return one JSON text for many values, which is parsed far faster than as many attributes.
    None and empty mappings are left out.
    """
    return json_text(
        {name: value for name, value in values.items() if value is not None and value != {}}
    )


def json_text(value: Any) -> dict[str, str]:
    return {"S": json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)}


def values_of(attribute: Item) -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(attribute["S"]))


# The head has an attribute for each field, because conditions and arithmetic need them.


def _default(field: Field[Any]) -> Any:
    return None if field.default is MISSING else field.default


HEAD_DEFAULTS = {field.name: _default(field) for field in fields(Head)}


def head_value(name: str, value: Any) -> dict[str, Any] | None:
    """Return a field of the head as an attribute; None if the attribute is absent at this value."""
    if value == HEAD_DEFAULTS[name] and name not in ALWAYS_KEPT:
        return None
    kind = HEAD_KINDS[name]
    if kind == "N":
        return {"N": str(value)}
    if kind == "ranges":
        return json_text(value)
    return {kind: value}


def head_of(item: Item) -> Head:
    values: dict[str, Any] = {}
    for name, attribute in item.items():
        kind = HEAD_KINDS.get(name)
        if kind == "N":
            values[name] = int(attribute["N"])
        elif kind == "ranges":
            values[name] = tuple((first, last) for first, last in json.loads(attribute["S"]))
        elif kind is not None:
            values[name] = attribute[kind]
    return Head(**values)


def tombstone_ttl(head: Head) -> dict[str, str]:
    return number(head.updated_second + TOMBSTONE_SECONDS)


# Settings have one body, and attributes for the two indexes.


def settings_attributes(scope: SessionScope, settings: Settings) -> Attributes:
    """Return the attributes of a session's settings, except the deadline. The caller sets the
    deadline, which moves the item in the index of due work or takes it out.
    """
    return settings_places(scope, settings) | {
        "type": text(SETTINGS),
        "base": number(settings.base),
        "body": body(
            user=settings.user,
            agent=settings.agent,
            created_at=settings.created_at,
            system=settings.system,
            system_seq=settings.system_seq,
            memory=settings.memory,
            metadata=settings.metadata,
            retention=settings.retention,
        ),
    }


def settings_places(scope: SessionScope, settings: Settings) -> Attributes:
    """Return the session's places in the lists of its user and of its tenant."""
    return {
        BUCKET: text(bucket_of(scope.owner.user(settings.user))),
        "listed": text(
            listed_as(user=settings.user, created_at=settings.created_at, session=scope.session)
        ),
        OWNER: text(bucket_for(scope.owner, scope.session, among=SESSIONS)),
        "created": text(session_listed_as(created_at=settings.created_at, session=scope.session)),
    }


def settings_of(item: Item) -> Settings:
    values = values_of(item["body"])
    values.setdefault("agent", None)
    return Settings(**values, base=int(item["base"]["N"]), due_at=_due_at(item))


def _due_at(item: Item) -> int | None:
    return int(item["due_at"]["N"]) if "due_at" in item else None


# Messages and compactions have a type and one body.


TRACE = "trace"


def traced(trace: str = "") -> Attributes:
    """Return the attribute with the `traceparent` of the work that writes an item. It is `trace`,
    or else that of the present span. Without either, there is no such attribute.
    """
    traceparent = trace or tracing.current()
    return {TRACE: text(traceparent)} if traceparent else {}


def message_attributes(message: Message) -> Attributes:
    encoding = None if message.encoding == DEFAULT_ENCODING else message.encoding
    return {
        "type": text("message"),
        **traced(),
        "body": _compact(
            seq=message.seq,
            id=message.id,
            turn=message.turn,
            tokens=message.tokens,
            chat=message.chat,
            at=message.created_at,
            encoding=encoding,
            extra=message.extra,
            client_id=message.client_id,
            timestamp=message.timestamp,
            metadata=message.metadata,
            large=message.large and astuple(message.large),
            redacted=message.redacted_at,
            outside=message.is_outside or None,
            hidden=message.hidden or None,
            material=message.is_material or None,
        ),
    }


def counted(tally: Tally) -> dict[str, str]:
    """Return the counts of an append, stored with its newest message. The reader of the stream
    counts usage by them.
    """
    return json_text(
        [tally.user, tally.base, tally.day, tally.messages, tally.message_tokens, tally.bytes]
    )


def _compact(**values: Any) -> dict[str, Any]:
    """Return the same JSON as `body`, but as bytes where these make a smaller request. A request is
    JSON in ASCII, which takes 12 bytes for one emoji. With bytes, 50 messages of 3 MB stay below
    the 4 MB limit of a transaction.
    """
    made = body(**values)
    if len(made["S"]) < LARGE_TEXT:
        return made
    raw = made["S"].encode()
    return made if len(json.dumps(made["S"])) <= len(raw) * 4 // 3 else {"B": raw}


def message_of(item: Item) -> Message:
    values = json.loads(item["body"].get("S") or item["body"]["B"])
    return Message(
        seq=values["seq"],
        id=values["id"],
        turn=values.get("turn", 0),
        tokens=values["tokens"],
        chat=values["chat"],
        created_at=values["at"],
        encoding=values.get("encoding", DEFAULT_ENCODING),
        extra=values.get("extra", {}),
        client_id=values.get("client_id"),
        timestamp=values.get("timestamp"),
        metadata=values.get("metadata", {}),
        large=Large(*values["large"]) if "large" in values else None,
        redacted_at=values.get("redacted"),
        is_outside=values.get("outside", False),
        hidden=tuple((start, end) for start, end in values.get("hidden", ())),
        is_material=values.get("material", False),
    )


def compaction_attributes(compaction: Compaction) -> Attributes:
    return {
        "type": text("compaction"),
        "body": body(
            **{field.name: getattr(compaction, field.name) for field in fields(Compaction)}
        ),
    }


def compaction_of(item: Item) -> Compaction:
    return Compaction(**values_of(item["body"]))


# Idempotency keys are few and small. Conditions compare `last_seq` and `expires_at`.


def key_attributes(key: IdempotencyKey) -> Attributes:
    return {
        "type": text("key"),
        "request": text(key.request),
        "first_seq": number(key.first),
        "last_seq": number(key.last),
        "expires_at": number(key.expires_at),
        # DynamoDB may remove an item days after its `ttl`, so conditions compare `expires_at`.
        "ttl": number(key.expires_at),
    }


def key_of(item: Item) -> IdempotencyKey:
    first, last, expires_at = (
        int(item[name]["N"]) for name in ("first_seq", "last_seq", "expires_at")
    )
    name = item["sk"]["S"].removeprefix(KEYS)
    return IdempotencyKey(
        key=name, request=item["request"]["S"], first=first, last=last, expires_at=expires_at
    )


def call_place(call: KeyedCall) -> tuple[str, str]:
    """Return the partition and the sort key of a call with an idempotency key."""
    return Scope(call.tenant).call_partition(call.name), CALL


def call_attributes(call: KeyedCall) -> Attributes:
    return {
        "type": text(CALL),
        "request": text(call.request),
        "made": json_text(call.made),
        "expires_at": number(call.expires_at),
        "ttl": number(call.expires_at),
        "version": number(call.version + 1),
    }


def call_of(call: KeyedCall, item: Item) -> KeyedCall:
    """Return the call that is stored in the place of this call."""
    expires_at, version = (int(item[name]["N"]) for name in ("expires_at", "version"))
    made = json.loads(item["made"]["S"])
    return replace(
        call, request=item["request"]["S"], made=made, expires_at=expires_at, version=version
    )


# The work of a job never changes. Its state, deadline and outcome do.


def job_attributes(job: Job) -> Attributes:
    """Return the attributes of a new job. The index by owner lists only jobs that were requested,
    not the steps of a job. Raises `DamagedJob`.
    """
    work = body(
        session=job.session,
        first=job.first,
        last=job.last,
        attempt=job.attempt,
        created_at=job.created_at,
        user=job.user,
        epoch=job.epoch,
        parent=job.parent,
        parts=job.parts or None,
        step=job.step or None,
        payload=encoded(job.kind, job.payload),
    )
    attributes: Attributes = {
        "type": text(JOB), "id": text(job.id), "tenant": text(job.tenant), "kind": text(job.kind),
        "work": work, "ttl": number(job.created_at + RETENTION_SECONDS),
    } | job_progress(job)  # fmt: skip
    if job.user is not None and job.parent is None:
        attributes |= {OWNER: text(f"{job.tenant}#{job.user}"), "created": text(job_listed_as(job))}
    attributes |= traced(job.trace)
    if job.stored:
        attributes["stored"] = {"SS": sorted(job.stored)}
    if job.due_at is not None:
        attributes |= {
            "due_shard": text(shard_of(job_partition(job))),
            "due_at": number(job.due_at),
        }
    return attributes


def job_progress(job: Job) -> Attributes:
    """Return the attributes of a job that change, except its deadline."""
    return {
        "state": text(job.state),
        "outcome": body(error=job.error, result=job.result, usage=job.usage),
    }


def failed_place(job: Job) -> dict[str, dict[str, str] | None]:
    """Return a failed job's place in the tenant's list of failed jobs. For any other job, return
    attributes of None, which take it off that list.
    """
    if job.state != "failed":
        return {BUCKET: None, "listed": None}
    bucket = bucket_for(Scope(job.tenant), job.id, among=FAILED)
    return {BUCKET: text(bucket), "listed": text(job_listed_as(job))}


def _count(item: Item, name: str) -> int:
    return int(item[name]["N"]) if name in item else 0


def job_of(item: Item) -> Job:
    work, kind = values_of(item["work"]), item["kind"]["S"]
    return Job(
        id=item["id"]["S"],
        tenant=item["tenant"]["S"],
        kind=kind,
        state=item["state"]["S"],
        due_at=_due_at(item),
        stored=frozenset(item.get("stored", {"SS": ()})["SS"]),
        **values_of(item["outcome"]),
        lost=_count(item, "lost"),
        trace=item.get(TRACE, {"S": ""})["S"],
        tries=_count(item, "tries"),
        spent={
            name[6:]: int(value["N"]) for name, value in item.items() if name.startswith("spent_")
        },
        **{
            **work,
            "parts": tuple(work.get("parts", ())),
            "payload": decoded(kind, work.get("payload", {})),
        },
    )
