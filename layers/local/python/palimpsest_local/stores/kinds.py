"""The kinds of records that the stores of one machine keep."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from typing import Any

from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Compaction, Head, IdempotencyKey, Settings
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.events import MessageChanged, RecordChanged, Removed
from palimpsest.jobs.job import Job
from palimpsest.jobs.payloads import NOTHING
from palimpsest.memory.burials import Burial
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import ChunkLine, Pointer, Progress, Reminder, Tombstone
from palimpsest.memory.record import Order, Record, UserState
from palimpsest.payloads import decoded, encoded
from palimpsest.tenants.ports import StaticFact
from palimpsest.usage import Row
from palimpsest.vectors.ports import Namespace, StoredVector

from palimpsest_local.stores.shelves import Kind

Pair = tuple[str, str]
NumberedChange = tuple[int, MessageChanged | RecordChanged | Removed]
HeadForm = tuple[Head, str]
"""A head without its open calls, and the open calls in Base64."""
JobForm = tuple[Job, dict[str, Any]]
"""A job without its payload, and the payload as a JSON object."""
Topic = tuple[str, Order]


def _text_of(data: bytes) -> str:
    return b64encode(data).decode()


def _form_of_head(head: Head) -> HeadForm:
    return replace(head, open_calls=b""), _text_of(head.open_calls)


def _head_of(form: HeadForm) -> Head:
    head, open_calls = form
    return replace(head, open_calls=b64decode(open_calls))


def _form_of(job: Job) -> JobForm:
    return replace(job, payload=NOTHING), encoded(job.kind, job.payload)


def _job_of(form: JobForm) -> Job:
    job, payload = form
    return replace(job, payload=decoded(job.kind, payload))


JOBS: Kind[str, Job] = Kind("job", str, JobForm, _form_of, _job_of)
HEADS: Kind[str, Head] = Kind("head", str, HeadForm, _form_of_head, _head_of)
SETTINGS: Kind[str, Settings] = Kind("settings", str, Settings)
MESSAGES: Kind[int, Message] = Kind("message", int, Message)
COMPACTIONS: Kind[int, Compaction] = Kind("compaction", int, Compaction)
KEYS: Kind[str, IdempotencyKey] = Kind("key", str, IdempotencyKey)
CALLS: Kind[Pair, KeyedCall] = Kind("call", Pair, KeyedCall)
CHANGES: Kind[int, NumberedChange] = Kind("change", int, NumberedChange)
USAGE: Kind[Pair, Row] = Kind("usage", Pair, Row)
BLOBS: Kind[str, bytes] = Kind("blob", str, str, _text_of, b64decode)
FACTS: Kind[str, StaticFact] = Kind("fact", str, StaticFact)
FACTS_VERSIONS: Kind[str, int] = Kind("facts version", str, int)

USERS: Kind[Pair, bool] = Kind("listed user", Pair, bool)
EPOCHS: Kind[Pair, int] = Kind("epoch", Pair, int)
STATES: Kind[Pair, UserState] = Kind("user", Pair, UserState)
CURRENT: Kind[Pair, int] = Kind("current", Pair, int)
WALKS: Kind[Pair, Walk] = Kind("walk", Pair, Walk)
REMINDERS: Kind[str, Reminder] = Kind("reminder", str, Reminder)

RECORDS: Kind[str, Record] = Kind("record", str, Record)
POINTERS: Kind[str, Pointer] = Kind("pointer", str, Pointer)
PLACES: Kind[Topic, Record] = Kind("place", Topic, Record)
MARKS: Kind[str, Tombstone] = Kind("mark", str, Tombstone)
BURIALS: Kind[str, Burial] = Kind("burial", str, Burial)
USES: Kind[str, tuple[int, int]] = Kind("use", str, tuple[int, int])
PROGRESS: Kind[str, Progress] = Kind("progress", str, Progress)
LINES: Kind[tuple[str, int], ChunkLine] = Kind("line", tuple[str, int], ChunkLine)
NAMESPACES: Kind[str, Namespace] = Kind("namespace", str, Namespace)
VECTORS: Kind[tuple[str, int, str], StoredVector] = Kind(
    "vector", tuple[str, int, str], StoredVector
)

OF_AN_ERA: tuple[Kind[Any, Any], ...] = (
    RECORDS,
    POINTERS,
    PLACES,
    MARKS,
    USES,
    PROGRESS,
    LINES,
    NAMESPACES,
    VECTORS,
    BURIALS,
)
"""The kinds of records of one epoch of a user. Erasing a user removes them."""
