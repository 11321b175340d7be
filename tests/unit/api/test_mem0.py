"""mem0's REST API: its paths and shapes over our memories, for its server's clients and for its
platform's.
"""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

ROOT = "/compat/mem0"
HAMBURG, KIEL = "Sarah lives in Hamburg.", "Sarah lives in Kiel."


@pytest.fixture
def working(service: Service) -> Client:
    service.work_while_waiting()
    return service.client()


def added(call: Client, *texts: str, **more: Any) -> list[dict[str, Any]]:
    body = {
        "messages": [{"role": "user", "content": text} for text in texts],
        "user_id": "sarah",
        **more,
    }
    answer = call("POST", f"{ROOT}/memories", body)
    assert answer.status == 200, answer.text
    results: list[dict[str, Any]] = answer.json["results"]
    return results


def listed(call: Client, user: str = "sarah") -> list[str]:
    return [
        result["memory"]
        for result in call("GET", f"{ROOT}/memories", query={"user_id": user}).json["results"]
    ]


def refused(answer: Answer, status: int, field: str) -> None:
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)


def test_messages_are_extracted_and_what_was_found_is_the_answer(working: Client) -> None:
    (memory,) = added(working, f"fact[residence]: {HAMBURG}", run_id="s1")
    assert (memory["memory"], memory["event"], memory["user_id"]) == (HAMBURG, "ADD", "sarah")
    assert [row["role"] for row in working("GET", "/v1/sessions/s1/messages").json["messages"]] == [
        "user"
    ]


def test_without_inference_each_message_is_a_memory(call: Client) -> None:
    first = added(
        call, HAMBURG, "Sarah plays chess.", infer=False, metadata={"place": {"x": 1}, "n": 2}
    )
    assert [each["event"] for each in first] == ["ADD", "ADD"]
    assert first[0]["metadata"] == {"place": '{"x": 1}', "n": 2}
    assert [each["event"] for each in added(call, HAMBURG, infer=False)] == ["NONE"]
    assert sorted(listed(call)) == [HAMBURG, "Sarah plays chess."]


def test_without_inference_only_what_somebody_said_is_a_memory(call: Client) -> None:
    said = [
        {"role": "system", "content": "You know HR."},
        {"role": "assistant", "content": None},
        {
            "role": "user",
            "content": [{"type": "text", "text": HAMBURG}, {"type": "image_url", "image_url": {}}],
        },
    ]
    body = {"messages": said, "user_id": "sarah", "infer": False}
    assert [
        result["memory"] for result in call("POST", f"{ROOT}/memories", body).json["results"]
    ] == [HAMBURG]
    nothing = call("POST", f"{ROOT}/memories", {**body, "messages": said[:2]})
    assert (nothing.status, nothing.json, listed(call)) == (200, {"results": []}, [HAMBURG])


def test_a_memory_is_found_read_changed_and_deleted(call: Client, service: Service) -> None:
    (memory,) = added(call, HAMBURG, infer=False)
    service.brought_up_to_date()
    found = call(
        "POST", f"{ROOT}/search", {"query": "Where does Sarah live?", "user_id": "sarah"}
    ).json["results"]
    assert [(each["id"], each["memory"]) for each in found] == [(memory["id"], HAMBURG)]
    assert found[0]["score"] > 0
    assert call("POST", f"{ROOT}/search", {"query": "Hamburg", "user_id": "david"}).json == {
        "results": []
    }
    path = f"{ROOT}/memories/{memory['id']}"
    assert call("GET", path).json["memory"] == HAMBURG
    changed = call("PUT", path, {"text": "Sarah lives in Kiel."}).json
    assert (changed["memory"], changed["id"], listed(call)) == (KIEL, memory["id"], [KIEL])
    history = call("GET", f"{path}/history").json
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in history] == [
        ("ADD", None, HAMBURG), ("UPDATE", HAMBURG, "Sarah lives in Kiel.")
    ]  # fmt: skip
    assert call("DELETE", f"{ROOT}/memories/{changed['id']}").status == 200
    assert listed(call) == []


