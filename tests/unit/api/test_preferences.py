"""Preferences through the front door: set, read, listed, deleted; kept for ever, in contexts and
found by recall.
"""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from palimpsest.errors import Conflict
from palimpsest.memory.remember import Remember

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PREFERENCES = "/v1/users/sarah/preferences"


def put(call: Client, key: str, value: Any) -> Any:
    return call("PUT", f"{PREFERENCES}/{key}", {"value": value})


def values(call: Client, user: str = "sarah") -> dict[str, Any]:
    rows = call("GET", f"/v1/users/{user}/preferences").json["preferences"]
    return {row["key"]: row["value"] for row in rows}


@pytest.mark.parametrize(
    "value", [None, False, 0, 1.5, "", "Deutsch", [], {"answers": {"length": ["short"]}}]
)
def test_any_json_value_comes_back_as_it_was_set(call: Client, value: Any) -> None:
    made = put(call, "answers.Style", value)
    assert (made.status, made.json["value"]) == (201, value)
    assert call("GET", f"{PREFERENCES}/answers.Style").json == made.json
    assert call("GET", PREFERENCES).json == {"preferences": [made.json], "next_cursor": None}


def test_a_newer_value_replaces_and_the_older_one_stays_in_the_history(
    call: Client, service: Service
) -> None:
    first = put(call, "theme", "dark").json
    service.time.advance(60)
    assert put(call, "theme", "Dark").status == 201
    same = put(call, "theme", "Dark")
    assert (same.status, same.json["updated_at"]) == (200, "2026-01-01T00:01:00.000Z")
    chain = call("GET", f"/v1/users/sarah/memories/{same.json['memory_id']}/history").json[
        "versions"
    ]
    assert [(row["data"], row["type"], row["version"]) for row in chain] == [
        ("Dark", "preference", 2), ("dark", "preference", 1)
    ]  # fmt: skip
    assert call("POST", f"/v1/users/sarah/memories/{first['memory_id']}/revert").status == 200
    assert values(call) == {"theme": "dark"}


def test_keys_that_differ_in_case_or_signs_are_two_preferences(call: Client) -> None:
    for number, key in enumerate(("theme", "Theme", "the.me", "the_me"), 1):
        put(call, key, number)
    assert values(call) == {"Theme": 2, "the.me": 3, "the_me": 4, "theme": 1}


def test_several_are_set_at_once_and_the_others_stay(call: Client) -> None:
    put(call, "theme", "dark")
    answer = call("PUT", PREFERENCES, {"preferences": {"language": "German", "emoji": False}})
    assert [row["key"] for row in answer.json["preferences"]] == ["language", "emoji"]
    assert values(call) == {"emoji": False, "language": "German", "theme": "dark"}


def test_pages_join_to_the_whole_list(call: Client) -> None:
    call("PUT", PREFERENCES, {"preferences": {f"key-{number:02}": number for number in range(7)}})
    found, cursor = [], None
    while cursor != "":
        page = call(
            "GET", PREFERENCES, query={"limit": 3} | ({"cursor": cursor} if cursor else {})
        ).json
        found += [row["value"] for row in page["preferences"]]
        cursor = page["next_cursor"] or ""
    assert found == list(range(7))


def test_what_is_deleted_is_gone_with_its_history_and_may_be_set_again(call: Client) -> None:
    first = put(call, "theme", "dark").json
    put(call, "theme", "light")
    assert call("DELETE", f"{PREFERENCES}/theme").json == {"id": "theme", "deleted": True}
    assert call("GET", f"{PREFERENCES}/theme").json["code"] == "preference_not_found"
    assert call("GET", f"/v1/users/sarah/memories/{first['memory_id']}").status == 404
    assert call("DELETE", f"{PREFERENCES}/theme").json["code"] == "preference_not_found"
    assert put(call, "theme", "dark").status == 201
    assert values(call) == {"theme": "dark"}


