"""The tenant's settings, and jobs that can be waited for."""

from datetime import datetime
from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

SETTINGS = "/v1/settings"
KEPT = {
    "conversations": "30d",
    "facts": "1y",
    "events": "1y",
    "instructions": "1y",
    "preferences": "permanent",
}
BUILT_IN = {
    "memory": {},
    "retention_days": 30,
    "memory_days": 365,
    "retention": KEPT,
    "models": None,
    "secrets": "keep_in_message",
    "answer_floor": None,
    "keep_model_calls": False,
    "retention_job": None,
    "limits": dict.fromkeys(("requests_per_second", "sessions", "memories", "model_cost_usd")),
}


def test_settings_are_the_built_in_ones_until_they_are_set(call: Client) -> None:
    assert call("GET", SETTINGS).json == BUILT_IN


def test_new_sessions_take_the_tenants_settings(call: Client) -> None:
    told = {
        "memory": {"strategy": "trim", "max_tokens": 700},
        "retention_days": None,
        "memory_days": None,
        "models": ["small"],
    }
    assert call("PUT", SETTINGS, told).json.items() >= told.items()
    assert call("GET", SETTINGS).json.items() >= told.items()
    call.append("s", "hello")
    session = call("GET", "/v1/sessions/s").json
    assert (session["memory"]["strategy"], session["memory"]["max_tokens"]) == ("trim", 700)
    assert session["expires_at"] is None


def test_what_is_not_said_goes_back_to_the_built_in_default(call: Client) -> None:
    call("PUT", SETTINGS, {"memory": {"max_tokens": 700}, "retention_days": 7})
    assert call("PUT", SETTINGS, {}).json | {"retention_job": None} == BUILT_IN


def test_a_put_without_a_body_is_refused_and_changes_nothing(call: Client) -> None:
    for_ever: dict[str, Any] = {
        "memory": {},
        "retention_days": None,
        "memory_days": None,
        "models": None,
        "secrets": "keep_in_message",
    }
    call("PUT", SETTINGS, for_ever)
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "system": "Be brief."})
    for path in (SETTINGS, "/v1/sessions/s"):
        for raw in (None, "", " "):
            answer = call("PUT", path, raw=raw)
            assert (answer.status, answer.json["code"]) == (400, "missing_body")
    assert call("GET", SETTINGS).json.items() >= for_ever.items()
    assert call("GET", "/v1/sessions/s").json["system"] == "Be brief."


def test_settings_are_the_tenants_own(call: Client, service: Service) -> None:
    call("PUT", SETTINGS, {"retention_days": 7})
    assert service.client(tenant="other")("GET", SETTINGS).json["retention_days"] == 30


@pytest.mark.parametrize(
    "body",
    [
        {"retention_days": 0},
        {"retention_days": -1},
        {"retention_days": 1.5},
        {"memory_days": 0},
        {"days": 3},
    ],
)
def test_wrong_settings_are_422(call: Client, body: dict[str, Any]) -> None:
    answer = call("PUT", SETTINGS, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, next(iter(body)))


@pytest.mark.parametrize(
    "kept",
    [
        {"facts": "0d"}, {"facts": "30"}, {"facts": "1.5y"}, {"facts": "-1d"}, {"facts": 30}, {"facts": "forever"},
        {"tasks": "1d"}, {"facts": "1y "}, "1y",
    ],
)  # fmt: skip
def test_a_time_to_keep_that_is_none_is_422_and_changes_nothing(call: Client, kept: object) -> None:
    answer = call("PUT", SETTINGS, {"retention": kept})
    assert (answer.status, answer.json["errors"][0]["field"].partition(".")[0]) == (
        422,
        "retention",
    )
    assert call("GET", SETTINGS).json == BUILT_IN


def test_each_kind_of_memory_may_be_kept_for_a_time_of_its_own(
    call: Client, service: Service
) -> None:
    kept = {"conversations": "2y", "facts": "10d", "events": "permanent", "preferences": "90d"}
    shown = call("PUT", SETTINGS, {"retention": kept}).json
    assert shown["retention"] == kept | {"instructions": "1y"}
    assert (shown["retention_days"], shown["memory_days"]) == (730, 365)
    told = [
        {"type": kind, "content": f"A word on {kind}."} for kind in ("fact", "event", "instruction")
    ]
    call("POST", "/v1/users/sarah/memories", {"memories": told})
    call("PUT", "/v1/users/sarah/preferences/theme", {"value": "dark"})
    service.time.advance(11 * 24 * 3600)
    types = {memory["type"] for memory in call("GET", "/v1/users/sarah/memories").json["memories"]}
    assert {"fact", "event", "instruction"} & types == {"event", "instruction"}
    assert call("GET", "/v1/users/sarah/preferences/theme").status == 200
    service.time.advance(80 * 24 * 3600)
    assert call("GET", "/v1/users/sarah/preferences/theme").status == 404


def test_two_ways_to_say_how_long_conversations_are_kept_are_not_mixed(call: Client) -> None:
    both = call("PUT", SETTINGS, {"retention": {"conversations": "7d"}, "retention_days": 30})
    assert (both.status, call("GET", SETTINGS).json) == (422, BUILT_IN)


