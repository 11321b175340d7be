"""Deleting sessions by filter: said first if asked for, done by a job, each as if it had been
deleted alone.
"""

from typing import Any

import pytest
from palimpsest.jobs.steps import STEP

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

FORGET = "/v1/sessions/forget"


def left(call: Client) -> list[str]:
    return sorted(session["session_id"] for session in call("GET", "/v1/sessions").json["sessions"])


@pytest.fixture
def talks(call: Client, service: Service) -> Client:
    call.append("a", "hello", agent_id="hr")
    call.append("b", "hello", agent_id="it")
    call.append("c", "hello", agent_id="hr", user_id="bob")
    call("POST", "/v1/sessions/b/end")
    service.time.advance(1)
    return call


@pytest.mark.parametrize(
    ("told", "gone"),
    [
        ({"user_id": "sarah"}, "ab"),
        ({"agent_id": "hr"}, "ac"),
        ({"status": "ended"}, "b"),
        ({"user_id": "sarah", "status": "active"}, "a"),
        ({"user_id": "nobody"}, ""),
    ],
)
def test_what_a_dry_run_names_is_what_the_job_deletes(
    talks: Client, service: Service, told: dict[str, Any], gone: str
) -> None:
    named = talks("POST", FORGET, {**told, "dry_run": True}).json
    assert (named["dry_run"], named["count"], sorted(named["ids"])) == (True, len(gone), list(gone))
    assert left(talks) == ["a", "b", "c"]
    service.work_while_waiting()
    job = talks("POST", FORGET, {**told, "wait": 5}).json
    assert (job["kind"], job["state"], job["result"]) == (
        "forget_sessions",
        "done",
        {"forgotten": len(gone)},
    )
    assert (job["user_id"], job["session_id"]) == (told.get("user_id"), None)
    assert left(talks) == [name for name in "abc" if name not in gone]
    service.drain()
    partitions = service.sessions.state.partitions
    assert all(not partitions["acme", name].messages.between(0, 99) for name in gone)


@pytest.mark.parametrize(("keep", "kept"), [(True, 1), (False, 0)])
def test_their_memories_go_with_them_unless_they_shall_stay(
    talks: Client, service: Service, *, keep: bool, kept: int
) -> None:
    talks.save({"type": "fact", "content": "likes tea", "source": {"session_id": "a"}})
    talks("POST", FORGET, {"user_id": "sarah", "keep_memories": keep})
    service.drain()
    assert talks("GET", "/v1/users/sarah").json["memories"]["total"] == kept


def test_the_job_is_done_once_nothing_of_the_sessions_is_left_to_be_seen(
    talks: Client, service: Service
) -> None:
    talks.save({"type": "fact", "content": "likes tea", "source": {"session_id": "a"}})
    job_id = talks("POST", FORGET, {"user_id": "sarah"}).json["job_id"]
    seen = []
    while service.delivered < len(service.outbox):
        service.delivered += 1
        service.handle_to_the_end(service.outbox[service.delivered - 1])
        seen.append(
            (service.job(job_id).state, talks("GET", "/v1/users/sarah").json["memories"]["total"])
        )
    assert ("running", 1) in seen
    assert ("done", 1) not in seen
    assert seen[-1] == ("done", 0)


def test_a_session_that_begins_after_the_request_stays(talks: Client, service: Service) -> None:
    answer = talks("POST", FORGET, {"user_id": "sarah"})
    assert (answer.status, answer.json["state"]) == (202, "pending")
    service.time.advance(1)
    talks.append("d", "hello")
    service.drain()
    assert left(talks) == ["c", "d"]
    assert talks("GET", answer.headers["Location"]).json["result"] == {"forgotten": 2}


