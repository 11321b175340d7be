"""Contents of queues and streams: notices of jobs, changes of a table, and events. It is ids and
places, never a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from palimpsest.jobs.kinds import JobKind
from palimpsest.usage import Tally


@dataclass(frozen=True, slots=True)
class JobNotice:
    """A queue message that names a job. It holds no text of the user."""

    tenant: str
    job_id: str
    kind: JobKind


@dataclass(frozen=True, slots=True)
class RecordChanged:
    """A record was written, changed or removed: its search document may be out of date."""

    tenant: str
    user: str
    record_id: str


@dataclass(frozen=True, slots=True)
class MessageChanged:
    """A message was appended or removed. The session's head names its user, even after the session
    was deleted.
    """

    tenant: str
    session: str
    seq: int


@dataclass(frozen=True, slots=True)
class Removed:
    """The tables no longer hold anything that a redaction or an erasure removes. Once the index
    holds nothing of it either, the job has ended.
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
    """Something that others may want to know: its tenant and ids, never text."""

    name: EventName
    tenant: str
    ids: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One record of a table's stream, decoded: what is to be sent (None: nothing), what a session
    has taken in, and what has happened.
    """

    asks: JobNotice | Changed | Unreadable | None = None
    tally: Tally | None = None
    happened: Happened | None = None