def test_an_id_names_a_memory_through_all_its_versions(call: Client) -> None:
    (memory,) = added(call, HAMBURG, infer=False)
    path = f"{ROOT}/memories/{memory['id']}"
    for text in (KIEL, "Sarah lives in Bremen."):
        assert call("PUT", path, {"text": text}).json["memory"] == text
        assert call("GET", path).json["memory"] == text
    assert call("PUT", path, {"metadata": {"by": "hand"}}).json["metadata"] == {"by": "hand"}
    (shown,) = call("GET", f"{ROOT}/memories", query={"user_id": "sarah"}).json["results"]
    newest = f"{ROOT}/memories/{shown['id']}"
    assert [call("GET", each).json["memory"] for each in (path, newest)] == [
        "Sarah lives in Bremen."
    ] * 2
    assert [each["new_memory"] for each in call("GET", f"{path}/history").json] == [
        HAMBURG, KIEL, "Sarah lives in Bremen.",
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["old", "new"])
def test_a_memory_is_deleted_in_all_its_versions_by_whichever_id(
    call: Client, service: Service, by: str
) -> None:
    (memory,) = added(call, HAMBURG, infer=False)
    old = f"{ROOT}/memories/{memory['id']}"
    call("PUT", old, {"text": KIEL})
    (shown,) = call("GET", f"{ROOT}/memories", query={"user_id": "sarah"}).json["results"]
    new = f"{ROOT}/memories/{shown['id']}"
    assert call("DELETE", old if by == "old" else new).status == 200
    assert (listed(call), service.records()) == ([], [])
    for path in (old, new, f"{old}/history"):
        assert call("GET", path).status == 404
    assert [call("DELETE", path).status for path in (old, new)] == [404, 404]
    assert call("PUT", old, {"text": HAMBURG}).status == 404


def test_a_memory_whose_version_that_holds_was_deleted_elsewhere_is_no_more(call: Client) -> None:
    (memory,) = added(call, HAMBURG, infer=False)
    path = f"{ROOT}/memories/{memory['id']}"
    call("PUT", path, {"text": KIEL})
    (shown,) = call("GET", "/v1/users/sarah/memories").json["memories"]
    assert call("DELETE", f"/v1/users/sarah/memories/{shown['id']}").status == 200
    assert [
        call(method, path, body).status for method, body in (("GET", None), ("PUT", {"text": "x"}))
    ] == [404, 404]
    assert call("DELETE", path).status == 200
    assert call("GET", f"/v1/users/sarah/memories/{memory['id'].partition('@')[0]}").status == 404


@pytest.fixture
def filtered(call: Client, service: Service) -> Client:
    """Four memories of Sarah, a day apart, by two agents, with metadata; and one of David."""
    for number, (text, agent, metadata) in enumerate([
        ("Likes red tea.", "cook", {"kind": "drink", "stars": 3}),
        ("Likes green tea.", "cook", {"kind": "drink", "stars": 5, "on": "2026-03-01"}),
        ("Plays chess.", "coach", {"kind": "game", "stars": 4}),
        ("Owns a boat.", None, {}),
    ]):  # fmt: skip
        more = {"agent_id": agent} if agent else {}
        added(call, text, infer=False, metadata=metadata, **more)
        service.waiting.advance(24 * 3600)
        assert number < 4
    added(call, "Likes David's tea.", infer=False, user_id="david")
    service.brought_up_to_date()
    return call


RED, GREEN, CHESS, BOAT = "Likes red tea.", "Likes green tea.", "Plays chess.", "Owns a boat."


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {RED, GREEN, CHESS, BOAT}),
        ({"agent_id": "cook"}, {RED, GREEN}),
        ({"AND": [{"agent_id": "cook"}, {"stars": {"gte": 4}}]}, {GREEN}),
        ({"AND": [{"AND": [{"agent_id": {"in": ["cook"]}}]}]}, {RED, GREEN}),
        ({"OR": [{"agent_id": "coach"}, {"stars": 5}]}, {GREEN, CHESS}),
        ({"NOT": [{"agent_id": "cook"}]}, {CHESS, BOAT}),
        ({"NOT": {"OR": [{"agent_id": "cook"}, {"kind": "game"}]}}, {BOAT}),
        ({"NOT": [{"agent_id": "cook"}, {"kind": "game"}]}, {BOAT}),
        ({"agent_id": "*"}, {RED, GREEN, CHESS}),
        ({"agent_id": {"ne": "cook"}}, {CHESS, BOAT}),
        ({"run_id": "*"}, set()),
        ({"metadata": {"kind": "drink"}}, {RED, GREEN}),
        ({"metadata": {"kind": "drink", "stars": {"lt": 5}}}, {RED}),
        ({"kind": {"in": ["game", "boat"]}}, {CHESS}),
        ({"kind": ["game", "boat"]}, {CHESS}),
        ({"kind": {"nin": ["game"]}}, {RED, GREEN, BOAT}),
        ({"kind": {"icontains": "RIN"}}, {RED, GREEN}),
        ({"kind": {"contains": "RIN"}}, set()),
        ({"kind": "*"}, {RED, GREEN, CHESS}),
        ({"on": {"gt": "2026-02-01"}}, {GREEN}),
        ({"created_at": {"gte": "2026-01-02", "lt": "2026-01-04"}}, {GREEN, CHESS}),
        ({"updated_at": {"lte": "2026-01-02T00:00:00Z"}}, {RED, GREEN}),
        ({"NOT": [{"created_at": {"gte": 1767312000}}]}, {RED}),
        ({"categories": {"in": ["fact"]}}, {RED, GREEN, CHESS, BOAT}),
        ({"categories": {"contains": "food"}}, set()),
        ({"keywords": {"icontains": "TEA"}}, {RED, GREEN}),
    ],
)
def test_filters_are_honoured_by_lists_and_by_searches(
    filtered: Client, filters: dict[str, Any], found: set[str]
) -> None:
    wanted = {"AND": [{"user_id": "sarah"}, filters]} if filters else {"user_id": "sarah"}
    for given in (wanted, {**filters, "user_id": "sarah"}):
        page = filtered("POST", f"{ROOT}/v3/memories/", {"filters": given})
        assert {result["memory"] for result in page.json["results"]} == found, page.text
        asked = {"query": "tea chess boat", "filters": given, "top_k": 50}
        results = filtered("POST", f"{ROOT}/v3/memories/search/", asked).json["results"]
        assert {result["memory"] for result in results} <= found
        assert not found or results


