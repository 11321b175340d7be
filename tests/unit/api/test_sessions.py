"""Sessions are begun, configured, read, listed, ended and deleted."""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

NEW = {
    "session_id": "s",
    "user_id": "sarah",
    "agent_id": "hr",
    "system": "Be kind.",
    "metadata": {"channel": "chat"},
}


def create(call: Client, **more: Any) -> Answer:
    return call("POST", "/v1/sessions", {**NEW, **more})


def test_a_session_begins_with_what_it_was_told(call: Client) -> None:
    answer = create(call, memory={"strategy": "trim", "max_tokens": 900})
    session = answer.json
    assert answer.status == 201
    assert call("GET", "/v1/sessions/s").json == session
    assert {name: session[name] for name in NEW} == NEW
    assert (
        session["memory"] | {"strategy": "trim", "max_tokens": 900, "max_memory_tokens": 500}
        == session["memory"]
    )
    assert session["window"]["messages"] == 0
    assert session["window"]["tokens"] > 0
    assert (session["status"], session["compaction"]) == ("active", "none")
    assert session["expires_at"] > session["created_at"]


def test_a_session_without_an_id_gets_one(call: Client) -> None:
    session = call("POST", "/v1/sessions", {"user_id": "sarah"}).json
    assert call("GET", f"/v1/sessions/{session['session_id']}").json == session


def test_beginning_it_again_gives_the_same_until_it_has_messages(call: Client) -> None:
    first = create(call).json
    again = create(call)
    assert (again.status, again.json) == (200, first)
    assert create(call, system="Be brief.").json["code"] == "session_exists"
    assert create(call, user_id="tom").json["code"] == "owner_mismatch"
    call("POST", "/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "hello"}]})
    assert create(call).status == 409


def test_a_session_needs_a_user(call: Client) -> None:
    answer = call("POST", "/v1/sessions", {"session_id": "s"})
    assert (answer.status, answer.json["errors"]) == (
        422,
        [{"field": "user_id", "message": "is required"}],
    )


def test_put_replaces_and_what_is_not_said_is_the_default_again(call: Client) -> None:
    create(call, memory={"max_tokens": 900, "keep_recent_turns": 2})
    session = call("PUT", "/v1/sessions/s", {"memory": {"keep_recent_turns": 3}}).json
    assert (session["system"], session["metadata"]) == (None, {})
    assert (session["memory"]["max_tokens"], session["memory"]["keep_recent_turns"]) == (100_000, 3)


def test_what_get_gives_can_be_put_back(call: Client) -> None:
    session = create(call, memory={"max_tokens": 900}).json
    told = {name: session[name] for name in ("user_id", "agent_id", "system", "memory", "metadata")}
    again = call("PUT", "/v1/sessions/s", told)
    assert again.status == 200
    assert {name: again.json[name] for name in told} == told


def test_put_with_a_user_begins_a_session_that_is_not_there(call: Client) -> None:
    told = {
        "user_id": "sarah",
        "agent_id": "hr",
        "system": "Be kind.",
        "memory": {"max_tokens": 900},
    }
    begun = call("PUT", "/v1/sessions/s", told)
    assert begun.status == 201
    assert {name: begun.json[name] for name in ("user_id", "agent_id", "system")} == {
        name: told[name] for name in ("user_id", "agent_id", "system")
    }
    assert begun.json["memory"]["max_tokens"] == 900
    assert call("GET", "/v1/sessions/s").json == begun.json
    again = call("PUT", "/v1/sessions/s", {**told, "system": "Be brief."})
    assert (again.status, again.json["system"]) == (200, "Be brief.")


def test_put_without_a_user_begins_nothing(call: Client) -> None:
    answer = call("PUT", "/v1/sessions/s", {"system": "Be kind."})
    assert (answer.status, answer.json["code"]) == (404, "session_not_found")


def test_put_begins_a_deleted_session_anew(call: Client) -> None:
    create(call)
    call.append("s", "hello")
    call("DELETE", "/v1/sessions/s")
    assert call("PUT", "/v1/sessions/s", {"user_id": "tom"}).status == 201
    assert call("GET", "/v1/sessions/s/messages").json["messages"] == []


def test_a_session_says_to_the_millisecond_when_it_was_made_and_last_changed(
    call: Client, service: Service
) -> None:
    service.time.advance(0.25)
    session = create(call).json
    assert session["created_at"] == session["updated_at"] == "2026-01-01T00:00:00.250Z"
    service.time.advance(1.5)
    call.append("s", "hello")
    assert call("GET", "/v1/sessions/s").json["updated_at"] == "2026-01-01T00:00:01.750Z"


def test_patch_changes_what_is_said(call: Client) -> None:
    create(call, memory={"max_tokens": 900, "keep_recent_turns": 2})
    change = {"memory": {"keep_recent_turns": 3}, "metadata": {"channel": None, "mood": "good"}}
    session = call("PATCH", "/v1/sessions/s", change).json
    assert (session["system"], session["metadata"]) == ("Be kind.", {"mood": "good"})
    assert (session["memory"]["max_tokens"], session["memory"]["keep_recent_turns"]) == (900, 3)
    assert call("PATCH", "/v1/sessions/s", {"system": None}).json["system"] is None


def test_another_reserve_alone_changes_the_budget_that_came_from_the_model(call: Client) -> None:
    assert create(call, memory={"model": "gpt-4"}).json["window"]["max_tokens"] == 4_192
    session = call("PATCH", "/v1/sessions/s", {"memory": {"reserve_tokens": 1_000}}).json
    assert (session["memory"]["max_tokens"], session["window"]["max_tokens"]) == (7_192, 7_192)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("other", [{"user_id": "tom"}, {"agent_id": "sales"}])
def test_a_session_keeps_its_user_and_agent(
    call: Client, method: str, other: dict[str, str]
) -> None:
    before = create(call).json
    answer = call(method, "/v1/sessions/s", {**other, "system": "Mine now."})
    assert (answer.status, answer.json["code"]) == (409, "owner_mismatch")
    assert call("GET", "/v1/sessions/s").json == before


def test_a_system_message_that_is_more_than_text_comes_back_as_it_is(call: Client) -> None:
    system = {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}
    assert create(call, system=system).json["system"] == system
    answer = call("PATCH", "/v1/sessions/s", {"system": {"role": "user", "content": "Be kind."}})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "system.role")


