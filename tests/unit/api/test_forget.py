"""Forgetting by filter: said first if asked for, done by a job, never more than what matched when
it was asked.
"""

from typing import Any

import pytest
from palimpsest.memory.removal.payloads import ForgetPayload

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

MEMORIES = "/v1/users/sarah/memories"
FORGET = f"{MEMORIES}/forget"
MEMORY: dict[str, Any] = {
    "type": "fact",
    "content": "works at A",
    "topic_key": "employer",
    "subject": "Sarah's work",
    "importance": 0.8,
    "agent_id": "coach",
    "source": {"session_id": "s1"},
    "metadata": {"secret": "4111", "level": 3},
}


def contents(call: Client, user: str = "sarah") -> list[str]:
    return sorted(
        row["content"] for row in call("GET", f"/v1/users/{user}/memories").json["memories"]
    )


@pytest.mark.parametrize(
    ("told", "forgotten"),
    [
        ({"types": ["fact"]}, 2),
        ({"types": ["event", "task"]}, 0),
        ({"min_importance": 0.8}, 1),
        ({"subject": "Sarah's work"}, 1),
        ({"subject": "sarah's WORK"}, 1),
        ({"session_id": "s1"}, 1),
        ({"agent_id": "coach"}, 1),
        ({"agent_id": "nobody"}, 0),
        ({"metadata": {"secret": "4111"}}, 1),
        ({"metadata": {"secret": "4111", "level": 3.0}}, 1),
        ({"metadata": {"secret": 4111}}, 0),
        ({"metadata": {"secret": "4111", "level": 4}}, 0),
        ({"created_before": "2026-01-01T00:00:00Z"}, 1),
        ({"created_after": "2026-01-01T00:00:01Z"}, 1),
        ({"created_after": "2027-01-01T00:00:00Z"}, 0),
    ],
)
def test_what_a_dry_run_names_is_what_the_job_forgets(
    call: Client, service: Service, told: dict[str, Any], forgotten: int
) -> None:
    call.save(MEMORY)
    service.time.advance(60)
    call.save("likes tea")
    before = contents(call)
    named = call("POST", FORGET, {"filter": told, "dry_run": True}).json
    assert (named["count"], len(named["ids"])) == (forgotten, forgotten)
    assert contents(call) == before
    service.work_while_waiting()
    job = call("POST", FORGET, {"filter": told, "wait": 5}).json
    assert (job["kind"], job["state"], job["result"]) == (
        "forget",
        "done",
        {"forgotten": forgotten},
    )
    assert (job["user_id"], job["session_id"], job["range"]) == ("sarah", None, None)
    assert len(contents(call)) == 2 - forgotten
    for name in named["ids"]:
        assert call("GET", f"{MEMORIES}/{name}").status == 404


def test_without_a_wait_a_job_is_answered_that_can_be_read(call: Client, service: Service) -> None:
    call.save(MEMORY)
    answer = call("POST", FORGET, {"filter": {"types": ["fact"]}})
    assert (answer.status, answer.json["state"]) == (202, "pending")
    service.drain()
    assert call("GET", answer.headers["Location"]).json["result"] == {"forgotten": 1}


def test_every_version_of_what_is_forgotten_goes_with_it(call: Client, service: Service) -> None:
    versions = []
    for name in "ABC":
        (row,) = call.save({**MEMORY, "content": f"works at {name}"}).json["memories"]
        versions.append(row["id"])
        service.time.advance(60)
    call("POST", FORGET, {"filter": {"subject": "Sarah's work"}})
    service.drain()
    assert [call("GET", f"{MEMORIES}/{name}").status for name in versions] == [404, 404, 404]
    assert contents(call) == []


def test_a_superseded_version_that_matches_alone_is_not_forgotten(
    call: Client, service: Service
) -> None:
    call.save({**MEMORY, "importance": 0.9})
    service.time.advance(60)
    call.save({**MEMORY, "content": "works at B", "importance": 0.1})
    call("POST", FORGET, {"filter": {"min_importance": 0.9}})
    service.drain()
    assert contents(call) == ["works at B"]


def test_what_is_saved_after_the_request_stays(call: Client, service: Service) -> None:
    call.save("likes tea")
    answer = call("POST", FORGET, {"filter": {"types": ["fact"]}})
    service.time.advance(1)
    call.save("likes coffee", "likes tea")
    service.drain()
    assert call("GET", answer.headers["Location"]).json["result"] == {"forgotten": 1}
    assert contents(call) == ["likes coffee"]


def test_nobody_elses_memories_are_forgotten(call: Client, service: Service) -> None:
    other = service.client(tenant="other")
    for who, user in ((call, "sarah"), (call, "bob"), (other, "sarah")):
        who.save(MEMORY, user=user)
    call("POST", FORGET, {"filter": {"types": ["fact"]}})
    service.drain()
    assert (contents(call), contents(call, "bob"), contents(other)) == (
        [],
        ["works at A"],
        ["works at A"],
    )


def test_the_job_holds_no_text(call: Client, service: Service) -> None:
    call("POST", FORGET, {"filter": {"subject": "Sarah's work", "metadata": {"secret": "4111"}}})
    (job,) = service.outbox
    assert "work" not in repr(job)
    assert "4111" not in repr(job)


def test_equal_words_of_two_users_are_not_told_to_be_equal(call: Client, service: Service) -> None:
    for user in ("sarah", "bob"):
        call("POST", f"/v1/users/{user}/memories/forget", {"filter": {"subject": "Sarah's work"}})
    mine, theirs = (job.payload_as(ForgetPayload).subject for job in service.outbox)
    assert mine != theirs


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "filter"),
        ({"filter": {}}, "filter"),
        ({"filter": {"types": [], "metadata": {}}}, "filter"),
        ({"filter": {"types": ["opinion"]}}, "filter.types.0"),
        ({"filter": {"user_id": "bob"}}, "filter.user_id"),
        ({"filter": {"tenant": "other"}}, "filter.tenant"),
        ({"filter": {"min_importance": 2}}, "filter.min_importance"),
        ({"filter": {"created_after": "now"}}, "filter.created_after"),
        ({"filter": {"metadata": {"a": {"$ne": 1}}}}, "filter.metadata.a"),
        ({"filter": {"query": "*"}}, "filter.query"),
        ({"filter": {"types": ["fact"]}, "dry_run": "yes"}, "dry_run"),
        ({"filter": {"types": ["fact"]}, "wait": 21}, "wait"),
    ],
)
def test_what_is_no_filter_is_422_and_nothing_begins(
    call: Client, service: Service, body: dict[str, Any], field: str
) -> None:
    call.save(MEMORY)
    answer = call("POST", FORGET, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)
    assert service.outbox == []


def test_forgetting_needs_the_scope_write(service: Service) -> None:
    answer = service.client(scopes="read")(
        "POST", FORGET, {"filter": {"types": ["fact"]}, "dry_run": True}
    )
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")
