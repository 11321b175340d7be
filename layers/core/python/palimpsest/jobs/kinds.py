"""The list of all kinds of jobs: the payload of each, its queue, and how it is started again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from palimpsest.errors import DamagedJob
from palimpsest.jobs.payloads import (
    NOTHING,
    DamagedPayload,
    ErasePayload,
    ExportPayload,
    FlushPayload,
    ForgetPayload,
    ForgetSessionsPayload,
    ImportPayload,
    Payload,
    ReindexPayload,
    RemovalPayload,
    RetainPayload,
    UploadPayload,
)

TenantJobKind = Literal[
    "summarize",
    "delete",
    "withdraw",
    "redact",
    "take_back",
    "extract",
    "flush",
    "forget",
    "forget_sessions",
    "erase",
    "retain",
    "upload",
    "export",
    "import",
]
JobKind = Literal[TenantJobKind, "reindex"]
"""`reindex` is the operator's: no tenant ever sees such a job."""


Queue = Literal["summarize", "extract", "sweep", "reindex"]
"""Each queue has the name of the function that reads it."""
Family = Literal["overflow", "extraction", "steps", "upload"]
"""Kinds of one family are started again in the same way. Jobs of `steps` do their work step by
step, or in one.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    queue: Queue
    family: Family
    payload: type[Payload] = Payload


KINDS: Mapping[JobKind, Kind] = {
    "summarize": Kind("summarize", "overflow"),
    "flush": Kind("extract", "overflow", FlushPayload),
    "delete": Kind("sweep", "steps", RemovalPayload),
    "withdraw": Kind("sweep", "steps", RemovalPayload),
    "redact": Kind("sweep", "steps"),
    "take_back": Kind("sweep", "steps", RemovalPayload),
    "extract": Kind("extract", "extraction"),
    "forget": Kind("sweep", "steps", ForgetPayload),
    "forget_sessions": Kind("sweep", "steps", ForgetSessionsPayload),
    "erase": Kind("sweep", "steps", ErasePayload),
    "retain": Kind("sweep", "steps", RetainPayload),
    "upload": Kind("sweep", "upload", UploadPayload),
    "export": Kind("sweep", "steps", ExportPayload),
    "import": Kind("sweep", "steps", ImportPayload),
    "reindex": Kind("reindex", "steps", ReindexPayload),
}
assert set(KINDS) == set(get_args(JobKind))  # noqa: S101 - a kind without an entry stops the import


def encoded(kind: JobKind, payload: Payload) -> dict[str, Any]:
    """The payload as a JSON object, without fields at their defaults. Raises `DamagedJob` if it is
    not of the kind's type, or if a value does not have the form of its field: what `decoded` could
    not read is not written.
    """
    if type(payload) is not KINDS[kind].payload:
        raise DamagedJob(f"A job of kind {kind} can't hold a {type(payload).__name__}.")
    values = {
        field.name: (getattr(payload, field.name), field.default) for field in fields(payload)
    }
    stored = {name: value for name, (value, default) in values.items() if value != default}
    if type(decoded(kind, stored)) is DamagedPayload:
        raise DamagedJob(
            f"A value of this {type(payload).__name__} does not have the form of its field."
        )
    return stored


def decoded(kind: JobKind, stored: Mapping[str, Any]) -> Payload:
    """The payload that `encoded` gave; a `DamagedPayload` if it can't be read, or if the kind is
    unknown.
    """
    listed = KINDS.get(kind)
    if listed is None:
        return DamagedPayload()
    try:
        return (
            _adapter(kind).validate_python(stored)
            if stored or listed.payload is not Payload
            else NOTHING
        )
    except ValidationError:
        return DamagedPayload()


@cache
def _adapter(kind: JobKind) -> TypeAdapter[Payload]:
    return TypeAdapter(KINDS[kind].payload)