def test_all_are_deleted_by_a_job_and_facts_stay(call: Client, service: Service) -> None:
    service.work_while_waiting()
    call.save("likes tea")
    call("PUT", PREFERENCES, {"preferences": {"theme": "dark", "language": "German"}})
    assert call("DELETE", PREFERENCES, query={"wait": 5}).status == 200
    assert values(call) == {}
    assert service.contents() == ["likes tea"]


def test_they_never_expire_and_facts_do(call: Client, service: Service) -> None:
    service.work_while_waiting()
    assert call("PUT", "/v1/settings", {"memory_days": 1}).status == 200
    put(call, "theme", "dark")
    call.save("likes tea")
    service.time.advance(400 * 24 * 3600)
    assert values(call) == {"theme": "dark"}
    assert [row["type"] for row in call("GET", "/v1/users/sarah/memories").json["memories"]] == [
        "preference"
    ]


def test_a_context_has_a_line_for_each_and_recall_finds_them(
    call: Client, service: Service
) -> None:
    put(call, "answer_language", "German & short")
    call.append("s", "Hello!")
    service.brought_up_to_date()
    context = call("GET", "/v1/sessions/s/context").json
    assert "\n- Preference answer_language: German &amp; short\n" in context["memory_prompt"]
    assert [row["type"] for row in context["extracted_facts"]] == ["preference"]
    found = call(
        "POST", "/v1/users/sarah/recall", {"query": "In which language shall I answer?"}
    ).json["memories"]
    assert [(row["type"], row["content"]) for row in found] == [
        ("preference", "Preference answer_language: German & short")
    ]


def test_the_newest_are_in_a_context_however_many_memories_are_newer(
    call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.context.blocks.extractive.NEWEST", 2)
    monkeypatch.setattr("palimpsest.context.blocks.extractive.OLDEST", 1)
    call.save("was first")
    put(call, "theme", "dark")
    call.save("likes tea", "sings", "runs")
    call.append("s", "Hello!")
    assert "Preference theme: dark" in call("GET", "/v1/sessions/s/context").json["memory_prompt"]


def test_they_are_the_users_and_the_tenants_own(call: Client, service: Service) -> None:
    put(call, "theme", "dark")
    other = service.client(tenant="other")
    assert values(other) == values(call, "david") == {}
    assert other("GET", f"{PREFERENCES}/theme").status == 404
    assert other("DELETE", f"{PREFERENCES}/theme").status == 404
    assert values(call) == {"theme": "dark"}


def test_erasing_the_user_erases_them(call: Client, service: Service) -> None:
    service.work_while_waiting()
    put(call, "theme", "dark")
    assert call("DELETE", "/v1/users/sarah", query={"wait": 5}).status == 200
    assert values(call) == {}
    assert put(call, "theme", "dark").status == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "value"),
        ({"value": "x", "more": 1}, "more"),
        ({"value": "x" * 16_383}, "value"),
        ({"value": {"deep": ["é" * 8_200]}}, "value"),
    ],
)
def test_a_value_that_is_missing_or_over_16_kb_is_named(
    call: Client, body: Any, field: str
) -> None:
    refused = call("PUT", f"{PREFERENCES}/theme", body)
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, field)
    assert values(call) == {}


@pytest.mark.parametrize("key", ["...", "a%23b", "%2E%2E", "a" * 129, "%00", "th\u00e9me"])
def test_a_key_that_is_no_id_is_400(call: Client, key: str) -> None:
    refused = put(call, key, 1)
    assert (refused.status, refused.json["code"]) == (400, "invalid_id")
    assert call("PUT", PREFERENCES, {"preferences": {"a b": 1}}).status == 400
    assert values(call) == {}