def test_ending_is_a_state_and_can_be_repeated(call: Client) -> None:
    create(call)
    assert call("POST", "/v1/sessions/s/end").json["status"] == "ended"
    assert call("POST", "/v1/sessions/s/end", {}).status == 200


def test_a_deleted_session_is_gone_and_its_job_can_be_read(call: Client, service: Service) -> None:
    create(call)
    call("POST", "/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "hello"}]})
    answer = call("DELETE", "/v1/sessions/s")
    job_id = answer.json["job_id"]
    assert (answer.status, answer.json["state"]) == (202, "pending")
    assert answer.headers["Location"] == f"/v1/jobs/{job_id}"
    assert call("GET", "/v1/sessions/s").status == 404
    assert call("DELETE", "/v1/sessions/s").status == 404
    assert call("GET", "/v1/sessions").json["sessions"] == []
    service.drain()
    job = call("GET", f"/v1/jobs/{job_id}").json
    assert (job["kind"], job["state"]) == ("delete", "done")
    assert job["result"]["removed"] > 0


def test_whoever_waits_for_a_deletion_gets_its_job(call: Client, service: Service) -> None:
    create(call)
    service.work_while_waiting()
    answer = call("DELETE", "/v1/sessions/s", query={"wait": 5})
    assert (answer.status, answer.json["state"], answer.json["kind"]) == (200, "done", "delete")
    assert answer.json["job_id"] == service.outbox[-1].id
    assert "id" not in answer.json


def test_waiting_in_vain_is_202(call: Client) -> None:
    create(call)
    assert call("DELETE", "/v1/sessions/s", query={"wait": 2}).status == 202


def test_a_session_made_again_has_nothing_of_the_old_one(call: Client) -> None:
    call.append("s", "secret")
    call("DELETE", "/v1/sessions/s")
    call.append("s", "hello")
    assert [row["content"] for row in call("GET", "/v1/sessions/s/messages").json["messages"]] == [
        "hello"
    ]


def test_a_users_sessions_are_listed_by_creation(call: Client, service: Service) -> None:
    for name in ("a", "b", "c"):
        create(call, session_id=name, agent_id="hr" if name != "b" else "sales")
        service.time.advance(60)
    create(call, session_id="d", user_id="tom")
    call("POST", "/v1/sessions/c/end")

    def listed(**query: Any) -> list[str]:
        return [
            session["session_id"]
            for session in call("GET", "/v1/sessions", query=query).json["sessions"]
        ]

    assert listed(user_id="sarah") == ["c", "b", "a"]
    assert listed(user_id="sarah", order="asc") == ["a", "b", "c"]
    assert listed(user_id="sarah", agent_id="hr") == ["c", "a"]
    assert listed(user_id="sarah", status="ended") == ["c"]
    assert sorted(listed()) == ["a", "b", "c", "d"]
    assert listed(user_id="nobody") == []


def test_a_list_goes_on_where_its_cursor_says(call: Client, service: Service) -> None:
    names = [f"s{number}" for number in range(7)]
    for name in names:
        create(call, session_id=name)
        service.time.advance(1)
    found, cursor = [], None
    while True:
        query = {"user_id": "sarah", "limit": 3, "order": "asc"} | (
            {"cursor": cursor} if cursor else {}
        )
        page = call("GET", "/v1/sessions", query=query).json
        found += [session["session_id"] for session in page["sessions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == names


def test_a_page_of_large_sessions_holds_fewer(call: Client) -> None:
    for number in range(20):
        assert create(call, session_id=f"s{number}", system="x" * 370_000).status == 201
    seen, cursor = 0, None
    while True:
        answer = call(
            "GET", "/v1/sessions", query={"limit": 20} | ({"cursor": cursor} if cursor else {})
        )
        assert len(answer.text) < 5_000_000
        seen += len(answer.json["sessions"])
        cursor = answer.json["next_cursor"]
        if cursor is None:
            break
    assert seen == 20


@pytest.mark.parametrize("query", [{"user_id": "a b"}, {"agent_id": "a#b"}, {"user_id": ""}])
def test_a_filter_that_is_no_id_is_400(call: Client, query: dict[str, str]) -> None:
    answer = call("GET", "/v1/sessions", query=query)
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, next(iter(query)))


def test_sessions_of_all_users_are_listed_newest_first_and_by_time(
    call: Client, service: Service
) -> None:
    for number, user in enumerate(("zoe", "ann", "zoe")):
        call("POST", "/v1/sessions", {"session_id": f"s{number}", "user_id": user})
        service.time.advance(3600)

    def listed(**query: object) -> list[str]:
        return [
            row["session_id"] for row in call("GET", "/v1/sessions", query=query).json["sessions"]
        ]

    assert listed() == ["s2", "s1", "s0"]
    assert listed(order="asc", limit=2) == ["s0", "s1"]
    assert listed(created_after="2026-01-01T01:00:00Z") == ["s2", "s1"]
    assert listed(
        created_after="2026-01-01T02:00:00+01:00", created_before="2026-01-01T01:00:00Z"
    ) == ["s1"]
    assert listed(user_id="zoe", created_before="2026-01-01T01:30:00Z") == ["s0"]
    refused = call("GET", "/v1/sessions", query={"created_after": "yesterday"})
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "created_after")


def test_ending_a_session_names_its_extraction_and_waits_for_it(
    call: Client, service: Service
) -> None:
    call.append("s", "fact: likes tea")
    pending = call("POST", "/v1/sessions/s/end", {}).json
    assert (pending["status"], pending["state"], pending["job_id"]) == (
        "ended",
        "pending",
        service.outbox[-1].id,
    )
    service.work_while_waiting()
    done = call("POST", "/v1/sessions/s/end", {"wait": 5}).json
    assert (done["job_id"], done["state"]) == (pending["job_id"], "done")
    create(call, session_id="empty")
    nothing = call("POST", "/v1/sessions/empty/end").json
    assert (nothing["job_id"], nothing["state"]) == (None, "done")


READS = ["", "/messages", "/messages/1", "/context", "/compactions"]


@pytest.mark.parametrize("path", READS)
def test_a_read_may_assert_whose_the_session_is(call: Client, path: str) -> None:
    call.append("s", "hello")
    place = f"/v1/sessions/s{path}"
    assert call("GET", place, query={"user_id": "sarah"}).json == call("GET", place).json
    for user, status in (("bob", 404), ("a b", 400)):
        refused = call("GET", place, query={"user_id": user})
        assert (refused.status, refused.json["code"]) == (
            status,
            "session_not_found" if status == 404 else "invalid_id",
        )


def test_a_context_for_a_message_may_assert_it_too_and_a_write_may_not(call: Client) -> None:
    call.append("s", "hello")
    assert call("POST", "/v1/sessions/s/context", {}, query={"user_id": "sarah"}).status == 200
    assert (
        call("POST", "/v1/sessions/s/context", {}, query={"user_id": "bob"}).json["code"]
        == "session_not_found"
    )
    assert call("DELETE", "/v1/sessions/s", query={"user_id": "sarah"}).status == 422


def test_a_body_where_none_is_taken_is_refused(call: Client) -> None:
    (saved,) = call.save("likes tea").json["memories"]
    refused = call("POST", f"/v1/users/sarah/memories/{saved['id']}/revert", {"to": 1})
    assert (refused.status, refused.json["errors"]) == (
        422,
        [{"field": "to", "message": "is not known"}],
    )
