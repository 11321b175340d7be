"""What jobs hold besides their range: ids, numbers, digests and places, read back as they were
put.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from palimpsest.conversations.payloads import (
    FlushPayload,
    RemovalPayload,
    RetainPayload,
    UploadPayload,
)
from palimpsest.errors import DamagedJob
from palimpsest.jobs.kinds import KINDS, JobKind
from palimpsest.jobs.payloads import (
    NOTHING,
    DamagedPayload,
    Digest,
    Id,
    NewerPayload,
    Payload,
    Place,
)
from palimpsest.memory.removal.payloads import (
    ErasePayload,
    ForgetPayload,
    ForgetSessionsPayload,
    StoredCondition,
)
from palimpsest.payloads import PAYLOADS, decoded, encoded
from palimpsest.search.payloads import ModelName, ReindexPayload
from palimpsest.transfer.payloads import ExportPayload, ImportPayload

SAMPLES: dict[JobKind, Payload] = {
    "summarize": NOTHING,
    "extract": NOTHING,
    "flush": FlushPayload(messages=4, tokens=120),
    "delete": RemovalPayload(forgets=True, at=1_000),
    "withdraw": RemovalPayload(),
    "redact": NOTHING,
    "take_back": RemovalPayload(at=1_000),
    "forget": ForgetPayload(
        types=("fact", "event"),
        min_importance=0.5,
        metadata=("0" * 32,),
        conditions=(f"gte:{'0' * 32}:{'0' * 16}",),
        after="eyJ",
        forgotten=3,
    ),
    "forget_sessions": ForgetSessionsPayload(
        user="sarah", status="ended", keep_memories=True, before=1
    ),
    "erase": ErasePayload(stage="memories", sessions=2),
    "retain": RetainPayload(
        change="0" * 32, stage="memories", user="sarah", page="mem_0", sessions=2
    ),
    "export": ExportPayload(user="sarah", after="eyJ", place='["eyJ","s",1,4]', lines=3),
    "import": ImportPayload(source="imports/acme/0/", line=2, there=1),
    "upload": UploadPayload(upload="0" * 32),
    "reindex": ReindexPayload(
        phase="messages", within="acme#s", seq=7, model="all-MiniLM-L6-v2 384"
    ),
}
NO_TEXT = (bool, int, float, NoneType, Id, Digest, Place, StoredCondition, ModelName)


def parts_of(annotation: Any) -> Iterator[Any]:
    """What a field's type is made of, without unions and tuples around it."""
    if annotation in NO_TEXT or get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
        return
    for part in get_args(annotation):
        if part is not Ellipsis:
            yield from parts_of(part)


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_can_hold_no_text(kind: JobKind) -> None:
    hints = get_type_hints(PAYLOADS[kind], include_extras=True)
    found = [part for field in fields(PAYLOADS[kind]) for part in parts_of(hints[field.name])]
    assert all(part in NO_TEXT or get_origin(part) is Literal for part in found), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_is_defined_by_the_room_that_does_the_job(kind: JobKind) -> None:
    payload = PAYLOADS[kind]
    assert payload is Payload or not payload.__module__.startswith("palimpsest.jobs")


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_is_read_back_as_it_was_put(kind: JobKind) -> None:
    assert decoded(kind, encoded(kind, SAMPLES[kind])) == SAMPLES[kind]


def test_what_is_at_its_default_is_not_stored() -> None:
    assert encoded("forget", ForgetPayload(session="s")) == {"session": "s"}
    assert encoded("summarize", NOTHING) == {}


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("flush", {}),
        ("flush", {"messages": 1, "tokens": "many"}),
        ("erase", {"stage": "cellar"}),
        ("forget", {"subject": "Sarah's work"}),
        ("forget", {"types": "fact"}),
        ("forget", {"conditions": ["ne:likes tea"]}),
        ("forget_sessions", {"user": "sarah"}),
        ("reindex", {"after": "a place with words"}),
    ],
)
def test_what_makes_no_payload_is_damaged(kind: JobKind, stored: dict[str, object]) -> None:
    assert decoded(kind, stored) == DamagedPayload()


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("transcribe", {}),
        ("forget", {"session": "s", "older_than": 3}),
        ("summarize", {"text": "hello"}),
    ],
)
def test_a_payload_of_a_kind_or_with_a_field_that_is_unknown_is_for_a_newer_release(
    kind: JobKind, stored: dict[str, object]
) -> None:
    assert decoded(kind, stored) == NewerPayload()


@pytest.mark.parametrize(
    "payload", [NewerPayload(), DamagedPayload(), FlushPayload(messages=1, tokens=2), NOTHING]
)
def test_a_job_is_not_stored_with_what_is_not_its_own(payload: Payload) -> None:
    with pytest.raises(DamagedJob):
        encoded("forget", payload)


@pytest.mark.parametrize("place", ["two words", "", "x" * 4097])
def test_what_could_not_be_read_back_is_not_stored(place: str) -> None:
    with pytest.raises(DamagedJob):
        encoded("reindex", ReindexPayload(after=place))