def test_the_five_hundred_and_first_is_refused_and_a_stored_one_may_change(
    call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.memory.preferences.MOST_PREFERENCES", 3)
    call("PUT", PREFERENCES, {"preferences": {"a": 1, "b": 2, "c": 3}})
    refused = call("PUT", PREFERENCES, {"preferences": {"a": 9, "d": 4}})
    assert (refused.status, refused.json["code"]) == (409, "too_many_preferences")
    assert put(call, "a", 9).status == 201
    assert values(call) == {"a": 9, "b": 2, "c": 3}


def test_more_than_there_is_room_for_are_refused_whole_also_where_they_take_several_transactions(
    call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.memory.preferences.MOST_PREFERENCES", 29)
    monkeypatch.setattr("palimpsest_local.stores.memories.MOST_ITEMS", 40)
    thirty = {f"k{number}": number for number in range(30)}
    assert call("PUT", PREFERENCES, {"preferences": thirty}).json["code"] == "too_many_preferences"
    assert values(call) == {}
    del thirty["k0"]
    assert call("PUT", PREFERENCES, {"preferences": thirty}).status in (200, 201)
    assert values(call) == thirty


def test_what_was_deleted_by_its_memory_id_comes_back_only_where_there_is_room(
    call: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.memory.preferences.MOST_PREFERENCES", 2)
    older = put(call, "a", 1).json["memory_id"]
    service.time.advance(60)
    newer = put(call, "a", 2).json["memory_id"]
    call("DELETE", f"/v1/users/sarah/memories/{newer}")
    call("PUT", PREFERENCES, {"preferences": {"b": 1, "c": 1}})
    refused = call("POST", f"/v1/users/sarah/memories/{older}/revert", {})
    assert (refused.status, refused.json["code"]) == (409, "too_many_preferences")
    call("DELETE", f"{PREFERENCES}/b")
    assert call("POST", f"/v1/users/sarah/memories/{older}/revert", {}).status == 200
    assert values(call) == {"a": 1, "c": 1}


@pytest.mark.parametrize("at_once", [1, 4])
def test_many_writers_at_once_do_not_pass_the_limit(
    service: Service, call: Client, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Every writer counts before any has written: the first commit makes the others count again."""
    monkeypatch.setattr("palimpsest.memory.preferences.MOST_PREFERENCES", 5)
    set_, writers = service.memories_app.preferences.set, 8
    counting, prepared = threading.Barrier(writers), service.memories_app.remember.prepared
    first = threading.local()

    def together(*given: Any) -> Any:
        made = prepared(*given)
        if not hasattr(first, "done"):
            first.done = True
            counting.wait(timeout=30)
        return made

    monkeypatch.setattr(Remember, "prepared", lambda _, *given: together(*given))

    def write(number: int) -> bool:
        try:
            set_(SARAH, {f"k{number}-{n}": n for n in range(at_once)})
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(writers) as pool:
        stored = list(pool.map(write, range(writers)))
    assert sum(stored) == 5 // at_once
    assert len(values(call)) == sum(stored) * at_once


def test_a_memory_of_this_type_is_made_and_changed_as_a_preference_alone(call: Client) -> None:
    assert call.save({"type": "preference", "content": "likes tea"}).status == 422
    memory_id = put(call, "theme", "dark").json["memory_id"]
    refused = call(
        "PATCH", f"/v1/users/sarah/memories/{memory_id}", {"content": "Preference theme: light"}
    )
    assert (refused.status, refused.json["code"]) == (409, "is_preference")
    assert values(call) == {"theme": "dark"}


def test_a_key_that_may_not_read_sees_no_value(call: Client, service: Service) -> None:
    writer = service.client(scopes="write")
    put(call, "theme", "dark-secret")
    again = put(writer, "theme", "dark-secret")
    several = writer("PUT", PREFERENCES, {"preferences": {"theme": "dark-secret"}})
    assert again.status == several.status == 200
    assert "dark-secret" not in json.dumps([again.json, several.json])
    assert writer("GET", PREFERENCES).status == 403
