"""How long a session and what is extracted from it are kept, as the session itself says it by
kind.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.service import DAY
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/own"
MEMORIES = "/v1/users/sarah/memories"


def begin(call: Client, *, session: str = "own", retention: Any = None, **more: Any) -> Any:
    memory = {} if retention is None else {"retention": retention}
    body = {
        "session_id": session,
        "user_id": "sarah",
        "memory": {"extract": "manual", **memory},
        **more,
    }
    return call("POST", "/v1/sessions", body)


def say(call: Client, service: Service, *texts: str, session: str = "own") -> None:
    assert call.append(session, *texts).status == 201
    call("POST", f"/v1/sessions/{session}/extract", {})
    service.drain()


def known(call: Client) -> list[str]:
    return sorted(
        memory["content"] for memory in call("GET", MEMORIES, query={"limit": 100}).json["memories"]
    )


def days(service: Service) -> dict[str, int | None]:
    """After how many days from when it was last confirmed each record expires."""
    return {
        record.content: None
        if record.expires_at is None
        else (record.expires_at - (record.confirmed_at or 0)) // DAY
        for record in service.records()
    }


def test_what_is_extracted_from_a_session_expires_by_the_sessions_own_setting(
    call: Client, service: Service
) -> None:
    begin(call, retention={"facts": "10d"})
    begin(call, session="usual")
    say(call, service, "fact: lives in Ulm")
    say(call, service, "fact: works in Rome", session="usual")
    service.time.advance(9 * DAY)
    assert known(call) == ["lives in Ulm", "works in Rome"]
    service.time.advance(DAY)
    assert known(call) == ["works in Rome"]
    service.sweep_all()
    assert service.contents() == ["works in Rome"]


@pytest.mark.parametrize("kept", ["2y", "permanent"])
def test_it_may_be_kept_longer_than_its_session_and_than_the_tenant_keeps_it(
    call: Client, service: Service, kept: str
) -> None:
    begin(call, retention={"facts": kept})
    say(call, service, "fact: lives in Ulm")
    service.time.advance(700 * DAY)
    service.sweep_all()
    service.drain()
    assert call("GET", PATH).status == 404
    assert known(call) == ["lives in Ulm"]


def test_a_kind_that_the_session_does_not_name_is_kept_as_the_tenant_says(
    call: Client, service: Service
) -> None:
    begin(call, retention={"events": "10d"})
    say(call, service, "fact: lives in Ulm")
    assert days(service) == {"lives in Ulm": 365}


def test_a_later_change_reaches_what_was_extracted_before(call: Client, service: Service) -> None:
    begin(call, retention={"facts": "10d"})
    begin(call, session="other", retention={"facts": "20d"})
    for tens in range(0, 60, 30):
        say(call, service, *(f"fact: has {number} books" for number in range(tens, tens + 30)))
    say(call, service, "fact: works in Rome", session="other")
    call("POST", MEMORIES, {"memories": [{"type": "fact", "content": "Saved by hand."}]})
    for retention, expected in (
        ({"facts": "2y"}, 730),
        ({"facts": "permanent"}, None),
        ({}, 365),
        ({"facts": "5d"}, 5),
    ):
        assert call("PATCH", PATH, {"memory": {"retention": retention}}).status == 200
        service.drain()
        found = days(service)
        assert (found.pop("works in Rome"), found.pop("Saved by hand.")) == (20, 365)
        assert set(found.values()) == {expected}
        assert len(found) == 60
    (*_, job) = (job for job in service.all_jobs() if job.kind == "retain")
    assert (job.state, job.session, job.result) == ("done", "own", {"sessions": 0, "memories": 60})
    service.time.advance(5 * DAY)
    assert known(call) == ["Saved by hand.", "works in Rome"]


def test_of_two_changes_the_later_one_holds_in_whatever_order_their_jobs_run(
    call: Client, service: Service
) -> None:
    begin(call)
    say(call, service, "fact: lives in Ulm")
    for kept in ("10d", "20d"):
        call("PATCH", PATH, {"memory": {"retention": {"facts": kept}}})
    first, second = (job for job in service.outbox if job.kind == "retain")
    service.handle(second)
    service.handle(first)
    assert days(service) == {"lives in Ulm": 20}


def test_a_change_of_anything_else_begins_no_job(call: Client, service: Service) -> None:
    begin(call, retention={"facts": "10d"})
    call("PATCH", PATH, {"memory": {"max_tokens": 5_000}, "metadata": {"a": "b"}})
    call("PATCH", PATH, {"memory": {"retention": {"facts": "10d"}}})
    assert not [job for job in service.outbox if job.kind == "retain"]


def test_a_change_of_the_tenants_leaves_a_sessions_own_days(call: Client, service: Service) -> None:
    begin(call, retention={"facts": "10d"})
    begin(call, session="usual")
    say(call, service, "fact: lives in Ulm")
    say(call, service, "fact: works in Rome", session="usual")
    call("PUT", "/v1/settings", {"memory_days": 90})
    service.drain()
    assert days(service) == {"lives in Ulm": 10, "works in Rome": 90}


def test_what_two_sessions_say_is_kept_by_the_longer_of_their_settings(
    call: Client, service: Service
) -> None:
    for session, kept in (("short", "10d"), ("own", "30d"), ("shorter", "5d")):
        begin(call, session=session, retention={"facts": kept})
        say(call, service, "fact: lives in Ulm", session=session)
        service.time.advance(DAY)
    assert days(service) == {"lives in Ulm": 30}
    call("PATCH", "/v1/sessions/short", {"memory": {"retention": {"facts": "2d"}}})
    service.drain()
    assert days(service) == {"lives in Ulm": 30}


def test_a_session_that_was_begun_again_under_its_id_changes_nothing_of_the_one_before(
    call: Client, service: Service
) -> None:
    begin(call, retention={"facts": "10d"})
    say(call, service, "fact: lives in Ulm")
    call("DELETE", PATH, query={"keep_memories": "true"})
    service.drain()
    begin(call)
    call("PATCH", PATH, {"memory": {"retention": {"facts": "2y"}}})
    service.drain()
    assert days(service) == {"lives in Ulm": 10}


def test_conversations_are_the_days_of_the_session_itself(call: Client, service: Service) -> None:
    assert (
        begin(call, retention={"conversations": "90d", "facts": "2y"}).json["retention_days"] == 90
    )
    shown = call("GET", PATH).json
    assert {kind: kept for kind, kept in shown["memory"]["retention"].items() if kept} == {
        "facts": "2y"
    }
    assert call("PATCH", PATH, {"retention_days": 7}).json["retention_days"] == 7
    changed = call("PATCH", PATH, {"memory": {"retention": {"conversations": "permanent"}}}).json
    assert (changed["retention_days"], changed["expires_at"]) == (None, None)
    assert call("PATCH", PATH, {"metadata": {"a": "b"}}).json["retention_days"] is None
    assert (
        call("PUT", PATH, {"memory": {"retention": {"conversations": "1y"}}}).json["retention_days"]
        == 365
    )
    assert call("PUT", PATH, {}).json["retention_days"] == 30


def test_a_tenants_default_holds_for_new_sessions_also_those_that_an_append_begins(
    call: Client, service: Service
) -> None:
    kept = {"conversations": "90d", "facts": "10d"}
    call("PUT", "/v1/settings", {"memory": {"extract": "manual", "retention": kept}})
    say(call, service, "fact: lives in Ulm", session="own")
    assert call("GET", PATH).json["retention_days"] == 90
    assert days(service) == {"lives in Ulm": 10}
    assert begin(call, session="other", retention_days=5).json["retention_days"] == 5


@pytest.mark.parametrize(
    "retention",
    [
        {"facts": "0d"},
        {"facts": "30"},
        {"facts": 30},
        {"tasks": "1d"},
        {"conversations": "x"},
        "1y",
        None,
    ],
)
def test_a_time_to_keep_that_is_none_is_422_and_changes_nothing(
    call: Client, retention: Any
) -> None:
    begin(call, retention={"facts": "10d"})
    before = call("GET", PATH).json
    refused = call("PATCH", PATH, {"memory": {"retention": retention}})
    assert (refused.status, refused.json["errors"][0]["field"][:16]) == (422, "memory.retention")
    assert call("GET", PATH).json == before


def test_two_ways_to_say_how_long_the_session_is_kept_are_not_mixed(call: Client) -> None:
    assert begin(call, retention={"conversations": "7d"}, retention_days=30).status == 422
    assert call("GET", PATH).status == 404
