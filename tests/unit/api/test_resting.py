"""What rests on other memories, through the front door: given, marked, ranked lower, never deleted."""

from dataclasses import replace
from typing import Any

import pytest
from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import Extraction

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

MEMORIES = "/v1/users/sarah/memories"
HOME = {"type": "fact", "content": "Lives in Hamburg.", "topic_key": "residence"}
NOTE = "(may no longer be so: what it rests on has changed)"


def resting(call: Client, *, on: str) -> Any:
    commute = {"type": "fact", "content": "The commute takes 20 minutes.", "rests_on": [on]}
    (row,) = call.save(commute).json["memories"]
    assert (row["rests_on"], row["rests_on_changed"]) == ([on], False)
    return row


def read(call: Client, memory: Any) -> Any:
    return call("GET", f"{MEMORIES}/{memory['id']}").json


@pytest.fixture
def home(call: Client) -> Any:
    return call.save(HOME).json["memories"][0]


def test_a_memory_is_marked_once_its_ground_is_superseded(
    call: Client, service: Service, home: Any
) -> None:
    commute = resting(call, on=home["id"])
    service.time.advance(60)
    call.save({**HOME, "content": "Lives in Bremen."})
    assert read(call, commute)["rests_on_changed"] is True
    assert read(call, commute)["status"] == "current"
    service.time.advance(60)
    call.save(HOME)
    assert read(call, commute)["rests_on_changed"] is False  # the home is what it was


def test_a_memory_is_marked_once_its_ground_is_deleted(call: Client, home: Any) -> None:
    commute = resting(call, on=home["id"])
    call("DELETE", f"{MEMORIES}/{home['id']}")
    assert read(call, commute)["rests_on_changed"] is True


def test_recall_and_contexts_say_it_and_rank_it_lower(
    call: Client, service: Service, home: Any
) -> None:
    resting(call, on=home["id"])
    call.save(
        {"type": "fact", "content": "The commute takes 20 minutes by bike.", "importance": 0.1}
    )
    service.time.advance(60)
    call.save({**HOME, "content": "Lives in Bremen."})
    service.brought_up_to_date()
    asked = {"query": "commute minutes", "format": "context", "filter": {"types": ["fact"]}}
    found = call("POST", "/v1/users/sarah/recall", asked).json
    marks = [row["rests_on_changed"] for row in found["memories"] if "commute" in row["content"]]
    assert marks == [False, True]
    assert f"The commute takes 20 minutes. {NOTE}" in found["context"]
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": "Hi"}]}
    call("POST", "/v1/sessions/new/messages", body)
    context = call("GET", "/v1/sessions/new/context").json
    assert context["extracted_facts"][-1]["rests_on_changed"] is True
    assert f"- The commute takes 20 minutes. {NOTE}" in context["memory_prompt"]


def test_the_grounds_change_by_a_patch(call: Client, home: Any) -> None:
    (row,) = call.save("The commute takes 20 minutes.").json["memories"]
    path = f"{MEMORIES}/{row['id']}"
    assert call("PATCH", path, {"rests_on": [home["id"]]}).json["rests_on"] == [home["id"]]
    assert call("PATCH", path, {"rests_on": []}).json["rests_on"] == []


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_ground_must_be_a_memory_of_the_user(call: Client, home: Any, method: str) -> None:
    call.save(HOME, user="bob")
    unknown = {"rests_on": ["mem_" + "0" * 32]}
    body: Any = (
        unknown
        if method == "PATCH"
        else {"memories": [{"type": "fact", "content": "x", **unknown}]}
    )
    path = f"{MEMORIES}/{home['id']}" if method == "PATCH" else MEMORIES
    answer = call(method, path, body)
    assert answer.status == 422
    assert "rests_on" in answer.json["errors"][0]["field"]
    assert call("GET", MEMORIES).json["memories"] == [call("GET", f"{MEMORIES}/{home['id']}").json]


class Model:
    """An extractor that finds one fact a message: on Mondays where the user lives, else a commute
    that rests on it.
    """

    def capacity(self, *, prompt: str | None) -> int:
        del prompt
        return 1_000

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        del prompt, whole
        return Extraction(tuple(map(self._found, chunk.messages)), chunk.last, "model")

    def _found(self, message: Message) -> Finding:
        text = text_of(message.chat)
        found = Finding("fact", text, (message.seq,), text, importance=0.8)
        if "Lives" in text:
            return replace(found, topic="residence")
        return replace(found, rests_on=("residence",))


def test_a_model_names_the_topic_that_a_fact_rests_on(call: Client, service: Service) -> None:
    service.extractor = Model()
    service.wire_workers()
    service.work_while_waiting()
    for number, text in enumerate(
        ("Lives in Hamburg.", "Needs 20 minutes to work.", "Lives in Bremen.")
    ):
        body = {"messages": [{"role": "user", "content": text}], "session_id": f"s{number}"}
        assert call("POST", "/v1/users/sarah/ingest", {**body, "wait": 5}).json["state"] == "done"
        service.time.advance(60)
    found = {row["content"]: row for row in call("GET", MEMORIES).json["memories"]}
    assert found["Needs 20 minutes to work."]["rests_on_changed"] is True
    assert found["Lives in Bremen."]["rests_on_changed"] is False
