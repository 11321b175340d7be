"""POST sessions/{sid}/messages: once, in order, whatever is retried."""

from typing import Any

import pytest
from palimpsest.errors import Unavailable

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"
KEY = {"idempotency-key": "turn-1"}


def body(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "user_id": "sarah",
        "messages": [{"role": "user", "content": text} for text in texts],
        **more,
    }


def history(call: Client, session: str = "s") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = call("GET", f"/v1/sessions/{session}/messages").json["messages"]
    return rows


def test_an_append_that_names_a_user_begins_the_session(call: Client) -> None:
    answer = call("POST", PATH, body("hello", "there", agent_id="hr"))
    assert answer.status == 201
    assert {
        name: answer.json[name] for name in ("session_id", "created", "replayed", "overflow")
    } == {"session_id": "s", "created": True, "replayed": False, "overflow": None}
    assert [message["seq"] for message in answer.json["messages"]] == [1, 2]
    assert answer.json["window"]["messages"] == 2
    assert "context" not in answer.json
    session = call("GET", "/v1/sessions/s").json
    assert (session["user_id"], session["agent_id"], session["totals"]["messages"]) == (
        "sarah",
        "hr",
        2,
    )


def test_an_append_to_an_unknown_session_without_a_user_is_404(call: Client) -> None:
    answer = call("POST", PATH, {"messages": [{"role": "user", "content": "hello"}]})
    assert (answer.status, answer.json["code"]) == (404, "session_not_found")


def test_the_same_append_sent_twice_is_stored_once(call: Client) -> None:
    first = call("POST", PATH, body("hello"), headers=KEY)
    call.append("s", "and then")
    again = call("POST", PATH, body("hello"), headers=KEY)
    assert (again.status, again.json["replayed"]) == (201, True)
    assert again.json["messages"] == first.json["messages"]
    assert [row["content"] for row in history(call)] == ["hello", "and then"]


def test_a_quoted_key_is_the_same_key(call: Client) -> None:
    call("POST", PATH, body("hello"), headers={"idempotency-key": '"turn-1"'})
    assert call("POST", PATH, body("hello"), headers=KEY).json["replayed"] is True


def test_a_resend_without_a_key_is_taken_for_a_retry_unless_it_is_allowed(call: Client) -> None:
    call("POST", PATH, body("yes"))
    assert call("POST", PATH, body("yes")).json["replayed"] is True
    assert call("POST", PATH, body("yes", allow_repeat=True)).json["replayed"] is False
    assert len(history(call)) == 2


def test_ids_on_all_messages_make_an_append_repeatable(call: Client) -> None:
    said = {"user_id": "sarah", "messages": [{"role": "user", "content": "hello", "id": "m-1"}]}
    call("POST", PATH, said)
    call.append("s", "and then")
    assert call("POST", PATH, said).json["replayed"] is True
    assert history(call)[0]["client_id"] == "m-1"


def test_another_body_under_the_same_key_is_409_and_nothing_is_written(call: Client) -> None:
    call("POST", PATH, body("hello"), headers=KEY)
    answer = call("POST", PATH, body("goodbye"), headers=KEY)
    assert (answer.status, answer.json["code"]) == (409, "idempotency_key_reused")
    assert len(history(call)) == 1


def test_a_key_that_is_no_id_is_refused(call: Client) -> None:
    answer = call("POST", PATH, body("hello"), headers={"idempotency-key": "a#b"})
    assert (answer.status, answer.json["code"]) == (400, "invalid_id")
    assert answer.json["errors"][0]["field"] == "Idempotency-Key"


def test_another_users_session_is_409(call: Client) -> None:
    call.append("s", "hello")
    answer = call(
        "POST", PATH, {"user_id": "tom", "messages": [{"role": "user", "content": "mine"}]}
    )
    assert (answer.status, answer.json["code"]) == (409, "owner_mismatch")
    assert len(history(call)) == 1


