"""Whole transcripts through the front door: stored as they are, once, and extracted by a job."""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

INGEST = "/v1/users/sarah/ingest"


def transcript(*texts: str) -> list[dict[str, Any]]:
    """A question and its answer in turn."""
    return [
        {"role": ("user", "assistant")[number % 2], "content": text}
        for number, text in enumerate(texts)
    ]


def ingest(call: Client, *texts: str, user: str = "sarah", **more: Any) -> Answer:
    return call("POST", f"/v1/users/{user}/ingest", {"messages": transcript(*texts), **more})


def history(call: Client, session: str) -> list[str]:
    return [
        row["content"] for row in call("GET", f"/v1/sessions/{session}/messages").json["messages"]
    ]


def test_a_transcript_is_stored_as_it_is_and_extracted(call: Client, service: Service) -> None:
    service.work_while_waiting()
    answer = ingest(
        call,
        "fact: likes tea",
        "noted",
        "fact: works at A",
        session_id="talk",
        agent_id="hr",
        wait=5,
    )
    assert answer.status == 200
    job = answer.json
    assert (job["session_id"], job["created"], job["appended"]) == ("talk", True, 3)
    assert (job["kind"], job["state"], job["ledger"]["received"]) == ("extract", "done", 3)
    assert history(call, "talk") == ["fact: likes tea", "noted", "fact: works at A"]
    assert call("GET", "/v1/sessions/talk").json["agent_id"] == "hr"
    assert call("GET", "/v1/users/sarah").json["memories"]["fact"] == 2


def test_without_a_wait_the_job_is_named(call: Client, service: Service) -> None:
    answer = ingest(call, "fact: likes tea", session_id="talk")
    assert (answer.status, answer.json["state"], answer.json["appended"]) == (202, "pending", 1)
    service.drain()
    assert call("GET", answer.headers["Location"]).json["ledger"]["extracted"] == 1


def test_a_transcript_that_has_grown_adds_what_is_new(call: Client, service: Service) -> None:
    ingest(call, "fact: likes tea", "noted", session_id="talk")
    again = ingest(call, "fact: likes tea", "noted", "fact: works at A", session_id="talk")
    assert (again.json["created"], again.json["appended"]) == (False, 1)
    shorter = ingest(call, "fact: likes tea", session_id="talk")
    assert shorter.json["appended"] == 0
    service.drain()
    assert history(call, "talk") == ["fact: likes tea", "noted", "fact: works at A"]
    assert call("GET", "/v1/users/sarah").json["memories"]["fact"] == 2


def test_a_transcript_is_sent_in_parts_each_behind_the_one_before(call: Client) -> None:
    first = ingest(call, "one", "two", session_id="talk").json
    assert first["last_seq"] == 2
    for appended in (2, 0):
        second = ingest(call, "three", "four", session_id="talk", after=2).json
        assert (second["appended"], second["last_seq"]) == (appended, 4)
    assert ingest(call, "one", "two", session_id="talk").json["last_seq"] == 2
    assert history(call, "talk") == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("after", "texts"), [(2, ["3", "four"]), (1, ["three"]), (9, ["three"]), (4, ["three"])]
)
def test_a_part_that_does_not_follow_what_is_stored_is_refused(
    call: Client, after: int, texts: list[str]
) -> None:
    ingest(call, "one", "two", "three", "four", session_id="talk")
    call("DELETE", "/v1/sessions/talk/messages", query={"from": "4"})
    refused = ingest(call, *texts, session_id="talk", after=after)
    assert (refused.status, refused.json["code"]) == (409, "transcript_diverged")
    assert ingest(call, "four", session_id="gone", after=3).json["code"] == "transcript_diverged"
    assert ingest(call, "four", after=3).status == 422
    assert history(call, "talk") == ["one", "two", "three"]


def test_without_a_session_the_beginning_of_the_transcript_names_it(call: Client) -> None:
    first = ingest(call, "fact: likes tea", "noted").json
    assert ingest(call, "fact: likes tea", "noted").json["session_id"] == first["session_id"]
    assert (
        ingest(call, "fact: likes tea", "noted", user="bob").json["session_id"]
        != first["session_id"]
    )
    assert ingest(call, "fact: likes tea").json["session_id"] == first["session_id"]
    assert ingest(call, "fact: likes jazz", "noted").json["session_id"] != first["session_id"]


def test_a_transcript_of_another_history_is_409(call: Client) -> None:
    ingest(call, "fact: likes tea", session_id="talk")
    answer = ingest(call, "fact: likes coffee", session_id="talk")
    assert (answer.status, answer.json["code"]) == (409, "transcript_diverged")
    assert history(call, "talk") == ["fact: likes tea"]


def test_another_users_session_is_409_and_another_tenants_is_none(
    call: Client, service: Service
) -> None:
    ingest(call, "fact: likes tea", session_id="talk")
    answer = ingest(call, "fact: likes tea", session_id="talk", user="bob")
    assert (answer.status, answer.json["code"]) == (409, "owner_mismatch")
    assert (
        ingest(service.client(tenant="other"), "hello", session_id="talk").json["created"] is True
    )


def test_a_thousand_messages_are_taken_in_and_one_more_is_not(call: Client) -> None:
    texts = [f"number {number}" for number in range(1001)]
    assert ingest(call, *texts).status == 422
    answer = ingest(call, *texts[:1000], session_id="talk")
    assert (answer.status, answer.json["appended"]) == (202, 1000)
    assert call("GET", "/v1/sessions/talk").json["totals"]["messages"] == 1000


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "messages"),
        ({"messages": []}, 422, "messages"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, 422, "messages.0.role"),
        ({"messages": transcript("hello"), "user_id": "bob"}, 422, "user_id"),
        ({"messages": transcript("hello"), "tenant": "other"}, 422, "tenant"),
        ({"messages": transcript("hello"), "session_id": "a#b"}, 400, "session_id"),
        ({"messages": transcript("hello"), "wait": 21}, 422, "wait"),
    ],
)
def test_what_is_no_transcript_is_refused_and_nothing_is_written(
    call: Client, service: Service, body: dict[str, Any], status: int, field: str
) -> None:
    answer = call("POST", INGEST, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)
    assert not service.sessions.state.partitions


def test_a_message_that_no_item_can_hold_is_ingested_whole(call: Client) -> None:
    assert ingest(call, "x" * 400_000).status == 202
    (session,) = call("GET", "/v1/sessions").json["sessions"]
    (message,) = call("GET", f"/v1/sessions/{session['session_id']}/messages").json["messages"]
    assert message["content"] == "x" * 400_000


def test_ingesting_needs_the_scope_write(service: Service) -> None:
    assert ingest(service.client(scopes="read"), "hello").json["code"] == "missing_scope"
