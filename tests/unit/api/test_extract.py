"""Extraction through the front door: asked for, by itself after enough turns, and told by its
job.
"""

from typing import Any

import pytest
from palimpsest.jobs.job import on_user
from palimpsest.memory.removal.payloads import ForgetPayload

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

EXTRACT = "/v1/sessions/s/extract"


def remembered(call: Client, user: str = "sarah") -> list[str]:
    return sorted(
        row["content"] for row in call("GET", f"/v1/users/{user}/memories").json["memories"]
    )


def turns(call: Client, count: int, *, begin: int = 0, session: str = "s") -> None:
    for turn in range(begin, begin + count):
        call.append(session, f"fact: number {turn}")
        call(
            "POST",
            f"/v1/sessions/{session}/messages",
            {"messages": [{"role": "assistant", "content": f"I see {turn}"}]},
        )


def test_what_was_said_is_remembered_with_its_source(call: Client, service: Service) -> None:
    call.append("s", "fact[employer]: works at A", "event: ran a race")
    service.work_while_waiting()
    answer = call("POST", EXTRACT, {"wait": 5})
    assert answer.status == 200
    job = answer.json
    assert (job["kind"], job["state"], job["session_id"], job["armed"]) == (
        "extract",
        "done",
        "s",
        True,
    )
    ledger = job["ledger"]
    assert (ledger["received"], ledger["extracted"], ledger["skipped"], ledger["parked"]) == (
        2,
        2,
        0,
        0,
    )
    assert (job["usage"]["model_calls"], job["usage"]["tokens_in"]) == (1, 1000)
    assert job["usage"]["cost_usd"] > 0
    (row,) = call("GET", "/v1/users/sarah/memories", query={"types": "fact"}).json["memories"]
    assert row["id"] in job["records"]
    message = call("GET", "/v1/sessions/s/messages").json["messages"][0]
    assert row["source"]["message_ids"] == [message["id"]]
    assert (row["source"]["session_id"], row["source"]["seqs"]) == ("s", [1])
    assert (row["method"], row["topic_key"]) == ("model", "employer")


def test_a_session_shows_the_last_message_that_was_extracted(
    call: Client, service: Service
) -> None:
    def shown() -> Any:
        return call("GET", "/v1/sessions/s").json["last_extracted"]

    call.append("s", "fact: likes tea", "fact: likes coffee")
    assert shown() is None
    call("POST", EXTRACT, {})
    service.drain()
    messages = call("GET", "/v1/sessions/s/messages").json["messages"]
    assert shown() == {"seq": 2, "id": messages[1]["id"]}
    call.append("s", "fact: likes cocoa")
    assert shown()["seq"] == 2
    call("DELETE", "/v1/sessions/s/messages", query={"from": 2})
    assert shown() == {"seq": 2, "id": None}
    call("DELETE", "/v1/sessions/s")
    service.drain()
    call.append("s", "Another life.")
    assert shown() is None


@pytest.mark.parametrize("seconds", [4, 61, "30"])
def test_an_extractions_time_is_from_five_to_sixty_seconds(call: Client, seconds: Any) -> None:
    call.append("s", "fact: likes tea")
    answer = call("PATCH", "/v1/sessions/s", {"memory": {"extraction_seconds": seconds}})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "memory.extraction_seconds")


def test_without_a_wait_the_job_is_named(call: Client, service: Service) -> None:
    call.append("s", "fact: likes tea")
    answer = call("POST", EXTRACT, {})
    assert (answer.status, answer.json["state"], answer.json["armed"]) == (202, "pending", True)
    service.drain()
    assert call("GET", answer.headers["Location"]).json["state"] == "done"
    assert remembered(call) == ["likes tea"]


def test_only_what_follows_the_last_extraction_is_extracted(call: Client, service: Service) -> None:
    call.append("s", "fact: likes tea")
    first = call("POST", EXTRACT, {}).json["job_id"]
    service.drain()
    again = call("POST", EXTRACT, {})
    assert (again.status, again.json["job_id"], again.json["armed"]) == (200, first, False)
    call.append("s", "fact: likes coffee")
    call("POST", EXTRACT, {})
    service.drain()
    assert service.extractor.read == [(1,), (2,)]


