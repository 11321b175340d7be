"""The decoder of the records of the tables' streams, which are in DynamoDB's own JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from palimpsest.errors import BadRequest
from palimpsest.jobs.events import (
    Happened,
    JobNotice,
    MessageChanged,
    RecordChanged,
    StreamRecord,
    Unreadable,
)
from palimpsest.jobs.kinds import KIND, KINDS, JobKind
from palimpsest.scope import Scope
from palimpsest.usage import Tally

MESSAGE, RECORD, COMPACTION = "m#", "r#", "c#"
"""The prefixes of the sort keys of messages, long-term records and compactions."""
FAILED = "failed"
_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, BadRequest)


def stream_record(record: Mapping[str, Any]) -> StreamRecord:
    """Decode one record of a stream event. The result has the job that the record inserts, the
    message or long-term record that it writes or removes, the counts stored with a message, and the
    event to publish.

    A job of an unknown kind asks for nothing. It waits in the table for the release that knows it.
    Any other unknown record, or one in a wrong form, becomes `Unreadable`. Nothing is raised.
    """
    try:
        change = record["dynamodb"]
        new, old = change.get("NewImage"), change.get("OldImage")
        owner, name = change["Keys"]["pk"]["S"], change["Keys"]["sk"]["S"]
        decoded = _read(owner, name, new, old)
        trace = (new or {}).get("trace", {}).get("S", "")
    except _DAMAGED:
        return StreamRecord(Unreadable(_name(record)))
    return replace(decoded, trace=trace) if trace else decoded


def _read(
    owner: str, name: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> StreamRecord:
    image = (old if new is None else new) or {}
    match image["type"]["S"]:
        case "job":
            return StreamRecord(
                _job(owner, image["kind"]["S"]) if old is None else None,
                happened=_ended(owner, new, old),
            )
        case "pointer":
            return StreamRecord(happened=_superseded(owner, new, old))
        case "compaction":
            return StreamRecord(happened=_folded(owner, name) if old is None else None)
        case "message" if name.startswith(MESSAGE):
            return _message(owner, name, new, old)
        case "record" if name.startswith(RECORD):
            return _record(owner, name, new, old)
    raise ValueError("the item is of an unknown kind")


def _message(
    owner: str, name: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> StreamRecord:
    tenant, session = owner.split("#")
    # Raises if an id is not valid, so that the record is unreadable.
    Scope(tenant).session(session)
    tally = (
        _tally(tenant, session, new["counted"])
        if new and old is None and "counted" in new
        else None
    )
    return StreamRecord(MessageChanged(tenant, session, int(name.removeprefix(MESSAGE))), tally)


def _tally(tenant: str, session: str, counted: Mapping[str, Any]) -> Tally:
    user, base, day, messages, tokens, size = json.loads(counted["S"])
    return Tally(
        tenant=tenant,
        user=user,
        session=session,
        base=base,
        day=day,
        messages=messages,
        message_tokens=tokens,
        bytes=size,
    )


def _record(
    owner: str, name: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> StreamRecord:
    tenant, user = owner.split("#")
    record = name.removeprefix(RECORD)
    Scope(tenant).user(user)
    ids = {"user_id": user, "memory_id": record}
    event = (
        Happened("MemoryCreated", tenant, ids)
        if old is None
        else Happened("MemoryForgotten", tenant, ids)
    )
    return StreamRecord(
        RecordChanged(tenant, user, record), happened=event if old is None or new is None else None
    )


def _job(owner: str, kind: JobKind) -> JobNotice | None:
    tenant, marker, job = owner.split("#")
    Scope(tenant).job_partition(job)
    if marker != "job" or not KIND.fullmatch(kind):
        raise ValueError("the item is not a job")
    return JobNotice(tenant, job, kind) if kind in KINDS else None


def _ended(
    owner: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> Happened | None:
    if (
        new is None
        or old is None
        # A failed job is also written again later. Only the change to this state is an event.
        or not new.get("state", {}).get("S") == FAILED != old.get("state", {}).get("S")
    ):
        return None
    return Happened(
        "JobFailed", owner.partition("#")[0], {"job_id": new["id"]["S"], "kind": new["kind"]["S"]}
    )


def _superseded(
    owner: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> Happened | None:
    if new is None or old is None:
        return None
    before, after = (json.loads(image["body"]["S"]).get("record") for image in (old, new))
    # A topic that has ended or was deleted has no new value.
    if before is None or after in (None, before):
        return None
    tenant, _, user = owner.partition("#")
    return Happened(
        "MemorySuperseded", tenant, {"user_id": user, "memory_id": before, "superseded_by": after}
    )


def _folded(owner: str, name: str) -> Happened:
    tenant, _, session = owner.partition("#")
    return Happened(
        "CompactionDone", tenant, {"session_id": session, "n": int(name.removeprefix(COMPACTION))}
    )


def _name(record: Mapping[str, Any]) -> str:
    """Return the event id and the item's keys as JSON. They suffice to find the item and hold none
    of its text.
    """
    change = record.get("dynamodb") or {}
    return json.dumps({"event_id": record.get("eventID"), "keys": change.get("Keys")}, default=str)
