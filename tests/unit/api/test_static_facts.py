"""Static facts are the tenant's: stated by an admin, listed for all, seen by sessions that ask for
them.
"""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

FACTS = "/v1/static-facts"
POLICY = "Employees may work from home two days a week."


def test_a_fact_is_stated_replaced_listed_and_deleted(call: Client, service: Service) -> None:
    stated = call("PUT", f"{FACTS}/remote-work", {"content": POLICY})
    row = {
        "id": "remote-work",
        "content": POLICY,
        "agent_id": None,
        "updated_at": "2026-01-01T00:00:00.000Z",
    }
    assert (stated.status, stated.json) == (201, row)
    service.time.advance(60)
    again = call("PUT", f"{FACTS}/remote-work", {"content": "Three days a week.", "agent_id": "hr"})
    assert (again.status, again.json["agent_id"], again.json["updated_at"]) == (
        200,
        "hr",
        "2026-01-01T00:01:00.000Z",
    )
    assert call("GET", FACTS).json == {"static_facts": [again.json], "next_cursor": None}
    assert call("GET", f"{FACTS}/remote-work").json == again.json
    assert call("DELETE", f"{FACTS}/remote-work").json == {"id": "remote-work", "deleted": True}
    assert call("GET", FACTS).json["static_facts"] == []
    assert call("GET", f"{FACTS}/remote-work").json["code"] == "fact_not_found"
    gone = call("DELETE", f"{FACTS}/remote-work")
    assert (gone.status, gone.json["code"]) == (404, "fact_not_found")


def test_facts_are_the_tenants_own(call: Client, service: Service) -> None:
    call("PUT", f"{FACTS}/remote-work", {"content": POLICY})
    other = service.client(tenant="other")
    assert other("GET", FACTS).json["static_facts"] == []
    assert other("GET", f"{FACTS}/remote-work").status == 404
    assert other("DELETE", f"{FACTS}/remote-work").status == 404


def test_only_an_admin_states_them(call: Client, service: Service) -> None:
    call("PUT", f"{FACTS}/remote-work", {"content": POLICY})
    user = service.client(scopes="read write")
    for method, body in (("PUT", {"content": "x"}), ("DELETE", None)):
        answer = user(method, f"{FACTS}/remote-work", body)
        assert (answer.status, answer.json["code"]) == (403, "missing_scope")
    assert user("GET", FACTS).status == 200


def test_a_conversation_can_neither_change_nor_delete_one(call: Client, service: Service) -> None:
    call("PUT", f"{FACTS}/remote-work", {"content": POLICY})
    user = service.client(scopes="read write")
    for method, body in (("PATCH", {"content": "Five days."}), ("DELETE", None)):
        answer = user(method, "/v1/users/sarah/memories/remote-work", body)
        assert (answer.status, answer.json["code"]) == (405, "read_only_block")
        unknown = user(method, "/v1/users/sarah/memories/another", body)
        assert (unknown.status, unknown.json["code"]) == (404, "memory_not_found")
    assert call("GET", FACTS).json["static_facts"][0]["content"] == POLICY


TABLE = {"remote work": {"days": 3, "in": ["DE", "AT"]}, "canteen": True, "car": None}
SAID = "remote work: (days: 3; in: DE, AT); canteen: yes; car: none"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TABLE, SAID),
        ([1, [2, 3], {"a": "b"}], "1, (2, 3), (a: b)"),
        (14, "14"),
        (False, "no"),
        ("As it is.", "As it is."),
    ],
)
def test_any_json_is_stated_and_contexts_show_it_as_text(
    call: Client, content: Any, said: str
) -> None:
    stated = call("PUT", f"{FACTS}/f", {"content": content})
    assert (stated.status, stated.json["content"]) == (201, content)
    assert call("GET", f"{FACTS}/f").json["content"] == content
    call.append("s", "Hello")
    context = call("GET", "/v1/sessions/s/context").json
    assert [fact["content"] for fact in context["static_facts"]] == [said]
    assert said in context["memory_prompt"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_hold_every_fact_once(call: Client, order: str) -> None:
    names = [f"f{number}" for number in range(5)]
    for name in names:
        call("PUT", f"{FACTS}/{name}", {"content": "x"})
    seen: list[str] = []
    query: dict[str, object] = {"limit": 2, "order": order}
    while "cursor" not in query or query["cursor"]:
        page = call("GET", FACTS, query=query).json
        seen += [fact["id"] for fact in page["static_facts"]]
        query["cursor"] = page["next_cursor"]
    assert seen == (names if order == "asc" else names[::-1])


def test_there_are_at_most_two_hundred(call: Client) -> None:
    for number in range(200):
        assert call("PUT", f"{FACTS}/f{number}", {"content": "x"}).status == 201
    answer = call("PUT", f"{FACTS}/one-more", {"content": "x"})
    assert (answer.status, answer.json["code"]) == (409, "too_many_facts")
    assert call("PUT", f"{FACTS}/f0", {"content": "y"}).status == 200


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "content"),
        ({"content": ""}, 422, "content"),
        ({"content": " "}, 422, "content"),
        ({"content": None}, 422, "content"),
        ({"content": {}}, 422, "content"),
        ({"content": []}, 422, "content"),
        ({"content": {"a": "x" * 3998}}, 413, "content"),
        ({"content": "x" * 4001}, 413, "content"),
        ({"content": "x", "agent_id": "a b"}, 400, "agent_id"),
        ({"content": "x", "user_id": "sarah"}, 422, "user_id"),
    ],
)
def test_what_is_no_fact_is_refused(
    call: Client, body: dict[str, Any], status: int, field: str
) -> None:
    answer = call("PUT", f"{FACTS}/f", body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)
    assert call("GET", FACTS).json["static_facts"] == []
    assert call("GET", f"{FACTS}/remote-work").json["code"] == "fact_not_found"


def test_an_id_that_is_none_is_400(call: Client) -> None:
    answer = call("PUT", f"{FACTS}/a%23b", {"content": "x"})
    assert (answer.status, answer.json["errors"][0]["field"]) == (400, "id")
