"""Turn what the streams show, new jobs and changes of what is searched, into queue messages, and do nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from palimpsest.errors import BadRequest
from palimpsest.jobs.job import JobKind
from palimpsest.jobs.ports import Changed, JobNotice, MessageChanged, Queues, RecordChanged
from palimpsest.scope import Scope

MESSAGE, RECORD = "m#", "r#"
"""How the sort keys of messages and records begin."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    queues: Queues

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Send on what one stream record tells of; park a record that can't be read. Raises `Unavailable`: the stream
        retries.
        """
        told = read(record)
        if told is None:
            change = record.get("dynamodb") or {}
            self.queues.park(json.dumps({"event_id": record.get("eventID"), "keys": change.get("Keys")}, default=str))
        elif isinstance(told, JobNotice):
            self.queues.send([told])
        else:
            self.queues.send_changes([told])


def read(record: Mapping[str, Any]) -> JobNotice | Changed | None:
    """What a stream record (DynamoDB's own JSON) is about: the job that it inserts, or the message or record of a user
    that it writes or removes; None if it makes no sense.
    """
    try:
        change = record["dynamodb"]
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
    except (KeyError, TypeError, ValueError, AttributeError, BadRequest):
        return None
    return None


def _job(owner: str, kind: JobKind) -> JobNotice | None:
    tenant, marker, job = owner.split("#")
    Scope(tenant).job_partition(job)
    return JobNotice(tenant, job, kind) if marker == "job" and kind in get_args(JobKind) else None