def test_many_sessions_take_several_steps_and_a_step_delivered_twice_changes_nothing(
    call: Client, service: Service
) -> None:
    for number in range(60):
        call.append(f"s{number}", "hello")
    service.time.advance(1)
    job_id = call("POST", FORGET, {"user_id": "sarah"}).json["job_id"]

    def slow(step: str) -> None:
        if step == "after commit":
            service.time.advance(STEP.total_seconds() / 20)

    service.sessions.state.faults = slow
    service.drain()
    steps = [job for job in service.outbox if job.kind == "forget_sessions"]
    assert len(steps) > 1
    for step in steps:
        service.handle(step)
    assert left(call) == []
    assert call("GET", f"/v1/jobs/{job_id}").json["result"] == {"forgotten": 60}


def test_nobody_elses_sessions_are_touched(talks: Client, service: Service) -> None:
    other = service.client(tenant="other")
    other.append("a", "hello", agent_id="hr")
    talks("POST", FORGET, {"agent_id": "hr"})
    service.drain()
    assert left(other) == ["a"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "body"),
        ({"dry_run": True}, 422, "body"),
        ({"status": "deleted"}, 422, "status"),
        ({"user_id": "sarah", "tenant": "other"}, 422, "tenant"),
        ({"user_id": "sarah", "wait": 21}, 422, "wait"),
        ({"user_id": "a/b"}, 400, "user_id"),
    ],
)
def test_what_limits_nothing_or_is_no_filter_is_refused_and_nothing_begins(
    talks: Client, service: Service, body: dict[str, Any], status: int, field: str
) -> None:
    before = len(service.outbox)
    answer = talks("POST", FORGET, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)
    assert len(service.outbox) == before


def test_forgetting_sessions_needs_the_scope_write(service: Service) -> None:
    answer = service.client(scopes="read")("POST", FORGET, {"user_id": "sarah"})
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")


def test_sessions_without_activity_for_so_long_are_forgotten(
    talks: Client, service: Service
) -> None:
    service.time.advance(15 * 24 * 3600)
    talks(
        "POST", "/v1/sessions/a/messages", {"messages": [{"role": "user", "content": "Still here"}]}
    )
    for session in ("b", "c"):
        talks("PATCH", f"/v1/sessions/{session}", {"metadata": {"x": 1}})
    service.time.advance(8 * 24 * 3600)
    talks(
        "POST", "/v1/sessions/a/messages", {"messages": [{"role": "user", "content": "And still"}]}
    )
    would = talks("POST", FORGET, {"older_than": "7d", "dry_run": True}).json["ids"]
    assert sorted(would) == ["b", "c"]
    assert talks("POST", FORGET, {"older_than": "30d", "dry_run": True}).json["ids"] == []
    assert talks("POST", FORGET, {"older_than": "7d", "user_id": "bob"}).status == 202
    service.drain()
    assert left(talks) == ["a", "b"]
    talks("POST", FORGET, {"older_than": "7d"})
    talks.append("b", "Back again", agent_id="it")  # before the job has run
    service.drain()
    assert left(talks) == ["a", "b"]
    for wrong in ("10", "0d", "ten days", "-1d", 10):
        assert talks("POST", FORGET, {"older_than": wrong}).status == 422


@pytest.mark.parametrize(
    "moment", ["2026-01-16", "2026-01-16T00:00:00Z", "2026-01-16T02:00:00+02:00"]
)
def test_sessions_without_activity_since_a_date_are_forgotten(
    talks: Client, service: Service, moment: str
) -> None:
    service.time.advance(15 * 24 * 3600)  # to the 16th, as `talks` begins on the 1st
    talks.append("a", "Still here", agent_id="hr")
    assert sorted(talks("POST", FORGET, {"older_than": moment, "dry_run": True}).json["ids"]) == [
        "b",
        "c",
    ]
    talks("POST", FORGET, {"older_than": moment})
    service.drain()
    assert left(talks) == ["a"]


@pytest.mark.parametrize(
    "wrong",
    ["2026-13-01", "2026-01-02T00:00:00", "2026-1-2", "20260102", "2026-01-02", "9999-01-01"],
)
def test_what_is_no_past_date_forgets_no_session(talks: Client, wrong: str) -> None:
    answer = talks("POST", FORGET, {"older_than": wrong})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "older_than")