def test_what_stands_beside_the_filters_is_honoured_too(filtered: Client) -> None:
    def page(**more: Any) -> list[str]:
        body = {"filters": {"user_id": "sarah"}, **more}
        return [
            result["memory"]
            for result in filtered("POST", f"{ROOT}/v3/memories/", body).json["results"]
        ]

    assert page(start_date="2026-01-02", end_date="2026-01-03") == [CHESS, GREEN]
    assert page(categories=["food"]) == []
    pages = [
        filtered("POST", f"{ROOT}/v3/memories/", {"filters": {"user_id": "sarah"}},
                 query={"page": number, "page_size": 3}).json["results"]
        for number in (1, 2, 3)
    ]  # fmt: skip
    assert [[each["memory"] for each in one] for one in pages] == [[BOAT, CHESS, GREEN], [RED], []]
    ids = [each["id"] for each in pages[0]]
    assert page(filters={"AND": [{"user_id": "sarah"}, {"memory_ids": ids[:2]}]}) == [BOAT, CHESS]
    asked = {"query": "tea", "filters": {"user_id": "sarah"}, "metadata": {"stars": 5}}
    assert [
        result["memory"]
        for result in filtered("POST", f"{ROOT}/v3/memories/search/", asked).json["results"]
    ] == [GREEN]


@pytest.mark.parametrize(
    "filters",
    [
        {"AND": [{"user_id": "sarah"}, {"user_id": "david"}]},
        {"OR": [{"user_id": "sarah"}, {"user_id": "david"}]},
        {"OR": [{"user_id": "sarah"}, {"agent_id": "cook"}]},
        {"NOT": [{"user_id": "david"}]},
        {"user_id": "*"},
        {"user_id": {"in": ["sarah", "david"]}},
        {"user_id": {"ne": "david"}},
        {"user_id": None},
        {"user_id": "sarah", "agent_id": None},
        {"user_id": "sarah", "app_id": "x"},
        {"user_id": "sarah", "agent_id": {"icontains": "c"}},
        {"user_id": "sarah", "AND": [{"agent_id": "cook"}, {"agent_id": "coach"}]},
        {"user_id": "sarah", "created_at": {"gte": "yesterday"}},
        {"user_id": "sarah", "created_at": {"contains": "2026"}},
        {"user_id": "sarah", "stars": {"between": [1, 2]}},
        {"user_id": "sarah", "stars": {"gt": "many"}},
        {"user_id": "sarah", "stars": {"in": 5}},
        {"user_id": "sarah", "stars": {}},
        {"user_id": "sarah", "stars": None},
        {"user_id": "sarah", "metadata": 5},
        {"user_id": "sarah", "metadata": {"place": {"x": 1}}},
        {"user_id": "sarah", "OR": {"stars": 5}},
        {"user_id": "sarah", "NOT": []},
        {"user_id": "sarah", "AND": [{str(number): number} for number in range(101)]},
    ],
)
def test_a_filter_that_can_not_be_tested_here_is_refused_and_never_left_out(
    filtered: Client, filters: dict[str, Any]
) -> None:
    for path, body in (("/v3/memories/", {}), ("/v3/memories/search/", {"query": "tea"})):
        answer = filtered("POST", f"{ROOT}{path}", {**body, "filters": filters})
        assert answer.status == 422, answer.text
        assert answer.json["errors"][0]["field"]


