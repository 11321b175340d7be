"""What a record of the tables' streams tells of, read from DynamoDB's own JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from palimpsest.errors import BadRequest
from palimpsest.jobs.kinds import KINDS, JobKind
from palimpsest.jobs.ports import Changed, JobNotice, MessageChanged, RecordChanged, StreamRecord, Unreadable
from palimpsest.scope import Scope

MESSAGE, RECORD = "m#", "r#"
"""The prefixes of the sort keys of messages and of long-term records."""


def stream_record(record: Mapping[str, Any]) -> StreamRecord:
    """Read one record of a stream event.

    Returns the job that it inserts, or the message or long-term record that it writes or removes. A record of any other
    kind, or one that does not have the form of its kind, is `Unreadable`; nothing is raised.
    """
    try:
        found = _read(record["dynamodb"])
    except (KeyError, TypeError, ValueError, AttributeError, BadRequest):
        found = None
    return found or Unreadable(_name(record))


def _read(change: Mapping[str, Any]) -> JobNotice | Changed | None:
    image = change["NewImage"] if "NewImage" in change else change["OldImage"]
    keys = change["Keys"]
    owner, name = keys["pk"]["S"], keys["sk"]["S"]
    match image["type"]["S"]:
        case "job" if "OldImage" not in change:
            return _job(owner, image["kind"]["S"])
        case "message" if name.startswith(MESSAGE):
            tenant, session = owner.split("#")
            Scope(tenant).session(session)
            return MessageChanged(tenant, session, int(name.removeprefix(MESSAGE)))
        case "record" if name.startswith(RECORD):
            tenant, user = owner.split("#")
            Scope(tenant).user(user)
            return RecordChanged(tenant, user, name.removeprefix(RECORD))
    return None


def _job(owner: str, kind: JobKind) -> JobNotice | None:
    tenant, marker, job = owner.split("#")
    Scope(tenant).job_partition(job)
    return JobNotice(tenant, job, kind) if marker == "job" and kind in KINDS else None


def _name(record: Mapping[str, Any]) -> str:
    """The event id and the item's keys, as JSON: enough to find the item, and none of its text."""
    change = record.get("dynamodb") or {}
    return json.dumps({"event_id": record.get("eventID"), "keys": change.get("Keys")}, default=str)
