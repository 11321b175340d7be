"""Speakers, times, grounds and names are stored, exported and imported."""

from typing import Any

from palimpsest.engines.dynamodb.memories.items import record_attributes, record_of, record_sort
from palimpsest.memory.record import Record
from palimpsest.scope import Scope
from palimpsest.transfer.lines import read, values

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import exported, imported

RECORD = Record(
    id="mem_1",
    type="event",
    content="Bob: I'm moving.",
    created_at=1,
    valid_from=1,
    speaker="Bob",
    occurs_at="2026-10-01",
    due_at="2026-10-02",
    time_unit="month",
    rests_on=("mem_2", "mem_3"),
)


def test_a_record_comes_back_from_its_item_with_speaker_times_and_grounds() -> None:
    attributes = record_attributes(Scope("acme").user("sarah"), 0, RECORD)
    item: Any = {"sk": {"S": record_sort(RECORD.id)}, **attributes}
    assert record_of(item) == RECORD


def test_an_item_of_before_has_none_of_them() -> None:
    plain = Record(id="mem_1", type="fact", content="x", created_at=1, valid_from=1)
    attributes = record_attributes(Scope("acme").user("sarah"), 0, plain)
    assert not any(
        name in str(attributes["body"]) for name in ("speaker", "occurs", "rests", "unit")
    )


def test_a_line_of_an_export_has_all_of_them() -> None:
    row = {"kind": "record", **values(RECORD)}
    assert read(Record, row, version=1, index_state="pending") == RECORD


def test_names_speakers_times_and_grounds_survive_an_export_and_an_import(
    service: Service, call: Client
) -> None:
    call("PUT", "/v1/users/sarah", {"name": "Sarah", "aliases": ["sj"]})
    (home,) = call.save("Lives in Hamburg.").json["memories"]
    given = {"type": "task", "content": "Call mum.", "due_at": "2026-02-01", "speaker": "Bob"}
    call.save({**given, "rests_on": [home["id"]]})
    before = call("GET", "/v1/users/sarah/memories").json
    data = exported(service, call)
    assert imported(service, call, data, "/v1/users/mary/import")["conflicts"] == 0
    there = call("GET", "/v1/users/mary/memories").json
    assert {row["content"] for row in there["memories"]} == {
        row["content"] for row in before["memories"]
    }
    (task,) = [row for row in there["memories"] if row["type"] == "task"]
    assert (task["due_at"], task["speaker"], task["rests_on"]) == (
        "2026-02-01",
        "Bob",
        [home["id"]],
    )
    assert call("GET", "/v1/users/mary").json["aliases"] == ["sj"]
