"""The type of the payload of each kind of job. The package that does a kind of job defines the
type. Stores of jobs write and read payloads by this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from palimpsest.conversations.payloads import (
    FlushPayload,
    RemovalPayload,
    RetainPayload,
    UploadPayload,
)
from palimpsest.errors import DamagedJob
from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.payloads import NewerPayload, Payload, as_stored, from_stored
from palimpsest.memory.removal.payloads import ErasePayload, ForgetPayload, ForgetSessionsPayload
from palimpsest.search.payloads import ReindexPayload
from palimpsest.transfer.payloads import ExportPayload, ImportPayload

PAYLOADS: Mapping[JobKind, type[Payload]] = {
    "summarize": Payload,
    "flush": FlushPayload,
    "delete": RemovalPayload,
    "withdraw": RemovalPayload,
    "redact": Payload,
    "take_back": RemovalPayload,
    "extract": Payload,
    "forget": ForgetPayload,
    "forget_sessions": ForgetSessionsPayload,
    "erase": ErasePayload,
    "retain": RetainPayload,
    "upload": UploadPayload,
    "export": ExportPayload,
    "import": ImportPayload,
    "reindex": ReindexPayload,
}
assert set(PAYLOADS) == set(get_args(JobKind))  # noqa: S101 - a kind without one stops the import


def encoded(kind: JobKind, payload: Payload) -> dict[str, Any]:
    """Return the payload as a JSON object, without fields at their defaults. Raises `DamagedJob` if
    it is not of the kind's type, or if a field has a value of the wrong form.
    """
    if type(payload) is not PAYLOADS[kind]:
        raise DamagedJob(f"A job of kind {kind} can't hold a {type(payload).__name__}.")
    return as_stored(payload)


def decoded(kind: JobKind, stored: Mapping[str, Any]) -> Payload:
    """Return the payload from the JSON object that `encoded` made. Returns a `NewerPayload` if the
    kind or a field is unknown, and a `DamagedPayload` if the object can't be read.
    """
    expected = PAYLOADS.get(kind)
    return NewerPayload() if expected is None else from_stored(stored, expected=expected)