DAYS = 24 * 3600


def test_a_session_may_be_kept_for_days_of_its_own(call: Client, service: Service) -> None:
    for name, days in (("short", 3), ("ever", None)):
        made = call(
            "POST", "/v1/sessions", {"session_id": name, "user_id": "sarah", "retention_days": days}
        )
        assert (made.status, made.json["retention_days"]) == (201, days)
    call("POST", "/v1/sessions", {"session_id": "usual", "user_id": "sarah"})
    call("PUT", SETTINGS, {"retention_days": 7})
    service.drain()
    shown = {name: call("GET", f"/v1/sessions/{name}").json for name in ("short", "usual", "ever")}
    assert {name: each["retention_days"] for name, each in shown.items()} == {
        "short": 3,
        "usual": 7,
        "ever": None,
    }
    assert shown["ever"]["expires_at"] is None
    call.append("short", "hello")  # counts from here on
    service.time.advance(3 * DAYS)
    assert [call("GET", f"/v1/sessions/{name}").status for name in shown] == [404, 200, 200]
    service.time.advance(30 * DAYS)
    service.sweep_all()
    assert [call("GET", f"/v1/sessions/{name}").status for name in shown] == [404, 404, 200]


def test_a_sessions_own_days_change_by_patch_and_go_back_to_the_tenants_by_put(
    call: Client, service: Service
) -> None:
    call.append("s", "hello")
    assert call("PATCH", "/v1/sessions/s", {"retention_days": 2}).json["retention_days"] == 2
    assert call("PATCH", "/v1/sessions/s", {"metadata": {"a": "b"}}).json["retention_days"] == 2
    assert call("PATCH", "/v1/sessions/s", {"retention_days": None}).json["expires_at"] is None
    assert call("PUT", "/v1/sessions/s", {"retention_days": 5}).json["retention_days"] == 5
    assert call("PUT", "/v1/sessions/s", {}).json["retention_days"] == 30
    for wrong in (0, -1, "7", 1.5, 36_501):
        assert call("PATCH", "/v1/sessions/s", {"retention_days": wrong}).status == 422
    call("PATCH", "/v1/sessions/s", {"retention_days": 1})
    service.time.advance(DAYS)
    service.sweep_all()
    service.drain()
    assert service.head("s").status == "deleted"


def test_a_session_is_gone_when_its_days_are_over(call: Client, service: Service) -> None:
    call("PUT", SETTINGS, {"retention_days": 7})
    call.append("s", "hello")
    service.time.advance(7 * 24 * 3600)
    assert call("GET", "/v1/sessions/s").status == 404


def test_settings_show_when_a_changed_retention_has_reached_what_exists(
    call: Client, service: Service
) -> None:
    call.append("s", "hello")
    job = call("PUT", SETTINGS, {"retention_days": 7}).json["retention_job"]
    assert job["state"] == "pending"
    assert call("GET", SETTINGS).json["retention_job"] == job
    before = call("GET", "/v1/sessions/s").json
    service.drain()
    assert call("GET", SETTINGS).json["retention_job"] == job | {"state": "done"}
    done = call("GET", f"/v1/jobs/{job['job_id']}").json
    assert (done["kind"], done["result"]) == ("retain", {"sessions": 1, "memories": 0})
    after = call("GET", "/v1/sessions/s").json
    kept = datetime.fromisoformat(after["expires_at"]) - datetime.fromisoformat(
        before["expires_at"]
    )
    before |= {"retention_days": 7}
    assert (kept.days, after | {"expires_at": None}) == (7 - 30, before | {"expires_at": None})


def test_a_job_is_read_when_it_ends_or_when_the_wait_is_over(
    call: Client, service: Service
) -> None:
    call.append("s", "hello")
    path = call("DELETE", "/v1/sessions/s").headers["Location"]
    assert call("GET", path, query={"wait": 3}).json["state"] == "pending"
    service.work_while_waiting()
    job = call("GET", path, query={"wait": 3}).json
    assert job["state"] == "done"
    assert job["usage"] == {"model_calls": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0}


def test_an_unknown_job_is_404_and_so_is_another_tenants(call: Client, service: Service) -> None:
    call.append("s", "hello")
    path = call("DELETE", "/v1/sessions/s").headers["Location"]
    for answer in (call("GET", "/v1/jobs/job_0"), service.client(tenant="other")("GET", path)):
        assert (answer.status, answer.json["code"]) == (404, "job_not_found")


def test_the_floor_of_answers_is_the_tenant_s(call: Client) -> None:
    memory = {"type": "fact", "content": "My dog is called Rex."}
    call("POST", "/v1/users/sarah/memories", {"memories": [memory]})
    asked = {"query": "What is my dog called?", "answer": True}

    def answered() -> str:
        found = call("POST", "/v1/users/sarah/recall", asked).json
        assert 0 < found["answerable"] < 1
        assert len(found["memories"]) == 1
        return str(found["answer"])

    call("PUT", SETTINGS, {"answer_floor": 0})
    assert "Rex" in answered()
    call("PUT", SETTINGS, {"answer_floor": 1})
    assert answered() == ""
    assert call("PUT", SETTINGS, {"answer_floor": 1.5}).status == 422
