"""Forgetting through the front door: a user erased and back again, a session with and without what
it taught.
"""

from typing import Any

import pytest

from tests.e2e.stack import Client, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.searches]
USER = "/v1/users/sarah"


def save(call: Client, *memories: dict[str, Any]) -> None:
    told = [{"type": "fact", **memory} for memory in memories]
    answer = call("POST", f"{USER}/memories", {"memories": told})
    assert answer.status == 201, answer.text


def contents(call: Client) -> set[str]:
    return {row["content"] for row in call("GET", f"{USER}/memories").json["memories"]}


def recalled(call: Client, query: str) -> set[str]:
    answer = call("POST", f"{USER}/recall", {"query": query, "k": 20})
    assert answer.status == 200, answer.text
    return {row["content"] for row in answer.json["memories"]}


def test_an_erased_user_is_gone_at_once_and_what_comes_afterwards_stays(call: Client) -> None:
    call.append("old", "My dog is called Bruno.")
    save(
        call,
        {"content": "Sarah's dog is called Bruno."},
        {"content": "lives in Rome", "topic_key": "city"},
    )
    eventually(lambda: "Sarah's dog is called Bruno." in recalled(call, "What is the dog called?"))
    answer = call("DELETE", USER)
    assert answer.status == 202
    assert answer.headers["location"] == f"/v1/jobs/{answer.json['job_id']}"
    for rest in ("", "/messages", "/context", "/compactions"):
        assert call("GET", f"/v1/sessions/old{rest}").status == 404
    assert call("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"] == []
    assert (contents(call), recalled(call, "What is the dog called?")) == (set(), set())
    assert call("GET", USER).json["memories"]["total"] == 0
    again = call.append("old", "My cat is called Minka.").json
    assert again["created"]
    save(call, {"content": "Sarah's cat is called Minka."})
    job = call.job(answer.json["job_id"])
    assert (job["kind"], job["state"], job["error"]) == ("erase", "done", None)
    assert job["receipt"]["memories"]["state"] == "done"
    assert job["receipt"]["memories"]["count"] >= 4
    assert job["receipt"]["sessions"]["state"] == "done"
    assert [row["content"] for row in call.history("old")] == ["My cat is called Minka."]
    assert contents(call) == {"Sarah's cat is called Minka."}
    eventually(lambda: "Sarah's cat is called Minka." in recalled(call, "What is the cat called?"))
    assert not any("Bruno" in each for each in recalled(call, "Bruno the dog"))


def test_a_redaction_and_an_erasure_can_be_waited_for(call: Client) -> None:
    for number in range(3):
        call.append(f"s{number}", "hello")
    job = call.ended(
        call("PATCH", "/v1/sessions/s0/messages/1", {"content": "[redacted]", "wait": 20})
    )
    assert job["state"] == "done"
    assert job["receipt"]["index"] == {"state": "done"}
    job = call.ended(call("DELETE", USER, query={"wait": 20}))
    assert job["state"] == "done"
    assert job["receipt"]["sessions"] == {"state": "done", "count": 3}
    assert job["receipt"]["index"] == {"state": "done"}
    assert call("GET", "/v1/users").json["users"] == []


@pytest.mark.parametrize(("keep", "left"), [("true", {"of s", "of t"}), ("false", {"of t"})])
def test_a_deleted_session_takes_what_it_alone_taught_unless_that_shall_stay(
    call: Client, keep: str, left: set[str]
) -> None:
    for session in "st":
        call.append(session, "hello")
        save(call, {"content": f"of {session}", "source": {"session_id": session}})
    job = call.ended(call("DELETE", "/v1/sessions/s", query={"keep_memories": keep, "wait": 20}))
    assert job["state"] == "done"
    assert job["result"].get("forgotten", 0) == 2 - len(left)
    assert contents(call) == left


def test_sessions_are_forgotten_by_a_filter(call: Client) -> None:
    for session in ("a", "b", "c"):
        call.append(session, "hello", agent_id="hr" if session != "c" else "it")
    told = {"user_id": "sarah", "agent_id": "hr"}
    eventually(
        lambda: (
            call("POST", "/v1/sessions/forget", {**told, "dry_run": True}).json["ids"] == ["a", "b"]
        )
    )
    assert call.ended(call("POST", "/v1/sessions/forget", {**told, "wait": 20}))["result"] == {
        "forgotten": 2
    }
    assert [call("GET", f"/v1/sessions/{name}").status for name in "abc"] == [404, 404, 200]
