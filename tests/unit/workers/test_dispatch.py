"""What the streams show becomes queue messages that hold names alone; what can't be read is set
aside.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, get_args

import pytest
from palimpsest.engines.dynamodb.streams import stream_record
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Happened, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.kinds import JobKind
from palimpsest.workers.dispatch import Dispatch, read_event
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalUsages

from tests.doubles.queues import InMemoryQueues

TEXT = "I moved to Lisbon."
MESSAGE = {"type": "message", "body": TEXT}
RECORD = {"type": "record", "index_state": "pending", "body": TEXT}


def shown(
    owner: str, name: str, *, new: dict[str, str] | None = None, old: dict[str, str] | None = None
) -> Any:
    """A stream record: what became of one item."""
    key = {"pk": {"S": owner}, "sk": {"S": name}}
    images = {"NewImage": new, "OldImage": old}
    told = {side: {**key, **_typed(image)} for side, image in images.items() if image is not None}
    event = "INSERT" if old is None else "MODIFY" if new is not None else "REMOVE"
    return {"eventID": "7", "eventName": event, "dynamodb": {"Keys": key, **told}}


def _typed(image: dict[str, str]) -> dict[str, Any]:
    return {name: {"S": value} for name, value in image.items()}


def dispatched(record: Any) -> InMemoryQueues:
    queues = InMemoryQueues()
    Dispatch(queues, stream_record, queues, LocalUsages(State()))(record)
    return queues


@pytest.mark.parametrize("kind", get_args(JobKind))
def test_a_new_job_is_sent_on_by_its_name(kind: JobKind) -> None:
    queues = dispatched(shown("acme#job#job_1", "job", new={"type": "job", "kind": kind}))
    assert queues.sent == [JobNotice("acme", "job_1", kind)]
    assert (queues.changes, queues.parked) == ([], [])


@pytest.mark.parametrize(
    "images", [{"new": MESSAGE}, {"old": MESSAGE}], ids=["appended", "removed"]
)
def test_a_message_that_came_or_went_is_named_for_the_index(images: Any) -> None:
    queues = dispatched(shown("acme#onboarding-7", "m#000000000012", **images))
    assert queues.changes == [MessageChanged("acme", "onboarding-7", 12)]
    assert (queues.sent, queues.parked) == ([], [])


@pytest.mark.parametrize(
    "images",
    [{"new": RECORD}, {"old": RECORD, "new": RECORD}, {"old": RECORD}],
    ids=["written", "changed", "removed"],
)
def test_a_record_that_was_written_or_removed_is_named_for_the_index(images: Any) -> None:
    queues = dispatched(shown("acme#sarah", "r#mem_1", **images))
    assert queues.changes == [RecordChanged("acme", "sarah", "mem_1")]


@pytest.mark.parametrize(
    ("owner", "name", "image"),
    [
        ("acme", "job", {"type": "job", "kind": "summarize"}),
        ("acme#s", "job", {"type": "job", "kind": "summarize"}),
        ("a#b#c#d", "job", {"type": "job", "kind": "summarize"}),
        ("acme#job#..", "job", {"type": "job", "kind": "summarize"}),
        ("acme#job#job_1", "job", {"type": "job", "kind": "rm -rf"}),
        ("acme#job#job_1", "job", {"type": "job"}),
        ("acme#s", "m#twelve", MESSAGE),
        ("acme#s", "c#000000000012", MESSAGE),
        ("acme#..", "m#000000000012", MESSAGE),
        ("acme", "m#000000000012", MESSAGE),
        ("acme#a#b", "r#mem_1", RECORD),
        ("acme#../b", "r#mem_1", RECORD),
        ("acme#sarah", "t#mem_1", RECORD),
        ("acme#sarah", "head", {"type": "head"}),
        ("acme#sarah", "head", {}),
    ],
)
def test_what_makes_no_sense_is_parked_by_its_keys_alone(
    owner: str, name: str, image: dict[str, str]
) -> None:
    queues = dispatched(shown(owner, name, new={**image, "body": TEXT}))
    assert (queues.sent, queues.changes) == ([], [])
    (parked,) = queues.parked
    assert json.loads(parked) == {"event_id": "7", "keys": {"pk": {"S": owner}, "sk": {"S": name}}}


def test_a_job_of_a_kind_that_a_newer_release_made_stays_in_the_table() -> None:
    queues = dispatched(shown("acme#job#job_1", "job", new={"type": "job", "kind": "transcribe"}))
    assert (queues.sent, queues.changes, queues.parked) == ([], [], [])


def test_a_job_that_was_only_moved_on_starts_nothing() -> None:
    job = {"type": "job", "kind": "summarize"}
    assert dispatched(shown("acme#job#job_1", "job", new=job, old=job)).sent == []
    assert dispatched(shown("acme#job#job_1", "job", old=job)).sent == []


def test_queues_that_are_down_are_said_so_that_the_stream_comes_again() -> None:
    queues = InMemoryQueues()
    queues.is_down = True
    for record in (
        shown("acme#s", "m#000000000001", new=MESSAGE),
        shown("acme#sarah", "head", new={"type": "head"}),
    ):
        with pytest.raises(Unavailable):
            Dispatch(queues, stream_record, queues, LocalUsages(State()))(record)
    assert queues.changes == []


def pointer(record: str | None) -> dict[str, str]:
    return {
        "type": "pointer",
        "body": json.dumps({"record": record, "order": [1, "s", 1, 0, "mem_1"]}),
    }


def job(state: str) -> dict[str, str]:
    return {"type": "job", "kind": "extract", "id": "job_1", "state": state}


MEMORY = {"user_id": "sarah", "memory_id": "mem_1"}


@pytest.mark.parametrize(
    ("record", "event"),
    [
        (shown("acme#sarah", "r#mem_1", new=RECORD), Happened("MemoryCreated", "acme", MEMORY)),
        (shown("acme#sarah", "r#mem_1", old=RECORD), Happened("MemoryForgotten", "acme", MEMORY)),
        (
            shown("acme#sarah", "t#employer", old=pointer("mem_1"), new=pointer("mem_2")),
            Happened("MemorySuperseded", "acme", MEMORY | {"superseded_by": "mem_2"}),
        ),
        (
            shown("acme#s", "c#000000000012", new={"type": "compaction", "body": TEXT}),
            Happened("CompactionDone", "acme", {"session_id": "s", "n": 12}),
        ),
        (
            shown("acme#job#job_1", "job", old=job("running"), new=job("failed")),
            Happened("JobFailed", "acme", {"job_id": "job_1", "kind": "extract"}),
        ),
    ],
)
def test_what_happened_is_published_by_its_ids_alone(record: Any, event: Happened) -> None:
    queues = dispatched(record)
    assert (queues.published, queues.parked, queues.sent) == ([event], [], [])
    assert TEXT not in repr(queues.published)
    assert len(queues.changes) == (event.name in {"MemoryCreated", "MemoryForgotten"})


@pytest.mark.parametrize(
    "record",
    [
        shown("acme#sarah", "r#mem_1", old=RECORD, new=RECORD),
        shown("acme#sarah", "t#employer", new=pointer("mem_1")),
        shown("acme#sarah", "t#employer", old=pointer("mem_1"), new=pointer("mem_1")),
        shown("acme#sarah", "t#employer", old=pointer("mem_1"), new=pointer(None)),
        shown("acme#job#job_1", "job", old=job("failed"), new=job("failed")),
        shown("acme#s", "m#000000000012", new=MESSAGE),
    ],
)
def test_nothing_else_is_published(record: Any) -> None:
    assert dispatched(record).published == []


def test_without_a_search_index_only_events_leave() -> None:
    queues = InMemoryQueues()
    Dispatch(queues, stream_record, queues, LocalUsages(State()), indexes=False)(
        shown("acme#sarah", "r#mem_1", new=RECORD)
    )
    assert (len(queues.published), queues.changes, queues.parked) == (1, [], [])


def test_what_a_bus_that_is_down_does_not_take_is_published_later_and_holds_nothing_up() -> None:
    queues, bus = InMemoryQueues(), InMemoryQueues()
    bus.is_down = True
    dispatch = Dispatch(queues, stream_record, bus, LocalUsages(State()))
    dispatch(shown("acme#sarah", "r#mem_1", new=RECORD))
    assert queues.changes == [RecordChanged("acme", "sarah", "mem_1")]
    assert queues.events == [Happened("MemoryCreated", "acme", MEMORY)]
    body = json.dumps(asdict(queues.events[0]))
    with pytest.raises(Unavailable):
        dispatch.publish(body)
    bus.is_down = False
    dispatch.publish(body)
    assert bus.published == queues.events


def test_where_neither_bus_nor_queue_takes_an_event_the_stream_comes_again() -> None:
    queues = InMemoryQueues()
    queues.is_down = True
    with pytest.raises(Unavailable):
        Dispatch(queues, stream_record, queues, LocalUsages(State()))(
            shown("acme#sarah", "t#employer", old=pointer("mem_1"), new=pointer("mem_2"))
        )


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"name": "Other", "tenant": "acme", "ids": {}}'])
def test_a_message_that_names_no_event_is_none(body: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_event(body)