def test_an_append_reopens_an_ended_session(call: Client) -> None:
    call.append("s", "hello")
    assert call("POST", "/v1/sessions/s/end").json["status"] == "ended"
    call.append("s", "one thing more")
    assert call("GET", "/v1/sessions/s").json["status"] == "active"


def test_the_context_comes_in_the_same_answer_as_get_would_give_it(call: Client) -> None:
    answer = call("POST", PATH, body("hello", context={"max_tokens": 500}))
    assert answer.json["degraded"] == []
    assert (
        answer.json["context"]
        == call("GET", "/v1/sessions/s/context", query={"max_tokens": 500}).json
    )


def test_the_append_stands_when_its_context_fails(call: Client) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "system": "x" * 4000})
    answer = call("POST", PATH, body("hello", context={"max_tokens": 120}))
    assert (answer.status, answer.json["context"], answer.json["degraded"]) == (
        201,
        None,
        ["context"],
    )
    assert len(history(call)) == 1


def test_the_append_stands_when_the_store_fails_after_the_commit(
    call: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = service.sessions.messages

    def fails(*_: object, **__: object) -> object:
        raise Unavailable("The store can't answer.")

    monkeypatch.setattr(service.sessions, "messages", fails)
    answer = call("POST", PATH, body("hello", context={}))
    monkeypatch.setattr(service.sessions, "messages", stored)
    assert (answer.status, answer.json["context"]) == (201, None)
    assert len(history(call)) == 1


def test_an_overflow_is_announced_with_a_job_that_can_be_read(
    call: Client, service: Service
) -> None:
    memory = {"max_tokens": 200, "keep_recent_turns": 1}
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": memory})
    overflow = None
    for turn in range(12):
        overflow = call.append("s", f"{turn} " + "word " * 20).json["overflow"] or overflow
    assert overflow is not None
    assert (overflow["strategy"], overflow["state"]) == ("summarize", "pending")
    job = call("GET", f"/v1/jobs/{overflow['job_id']}").json
    assert (job["job_id"], job["kind"], job["session_id"]) == (overflow["job_id"], "summarize", "s")
    service.drain()
    assert call("GET", f"/v1/jobs/{overflow['job_id']}").json["state"] == "done"


def test_a_store_that_cannot_answer_is_503_and_may_be_tried_again(
    call: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise Unavailable("The store can't answer.")

    monkeypatch.setattr(service.sessions, "open", fails)
    answer = call("POST", PATH, body("hello"))
    assert (answer.status, answer.json["retryable"]) == (503, True)
    assert int(answer.headers["Retry-After"]) >= 1


def test_an_append_configures_the_session_that_it_begins_and_no_other(call: Client) -> None:
    asked = {"memory": {"max_tokens": 5_000, "auto_recall": True}, "context": {}}
    answer = call("POST", PATH, body("hello", **asked))
    assert answer.json["context"]["tokens"]["budget"] == 5_000
    assert [tool["type"] for tool in answer.json["context"]["tools"]] == ["function"]
    again = call("POST", PATH, body("and then", memory={"max_tokens": 9_000}, context={}))
    assert (again.json["created"], again.json["context"]["tokens"]["budget"]) == (False, 5_000)


def test_what_an_append_configures_stands_over_the_tenants_defaults(call: Client) -> None:
    call("PUT", "/v1/settings", {"memory": {"strategy": "trim", "max_tokens": 7_000}})
    call("POST", PATH, body("hello", memory={"memory_as": "system"}))
    memory = call("GET", "/v1/sessions/s").json["memory"]
    assert (memory["strategy"], memory["max_tokens"], memory["memory_as"]) == (
        "trim",
        7_000,
        "system",
    )


def test_an_append_with_a_wrong_configuration_is_refused_by_field_and_begins_nothing(
    call: Client,
) -> None:
    answer = call("POST", PATH, body("hello", memory={"max_tokens": "many"}))
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "memory.max_tokens")
    assert call("GET", "/v1/sessions/s").status == 404