def test_two_users_in_one_call_are_refused_wherever_they_stand(filtered: Client) -> None:
    both = {"query": "tea", "user_id": "david", "filters": {"user_id": "sarah"}}
    assert filtered("POST", f"{ROOT}/search", both).status == 422
    said = [{"role": "user", "content": "x"}]
    for filters in (
        {"user_id": "sarah"},
        {"OR": [{"user_id": "david"}, {"user_id": "sarah"}]},
        {"stars": 5},
    ):
        body = {"messages": said, "user_id": "david", "filters": filters, "infer": False}
        assert filtered("POST", f"{ROOT}/memories", body).status == 422
    assert len(listed(filtered, "david")) == 1


@pytest.mark.parametrize(
    "more", [{"app_id": "x"}, {"metadata": "{}"}, {"filters": "{}"}, {"agent_id": "*"}]
)
def test_deleting_all_never_deletes_more_than_was_asked(
    filtered: Client, more: dict[str, str]
) -> None:
    answer = filtered("DELETE", f"{ROOT}/v1/memories/", query={"user_id": "sarah", **more})
    assert answer.status == 422, answer.text
    assert len(listed(filtered)) == 4


def test_all_memories_of_a_user_go_and_nobody_elses(working: Client) -> None:
    added(working, HAMBURG, infer=False)
    added(working, "David plays chess.", infer=False, user_id="david")
    assert working("DELETE", f"{ROOT}/memories", query={"user_id": "sarah"}).status == 200
    assert (listed(working), listed(working, "david")) == ([], ["David plays chess."])


def test_the_paths_of_the_platform_are_the_same_operations(call: Client, service: Service) -> None:
    assert call("GET", f"{ROOT}/v1/ping/").json["org_id"] == "acme"
    body = {
        "messages": [{"role": "user", "content": HAMBURG}],
        "filters": {"user_id": "sarah"},
        "infer": False,
    }
    (memory,) = call("POST", f"{ROOT}/v3/memories/add/", body).json["results"]
    service.brought_up_to_date()
    filters = {"filters": {"AND": [{"user_id": "sarah"}]}}
    page = call("POST", f"{ROOT}/v3/memories/", filters, query={"page": 1, "page_size": 5}).json
    assert (page["count"], page["results"][0]["id"]) == (1, memory["id"])
    assert call("POST", f"{ROOT}/v3/memories/", filters, query={"page": 2}).json["results"] == []
    found = call(
        "POST", f"{ROOT}/v3/memories/search/", {"query": "Where does Sarah live?", **filters}
    ).json["results"]
    assert [each["id"] for each in found] == [memory["id"]]
    assert call("GET", f"{ROOT}/v1/memories/{memory['id']}/").json["memory"] == HAMBURG


def test_bad_input_is_a_problem_that_names_the_field(call: Client) -> None:
    said = [{"role": "user", "content": "x"}]
    refused(call("POST", f"{ROOT}/memories", {"messages": said}), 422, "user_id")
    refused(call("POST", f"{ROOT}/memories", {"messages": said, "user_id": "a/b"}), 400, "user_id")
    refused(call("POST", f"{ROOT}/memories", {"messages": [], "user_id": "sarah"}), 422, "messages")
    refused(
        call("POST", f"{ROOT}/memories", {"messages": [{"role": "x"}], "user_id": "sarah"}),
        422,
        "messages.0.role",
    )
    for joined in (5, None, "x", [5], []):
        refused(
            call("POST", f"{ROOT}/search", {"query": "x", "filters": {"AND": joined}}),
            422,
            "filters.AND",
        )
    refused(call("GET", f"{ROOT}/memories/mem_1"), 400, "memory_id")
    assert call("GET", f"{ROOT}/memories/mem_1@sarah").status == 404
    assert call("GET", f"{ROOT}/memories").status == 422


def test_a_key_does_what_its_scopes_allow(service: Service) -> None:
    reader = service.client(scopes="read")
    said = {"messages": [{"role": "user", "content": HAMBURG}], "user_id": "sarah", "infer": False}
    assert reader("POST", f"{ROOT}/memories", said).status == 403
    assert reader("POST", f"{ROOT}/search", {"query": "x", "user_id": "sarah"}).status == 200
    assert reader("DELETE", f"{ROOT}/memories", query={"user_id": "sarah"}).status == 403
