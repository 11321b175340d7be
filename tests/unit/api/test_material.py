"""Messages that only other messages of their session show to be material are marked wherever they
are shown, and answers without a model do not quote them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.mcp.tools import _text
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import exported, imported

PLAY = (
    ["user", "Let's roleplay. I'm a king and I live in a castle."],
    ["assistant", "Sire!"],
    ["user", "I own 40 horses and I live in the north tower."],
)
ANNOUNCED = (
    ["user", "Can you translate a text for me?"],
    ["assistant", "Sure, paste it."],
    ["user", "I live in Kiel and I own a bakery."],
)
JOKE = (["user", "I'm an astronaut on Mars."], ["assistant", "Wow"], ["user", "Just kidding!"])
MATERIAL = [
    (PLAY, 3, "How many horses do I own?"),
    (ANNOUNCED, 3, "Do I own a bakery?"),
    (JOKE, 1, "Am I an astronaut?"),
]
each = pytest.mark.parametrize(("said", "seq", "question"), MATERIAL)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = Service(tmp_path)
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.work_while_waiting()
    return service


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def send(service: Service, call: Client, *said: list[str]) -> None:
    messages = [{"role": role, "content": content} for role, content in said]
    answer = call("POST", "/v1/sessions/talk/messages", {"user_id": "sarah", "messages": messages})
    assert answer.status == 201
    call("POST", "/v1/sessions/talk/extract")
    service.drain()
    service.brought_up_to_date()


LEDGERS = [
    (
        ["Translate this: 'I live in Kiel.' By the way, I live in Bonn."],
        {"extracted": 1, "reasons": {}, "withheld": {"request": 1}},
    ),
    (
        ["Let's roleplay. I am a king."],
        {"extracted": 0, "reasons": {"material": 1}, "withheld": {"play": 1}},
    ),
    (
        ["My wifi password is Xylophone77. I live in Leeds."],
        {"extracted": 1, "reasons": {}, "withheld": {"secret": 1}},
    ),
    (["I live in Leeds."], {"extracted": 1, "reasons": {}, "withheld": {}}),
]


@pytest.mark.parametrize(("said", "expected"), LEDGERS)
def test_the_ledger_says_why_parts_of_a_message_were_withheld(
    call: Client, said: list[str], expected: dict[str, Any]
) -> None:
    messages = [{"role": "user", "content": content} for content in said]
    made = call("POST", "/v1/users/sarah/ingest", {"messages": messages, "wait": 10}).json
    ledger = call("GET", f"/v1/jobs/{made['job_id']}").json["ledger"]
    assert {name: ledger[name] for name in expected} == expected
    assert ledger["dropped"] == {}
    assert ledger["received"] == ledger["extracted"] + ledger["skipped"] + ledger["parked"]


def marks(call: Client) -> dict[str, Any]:
    page = call("GET", "/v1/sessions/talk/messages").json
    return {row["content"]: row.get("material", False) for row in page["messages"]}


def asked(call: Client, question: str) -> dict[str, Any]:
    body = {"query": question, "answer": True, "format": "context", "k": 5}
    answer: dict[str, Any] = call("POST", "/v1/users/sarah/recall", body).json
    return answer


@each
def test_material_by_the_session_is_marked_and_answers_nothing(
    service: Service, call: Client, said: tuple[list[str], ...], seq: int, question: str
) -> None:
    send(service, call, *said)
    content = said[seq - 1][1]
    assert marks(call)[content] is True
    answer = asked(call, question)
    assert {row["content"]: row["material"] for row in answer["memories"]}[content] is True
    assert answer["answer"] == ""
    assert f"(material, not testimony): {content}" in answer["context"]
    assert content in _text(answer)
    assert "material, not testimony" in _text(answer)


@each
def test_a_context_marks_it_too(
    service: Service, call: Client, said: tuple[list[str], ...], seq: int, question: str
) -> None:
    send(service, call, *said)
    memory = {"blocks": [{"type": "vector", "min_score": 0.0}]}
    call("PUT", "/v1/sessions/new", {"user_id": "sarah", "memory": memory})
    call.append("new", "Hello.", memory=memory)
    context = call("POST", "/v1/sessions/new/context", {"message": question}).json
    content = said[seq - 1][1]
    shown = {row["content"]: row["material"] for row in context["vector_matches"]}
    assert shown[content] is True
    assert f"{content} (material, not testimony)" in str(context["memory_prompt"])


def test_a_session_that_is_extracted_in_parts_is_marked_as_one_that_is_read_at_once(
    service: Service, call: Client
) -> None:
    for line in (*PLAY, ["user", "Back to reality. I live in Leeds."], *JOKE):
        send(service, call, line)
    assert marks(call) == {
        PLAY[0][1]: True,
        "Sire!": True,
        PLAY[2][1]: True,
        "Back to reality. I live in Leeds.": False,
        JOKE[0][1]: True,
        "Wow": False,
        JOKE[2][1]: True,
    }


def test_the_mark_is_exported_and_imported(service: Service, call: Client) -> None:
    send(service, call, *PLAY)
    before, text = marks(call), exported(service, call)
    assert call("DELETE", "/v1/users/sarah").status == 202
    service.drain()
    service.time.advance(1)
    assert imported(service, call, text)["conflicts"] == 0
    assert marks(call) == before


def test_own_words_of_the_same_session_are_not_marked(service: Service, call: Client) -> None:
    send(service, call, ["user", "I live in Leeds."], *PLAY)
    assert marks(call)["I live in Leeds."] is False
    assert "Leeds" in asked(call, "Where do I live?")["answer"]


def test_a_joke_that_is_taken_back_after_its_extraction_is_no_memory_any_more(
    service: Service, call: Client
) -> None:
    send(service, call, ["user", "I live in Leeds."])
    send(service, call, JOKE[0])
    send(service, call, JOKE[1], JOKE[2])
    service.drain()
    memories = call("GET", "/v1/users/sarah/memories").json["memories"]
    assert [memory["content"] for memory in memories] == ["I live in Leeds."]
    assert "astronaut" not in asked(call, "Am I an astronaut?")["answer"]
    service.time.advance(24 * 3600)
    send(service, call, ["user", "I'm an astronaut on Mars."])
    memories = call("GET", "/v1/users/sarah/memories").json["memories"]
    assert len(memories) == 2
