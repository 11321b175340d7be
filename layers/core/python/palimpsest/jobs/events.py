"""The contents of queues and streams: notices of jobs, changes of a table, and events. They hold
ids and positions, never a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from palimpsest.jobs.kinds import JobKind
from palimpsest.usage import Tally


@dataclass(frozen=True, slots=True)
class JobNotice:
    """A queue message that names a job. It holds no text of a user. `trace` is the `traceparent` of
    the work that made the job, if that was traced. It is sent as an attribute of the message, not
    in its body.
    """

    tenant: str
    job_id: str
    kind: JobKind
    trace: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RecordChanged:
    """A notice that a record was written, changed or removed, so its search document may be out of
    date.
    """

    tenant: str
    user: str
    record_id: str


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """A notice that a message was appended or removed. The session's head names its user, even
    after the session was deleted.
    """

    tenant: str
    session: str
    seq: int


@dataclass(frozen=True, slots=True)
class Removed:
    """A notice that a redaction or an erasure has removed everything from the tables. Its job ends
    once everything is removed from the index too.
    """

    tenant: str
    job_id: str


Changed = RecordChanged | MessageChanged | Removed


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stream record that cannot be read. `name` is JSON with its event id and the keys of its
    item, and no text.
    """

    name: str


EventName = Literal[
    "MemoryCreated", "MemorySuperseded", "MemoryForgotten", "CompactionDone", "JobFailed"
]


@dataclass(frozen=True, slots=True)
class Happened:
    """An event for subscribers outside the service: its tenant and ids, never text."""

    name: EventName
    tenant: str
    ids: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One decoded record of a table's stream. `asks` is the message to send (None: nothing),
    `tally` the messages that a session received, `happened` the event to publish, and `trace` the
    `traceparent` of the work that wrote the item.
    """

    asks: JobNotice | Changed | Unreadable | None = None
    tally: Tally | None = None
    happened: Happened | None = None
    trace: str = ""
