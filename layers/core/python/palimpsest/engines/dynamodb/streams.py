"""What a record of the tables' streams tells of, read from DynamoDB's own JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from palimpsest.errors import BadRequest
from palimpsest.jobs.kinds import KINDS, JobKind
from palimpsest.jobs.ports import Changed, Happened, JobNotice, MessageChanged, RecordChanged, StreamRecord, Unreadable
from palimpsest.scope import Scope

MESSAGE, RECORD, COMPACTION = "m#", "r#", "c#"
"""The prefixes of the sort keys of messages, long-term records and compactions."""
FAILED = "failed"


def stream_record(record: Mapping[str, Any]) -> StreamRecord:
    """Read one record of a stream event.

    Returns the job that it inserts, or the message or long-term record that it writes or removes; None for what only
    `happened` reads. A record of any other kind, or one that does not have the form of its kind, is `Unreadable`;
    nothing is raised.
    """
    try:
        return _read(record["dynamodb"])
    except (KeyError, TypeError, ValueError, AttributeError, BadRequest):
        return Unreadable(_name(record))


def _read(change: Mapping[str, Any]) -> JobNotice | Changed | None:
    image = change["NewImage"] if "NewImage" in change else change["OldImage"]
    keys = change["Keys"]
    owner, name = keys["pk"]["S"], keys["sk"]["S"]
    match image["type"]["S"]:
        case "job" if "OldImage" not in change:
            return _job(owner, image["kind"]["S"])
        case "job" | "pointer" | "compaction":
            return None
        case "message" if name.startswith(MESSAGE):
            tenant, session = owner.split("#")
            Scope(tenant).session(session)
            return MessageChanged(tenant, session, int(name.removeprefix(MESSAGE)))
        case "record" if name.startswith(RECORD):
            tenant, user = owner.split("#")
            Scope(tenant).user(user)
            return RecordChanged(tenant, user, name.removeprefix(RECORD))
    raise ValueError("an item of another kind")


def _job(owner: str, kind: JobKind) -> JobNotice:
    tenant, marker, job = owner.split("#")
    Scope(tenant).job_partition(job)
    if marker != "job" or kind not in KINDS:
        raise ValueError("no job")
    return JobNotice(tenant, job, kind)


def happened(record: Mapping[str, Any]) -> tuple[Happened, ...]:
    """What a record of a stream event tells of; nothing for most. Nothing is raised."""
    try:
        event = _happened(record["eventName"], record["dynamodb"])
    except (KeyError, TypeError, ValueError, AttributeError, BadRequest):
        return ()
    return () if event is None else (event,)


def _happened(change: str, images: Mapping[str, Any]) -> Happened | None:
    new, old = images.get("NewImage", {}), images.get("OldImage", {})
    owner, name = images["Keys"]["pk"]["S"], images["Keys"]["sk"]["S"]
    tenant, _, whose = owner.partition("#")
    match change, (new or old)["type"]["S"]:
        case "INSERT", "record":
            return Happened("MemoryCreated", tenant, {"user_id": whose, "memory_id": name.removeprefix(RECORD)})
        case "REMOVE", "record":
            return Happened("MemoryForgotten", tenant, {"user_id": whose, "memory_id": name.removeprefix(RECORD)})
        case "MODIFY", "pointer":
            before, after = (json.loads(image["body"]["S"]).get("record") for image in (old, new))
            if before is not None and after not in (None, before):
                ids = {"user_id": whose, "memory_id": before, "superseded_by": after}
                return Happened("MemorySuperseded", tenant, ids)
        case "INSERT", "compaction":
            return Happened("CompactionDone", tenant, {"session_id": whose, "n": int(name.removeprefix(COMPACTION))})
        case "MODIFY", "job" if new["state"]["S"] == FAILED != old["state"]["S"]:
            return Happened("JobFailed", tenant, {"job_id": new["id"]["S"], "kind": new["kind"]["S"]})
    return None


def _name(record: Mapping[str, Any]) -> str:
    """The event id and the item's keys, as JSON: enough to find the item, and none of its text."""
    change = record.get("dynamodb") or {}
    return json.dumps({"event_id": record.get("eventID"), "keys": change.get("Keys")}, default=str)