def test_a_session_that_said_nothing_has_nothing_to_extract(call: Client) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah"})
    answer = call("POST", EXTRACT, {"wait": 20})
    assert answer.status == 200
    assert answer.json == {"session_id": "s", "job_id": None, "state": "done", "armed": False}


def test_if_needed_waits_for_enough_turns(call: Client, service: Service) -> None:
    call(
        "POST",
        "/v1/sessions",
        {"session_id": "s", "user_id": "sarah", "memory": {"extract": "manual"}},
    )
    turns(call, 4)
    assert call("POST", EXTRACT, {"if_needed": True}).json["armed"] is False
    assert call("POST", EXTRACT, {"if_needed": True, "max_buffer_turns": 4}).json["armed"] is True
    service.drain()
    turns(call, 5, begin=4)
    assert call("POST", EXTRACT, {"if_needed": True}).json["armed"] is True


def test_a_session_is_extracted_by_itself_every_few_turns_and_when_it_ends(
    call: Client, service: Service
) -> None:
    turns(call, 4)
    assert service.outbox == []
    turns(call, 3, begin=4)
    service.drain()
    assert len(remembered(call)) >= 5
    call("POST", "/v1/sessions/s/end")
    service.drain()
    assert len(remembered(call)) == 7


@pytest.mark.parametrize(
    ("memory", "expected"), [({"extract": "manual"}, 0), ({"max_buffer_turns": 2}, 2)]
)
def test_how_a_session_is_extracted_is_its_configuration(
    call: Client, service: Service, memory: dict[str, Any], expected: int
) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": memory})
    turns(call, 2)
    service.drain()
    assert len(remembered(call)) == expected
    shown = call("GET", "/v1/sessions/s").json["memory"]
    assert memory.items() <= shown.items()


def test_a_changed_configuration_counts_from_then_on(call: Client, service: Service) -> None:
    turns(call, 2)
    call("PATCH", "/v1/sessions/s", {"memory": {"max_buffer_turns": 3}})
    turns(call, 1, begin=2)
    service.drain()
    assert len(remembered(call)) == 3


def test_a_configured_session_of_a_user_who_was_erased_is_extracted(
    call: Client, service: Service
) -> None:
    scope = service.session().owner.user("sarah")
    service.memories.erase(
        scope, epoch=0, job=on_user(scope, kind="forget", epoch=0, payload=ForgetPayload(), now=0)
    )
    service.delivered = len(service.outbox)
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "system": "Be brief."})
    call.append("s", "fact: likes tea")
    call("POST", EXTRACT, {})
    service.drain()
    assert remembered(call) == ["likes tea"]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"if_needed": "yes"}, "if_needed"), ({"max_buffer_turns": 0}, "max_buffer_turns"), ({"wait": 21}, "wait"),
     ({"user_id": "bob"}, "user_id"), ({"from": 3}, "from")],
)  # fmt: skip
def test_what_breaks_the_schema_is_422_and_named(
    call: Client, service: Service, body: dict[str, Any], field: str
) -> None:
    call.append("s", "fact: likes tea")
    answer = call("POST", EXTRACT, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)
    assert service.outbox == []


def test_an_unknown_session_and_another_tenants_are_404(call: Client, service: Service) -> None:
    call.append("s", "fact: likes tea")
    for who, path in (
        (call, "/v1/sessions/nobody/extract"),
        (service.client(tenant="other"), EXTRACT),
    ):
        answer = who("POST", path, {})
        assert (answer.status, answer.json["code"]) == (404, "session_not_found")


def test_extracting_needs_the_scope_write(service: Service, call: Client) -> None:
    call.append("s", "fact: likes tea")
    assert service.client(scopes="read")("POST", EXTRACT, {}).json["code"] == "missing_scope"
