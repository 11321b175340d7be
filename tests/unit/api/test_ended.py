"""What the user said holds no longer: found and marked, and current nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.api.test_mcp import used
from tests.unit.transfer.files import exported, imported

SARAH = "/v1/users/sarah"


@pytest.fixture
def told(call: Client, service: Service) -> Any:
    """Ingests each text, in a session of its own, a day after the one before."""
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.work_while_waiting()

    def tell(*texts: str) -> None:
        for text in texts:
            body = {"messages": [{"role": "user", "content": text}], "wait": 5}
            assert call("POST", f"{SARAH}/ingest", body).json["state"] == "done"
            service.time.advance(24 * 3600)
        service.brought_up_to_date()

    return tell


def memories(call: Client, query: str, **asked: Any) -> list[Any]:
    body = {"query": query, **asked}
    return list(call("POST", f"{SARAH}/recall", body).json["memories"])


def record(rows: list[Any]) -> Any:
    (row,) = [row for row in rows if row["type"] != "message"]
    return row


@pytest.mark.parametrize(
    ("said", "question"),
    [
        (("I live in Hamburg.", "I don't live in Hamburg any more."), "Where does she live?"),
        (("I work at Globex.", "I quit."), "Where do I work?"),
        (("I drive a red Fiat Panda.", "I sold the car."), "Which car do I drive?"),
        (("I'm vegan.", "I'm no longer vegan."), "Am I vegan?"),
        (("Ich wohne in Mainz.", "Ich wohne nicht mehr in Mainz."), "Wo wohne ich?"),
        (("J'habite à Lille.", "Je n'habite plus à Lille."), "Où est-ce que j'habite ?"),
        (("Vivo en Granada.", "Ya no vivo en Granada."), "¿Dónde vivo?"),
    ],
)
def test_recall_says_that_a_topic_has_ended_and_on_which_day(
    call: Client, told: Any, service: Service, said: tuple[str, str], question: str
) -> None:
    before, end = said
    told(before)
    day = service.time.now().date().isoformat()
    told(end)
    row = record(memories(call, question))
    assert (row["content"], row["ended"], row["valid_to"][:10]) == (before, True, day)
    assert row["when"] == f"ended {day}"


def test_answers_and_texts_say_it(call: Client, told: Any, service: Service) -> None:
    told("I live in Hamburg.")
    day = service.time.now().date().isoformat()
    told("I don't live in Hamburg any more.")
    line = f"I live in Hamburg. (ended {day})"
    asked = {"query": "Where does she live?", "answer": True, "format": "context"}
    answer = call("POST", f"{SARAH}/recall", asked).json
    assert line in answer["answer"]
    assert line in answer["context"]


def test_a_tool_over_mcp_says_it(call: Client, told: Any, service: Service) -> None:
    told("I live in Hamburg.")
    day = service.time.now().date().isoformat()
    told("I don't live in Hamburg any more.")
    result = used(call, "recall", query="Where does she live?")
    (line,) = [line for line in result["content"][0]["text"].splitlines() if "I live in" in line]
    assert f"fact, ended {day}" in line


def test_what_has_ended_is_current_nowhere(call: Client, told: Any) -> None:
    told("I live in Hamburg.", "I have a dog.", "I don't live in Hamburg any more.")
    listed = call("GET", f"{SARAH}/memories").json["memories"]
    assert [row["content"] for row in listed] == ["I have a dog."]
    past = call("GET", f"{SARAH}/memories", query={"status": "superseded"}).json["memories"]
    (ended,) = [row for row in past if "Hamburg" in row["content"]]
    assert (ended["content"], ended["ended"]) == ("I live in Hamburg.", True)
    assert ended["valid_to"] is not None
    assert "Hamburg" not in call("GET", f"{SARAH}/profile").text


def test_a_context_shows_it_only_to_a_message_that_speaks_of_it(
    call: Client, told: Any, service: Service
) -> None:
    told("I live in Hamburg.")
    day = service.time.now().date().isoformat()
    told("I don't live in Hamburg any more.", "I have a dog called Rex.")
    for session, text in (("one", "What is my dog called?"), ("two", "Where do I live?")):
        body = {"user_id": "sarah", "messages": [{"role": "user", "content": text}]}
        assert call("POST", f"/v1/sessions/{session}/messages", body).status == 201
    other = call("GET", "/v1/sessions/one/context").json
    assert "Hamburg" not in str(other["extracted_facts"])
    asked = call("GET", "/v1/sessions/two/context").json
    (fact,) = [row for row in asked["extracted_facts"] if "Hamburg" in row["content"]]
    assert (fact["ended"], fact["valid_to"][:10]) == (True, day)
    assert f"I live in Hamburg. (ended {day})" in str(asked["messages"])


def test_it_ranks_below_what_holds(call: Client, told: Any) -> None:
    told("I have a gym membership.", "I cancelled the gym.", "I have a library membership.")
    found = [row for row in memories(call, "membership") if row["type"] != "message"]
    assert [row["ended"] for row in found] == [False, True]


def test_the_message_that_said_it_is_marked(call: Client, told: Any) -> None:
    told(
        "I live in Hamburg. Can you name all bridges across the river that trams may use?",
        "I don't live in Hamburg any more.",
    )
    rows = memories(call, "Where does she live?")
    (said,) = [row for row in rows if "bridges" in row["content"]]
    assert said["outdated_by"] == record(rows)["id"]


def test_a_new_value_takes_its_place(call: Client, told: Any) -> None:
    told("I live in Hamburg.", "I don't live in Hamburg any more.", "I live in Bremen.")
    row = record(memories(call, "Where does she live?"))
    assert (row["content"], row["ended"], row["valid_to"]) == ("I live in Bremen.", False, None)


def test_a_deleted_value_is_none_that_has_ended(call: Client, told: Any) -> None:
    told("I live in Kiel.", "I live in Hamburg.", "I don't live in Hamburg any more.")
    ended = record(memories(call, "Where does she live?"))
    assert call("DELETE", f"{SARAH}/memories/{ended['id']}").status == 200
    told()
    found = memories(call, "Where does she live?")
    assert [row["content"] for row in found if row["type"] != "message"] == []


def test_a_recall_of_a_moment_knows_what_had_ended_by_then(
    call: Client, told: Any, service: Service
) -> None:
    told("I live in Hamburg.")
    before = service.time.now().isoformat()
    service.time.advance(60)
    told("I don't live in Hamburg any more.")
    service.time.advance(24 * 3600)
    after = service.time.now().isoformat()
    then = record(memories(call, "Where does she live?", as_of=before))
    since = record(memories(call, "Where does she live?", as_of=after))
    assert (then["ended"], since["ended"]) == (False, True)


def test_an_import_keeps_what_has_ended(call: Client, told: Any, service: Service) -> None:
    told("I live in Hamburg.", "I don't live in Hamburg any more.")
    before = record(memories(call, "Where does she live?"))
    text = exported(service, call)
    assert call("DELETE", SARAH).status == 202
    service.drain()
    imported(service, call, text)
    service.brought_up_to_date()
    after = record(memories(call, "Where does she live?"))
    assert (after["ended"], after["valid_to"]) == (True, before["valid_to"])
