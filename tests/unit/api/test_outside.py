"""A history that stays its caller's: memories are extracted from it, and no message of it is
stored.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from palimpsest.api.call import KEY
from palimpsest.clock import seconds
from palimpsest.conversations.contents import ABANDONED_SECONDS
from palimpsest.engines.dynamodb.sessions.items import message_attributes, message_of
from palimpsest.errors import ModelUnavailable

from tests.service import DAY, SARAH, TENANT
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

INGEST = "/v1/users/sarah/ingest"
TEA, JAZZ = ("m-1", "fact: likes tea"), ("m-2", "fact: likes jazz")


def sent(*said: tuple[str, str], session: str | None = "talk", **more: Any) -> dict[str, Any]:
    messages = [
        {"id": name, "role": "user", "content": text, "metadata": {"note": text}}
        for name, text in said
    ]
    return {
        "messages": messages,
        "store": False,
        **({} if session is None else {"session_id": session}),
        **more,
    }


def learn(call: Client, *said: tuple[str, str], **more: Any) -> Answer:
    return call("POST", INGEST, sent(*said, **more))


def facts(call: Client) -> list[str]:
    found = call("GET", "/v1/users/sarah/memories").json["memories"]
    return sorted(each["content"] for each in found)


def conversations(service: Service) -> str:
    """Everything that the tables of conversations hold."""
    state = service.sessions.state
    stored = [
        repr((partition.head, partition.settings, sorted(partition.keys.items())))
        for partition in state.partitions.values()
    ]
    messages = [
        json.dumps(message_attributes(message))
        for tenant, session in state.partitions
        for message in service.sessions.messages(TENANT.session(session), first=1, last=10**6)
        if tenant == TENANT.tenant
    ]
    return "\n".join([*stored, *messages, repr(state.jobs), repr(state.calls)])


def blobs(service: Service) -> list[str]:
    """What is stored outside the tables; notes of removals name nobody."""
    return [key for key in service.blobs.keys("") if "/removals/" not in key]


def test_memories_are_extracted_with_their_quotes_and_the_callers_ids(
    call: Client, service: Service
) -> None:
    service.work_while_waiting()
    job = learn(call, TEA, ("m-2", "hello"), wait=5).json
    assert (job["state"], job["session_id"], job["created"], job["appended"]) == (
        "done",
        "talk",
        True,
        2,
    )
    assert job["ledger"]["received"] == 2
    (memory,) = call("GET", "/v1/users/sarah/memories").json["memories"]
    assert memory["content"] == "likes tea"
    assert memory["source"] == {
        "session_id": "talk",
        "message_ids": ["m-1"],
        "seqs": [1],
        "quote": "likes tea",
        "text": None,
    }
    assert memory["metadata"] == {"note": "fact: likes tea"}


def test_no_text_of_a_message_is_in_the_tables_of_conversations_nor_left_in_the_bucket(
    call: Client, service: Service
) -> None:
    learn(call, TEA, ("m-2", "xyzzy"))
    assert blobs(service)
    assert "tea" not in conversations(service)
    service.drain()
    stored = conversations(service)
    assert "m-1" in stored
    assert not any(word in stored for word in ("tea", "xyzzy"))
    assert not blobs(service)


def test_the_next_call_extracts_only_what_is_new(call: Client, service: Service) -> None:
    learn(call, TEA)
    service.drain()
    again = learn(call, TEA, JAZZ).json
    service.drain()
    assert (again["created"], again["appended"]) == (False, 1)
    assert service.extractor.read == [(1,), (2,)]
    last = learn(call, JAZZ).json
    assert (last["appended"], last["state"], last["job_id"]) == (0, "done", again["job_id"])
    assert facts(call) == ["likes jazz", "likes tea"]


def test_a_message_that_says_something_else_under_its_id_is_new(
    call: Client, service: Service
) -> None:
    learn(call, TEA)
    assert learn(call, ("m-1", "fact: likes coffee"), TEA).json["appended"] == 1
    assert learn(call, ("m-9", "fact: likes tea")).json["appended"] == 1
    service.drain()
    assert facts(call) == ["likes coffee", "likes tea"]


def test_a_thousand_messages_are_taken_in_at_once(call: Client, service: Service) -> None:
    many = [(f"m-{number}", f"fact: number {number}") for number in range(1000)]
    assert learn(call, *many).json["appended"] == 1000
    service.drain()
    assert len(service.records()) == 1000
    assert learn(call, *many[1:], ("m-1000", "fact: one more")).json["appended"] == 1
    assert [
        message.client_id
        for message in service.sessions.messages(TENANT.session("talk"), first=1, last=2)
    ] == ["m-0", "m-1"]


def test_the_session_says_which_messages_it_has_met_and_shows_none_in_contexts(
    call: Client, service: Service
) -> None:
    learn(call, TEA, JAZZ)
    service.drain()
    rows = call("GET", "/v1/sessions/talk/messages").json["messages"]
    assert [(row["client_id"], row["item"]) for row in rows] == [
        ("m-1", {"type": "outside", "role": "user"}), ("m-2", {"type": "outside", "role": "user"}),
    ]  # fmt: skip
    assert "content" not in rows[0]
    assert call("GET", "/v1/sessions/talk").json["window"]["messages"] == 0
    said = call("POST", "/v1/sessions/talk/context", {"message": "What do I like?"}).json[
        "messages"
    ]
    assert [message["role"] for message in said if "<memory>" not in message["content"]] == ["user"]
    assert "likes tea" in said[0]["content"]


def test_messages_can_be_appended_to_such_a_session_and_are_not_extracted_twice(
    call: Client, service: Service
) -> None:
    learn(call, TEA)
    call(
        "POST",
        "/v1/sessions/talk/messages",
        {"messages": [{"id": "m-2", "role": "user", "content": JAZZ[1]}]},
    )
    assert learn(call, TEA, JAZZ).json["appended"] == 0
    service.drain()
    assert facts(call) == ["likes jazz", "likes tea"]


def test_the_same_key_gives_the_first_result_and_another_body_is_409(
    call: Client, service: Service
) -> None:
    first = call("POST", INGEST, sent(TEA), headers={KEY: "once"})
    service.drain()
    again = call("POST", INGEST, sent(TEA), headers={KEY: "once"})
    assert (again.json["appended"], again.json["created"]) == (
        first.json["appended"],
        first.json["created"],
    )
    assert (
        call("POST", INGEST, sent(JAZZ), headers={KEY: "once"}).json["code"]
        == "idempotency_key_reused"
    )
    assert facts(call) == ["likes tea"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (sent(TEA, session=None), "session_id"),
        (
            {**sent(TEA), "messages": [{"role": "user", "content": "fact: likes tea"}]},
            "messages.0.id",
        ),
        ({**sent(TEA), "store": "no"}, "store"),
        (sent(), "messages"),
    ],
)
def test_what_can_not_be_told_apart_later_is_422_and_nothing_is_written(
    call: Client, service: Service, body: dict[str, Any], field: str
) -> None:
    answer = call("POST", INGEST, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)
    assert not service.sessions.state.partitions
    assert not blobs(service)


def test_another_users_session_is_409(call: Client, service: Service) -> None:
    learn(call, TEA)
    assert call("POST", "/v1/users/bob/ingest", sent(JAZZ)).json["code"] == "owner_mismatch"
    assert learn(service.client(tenant="other"), JAZZ).json["created"] is True


def test_a_key_that_may_only_write_learns_nothing(service: Service) -> None:
    service.work_while_waiting()
    answer = learn(service.client(scopes="write"), TEA, wait=5)
    assert answer.status == 200
    assert "tea" not in answer.text
    assert learn(service.client(scopes="read"), TEA).json["code"] == "missing_scope"


def test_erasing_the_user_takes_digests_and_what_still_waits(
    call: Client, service: Service
) -> None:
    learn(call, TEA)
    service.drain()
    learn(call, JAZZ)
    call("DELETE", "/v1/users/sarah")
    service.drain()
    assert not blobs(service)
    assert "m-1" not in conversations(service)
    assert not service.records()
    assert learn(call, TEA).json["appended"] == 1


def test_deleting_the_session_takes_them_too(call: Client, service: Service) -> None:
    learn(call, TEA)
    call("DELETE", "/v1/sessions/talk")
    service.drain()
    assert not blobs(service)
    assert not service.records()


def test_digests_expire_with_the_session(call: Client, service: Service) -> None:
    call("PUT", "/v1/settings", {"retention_days": 1})
    learn(call, TEA)
    service.drain()
    assert learn(call, TEA).json["appended"] == 0
    service.time.advance(2 * DAY)
    service.sweep_all()
    service.drain()
    assert "m-1" not in conversations(service)
    assert learn(call, TEA).json["appended"] == 1


def test_what_could_not_be_extracted_waits_until_it_can(call: Client, service: Service) -> None:
    service.extractor.failure = ModelUnavailable("down")
    job = learn(call, TEA).json["job_id"]
    service.drain()
    assert service.job(job).state == "failed"
    assert blobs(service)
    service.extractor.failure = None
    call("POST", f"/v1/jobs/{job}/retry", {})
    service.drain()
    assert facts(call) == ["likes tea"]
    assert not blobs(service)


def test_a_crash_right_after_the_commit_leaves_nothing_in_the_bucket(
    call: Client, service: Service
) -> None:
    job = service.job(learn(call, TEA).json["job_id"])
    remove = service.blobs.remove

    def killed(keys: Any) -> None:
        service.blobs.remove = remove  # type: ignore[method-assign]
        raise RuntimeError("killed")

    service.blobs.remove = killed  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="killed"):
        service.handle(job)
    assert blobs(service)
    service.handle(job)
    assert not blobs(service)
    assert facts(call) == ["likes tea"]


def test_what_no_commit_has_named_is_swept(call: Client, service: Service) -> None:
    with service.killed_at("before commit"):
        service.memories_app.ingest_outside(SARAH, _drafts(), session_id="talk")
    assert blobs(service)
    service.time.advance(ABANDONED_SECONDS + 60)
    service.sweep_all()
    service.drain()
    assert not blobs(service)


def _drafts() -> Any:
    from palimpsest.api.resources.memories.shapes import IngestRequest

    return IngestRequest.model_validate(sent(TEA)).messages


def test_a_message_of_an_outside_history_survives_its_item(call: Client, service: Service) -> None:
    learn(call, TEA)
    (message,) = service.sessions.messages(TENANT.session("talk"), first=1, last=1)
    assert message.is_outside
    assert message_of(message_attributes(message)) == message


def test_an_export_says_what_was_met_and_an_import_knows_it(call: Client, service: Service) -> None:
    learn(call, TEA)
    service.drain()
    job = service.memories_app.export(TENANT, user="sarah")
    service.drain()
    lines = service.memories_app.export.text(service.job(job))
    assert '"outside"' in lines
    other = Service()
    imported = other.memories_app.imports.of_text(TENANT, lines, user="sarah")
    other.drain()
    assert other.job(imported).result["conflicts"] == 0
    assert learn(other.client(), TEA).json["appended"] == 0
    assert other.job(imported).state == "done"
    assert seconds(other.clock.now()) > 0
