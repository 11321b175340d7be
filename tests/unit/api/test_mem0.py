"""mem0's REST API: its paths and shapes over our memories, for its server's clients and for its platform's."""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

ROOT = "/compat/mem0"
HAMBURG = "Sarah lives in Hamburg."


@pytest.fixture
def working(service: Service) -> Client:
    service.work_while_waiting()
    return service.client()


def added(call: Client, *texts: str, **more: Any) -> list[dict[str, Any]]:
    body = {"messages": [{"role": "user", "content": text} for text in texts], "user_id": "sarah", **more}
    answer = call("POST", f"{ROOT}/memories", body)
    assert answer.status == 200, answer.text
    results: list[dict[str, Any]] = answer.json["results"]
    return results


def listed(call: Client, user: str = "sarah") -> list[str]:
    return [each["memory"] for each in call("GET", f"{ROOT}/memories", query={"user_id": user}).json["results"]]


def refused(answer: Answer, status: int, field: str) -> None:
    assert (answer.status, answer.json["errors"][0]["field"]) == (status, field)


def test_messages_are_extracted_and_what_was_found_is_the_answer(working: Client) -> None:
    (memory,) = added(working, f"fact[residence]: {HAMBURG}", run_id="s1")
    assert (memory["memory"], memory["event"], memory["user_id"]) == (HAMBURG, "ADD", "sarah")
    assert [row["role"] for row in working("GET", "/v1/sessions/s1/messages").json["messages"]] == ["user"]


def test_without_inference_each_message_is_a_memory(call: Client) -> None:
    first = added(call, HAMBURG, "Sarah plays chess.", infer=False, metadata={"place": {"x": 1}, "n": 2})
    assert [each["event"] for each in first] == ["ADD", "ADD"]
    assert first[0]["metadata"] == {"place": '{"x": 1}', "n": 2}
    assert [each["event"] for each in added(call, HAMBURG, infer=False)] == ["NONE"]
    assert sorted(listed(call)) == [HAMBURG, "Sarah plays chess."]


def test_without_inference_only_what_somebody_said_is_a_memory(call: Client) -> None:
    said = [
        {"role": "system", "content": "You know HR."},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": HAMBURG}, {"type": "image_url", "image_url": {}}]},
    ]
    body = {"messages": said, "user_id": "sarah", "infer": False}
    assert [each["memory"] for each in call("POST", f"{ROOT}/memories", body).json["results"]] == [HAMBURG]
    nothing = call("POST", f"{ROOT}/memories", {**body, "messages": said[:2]})
    assert (nothing.status, nothing.json, listed(call)) == (200, {"results": []}, [HAMBURG])


def test_a_memory_is_found_read_changed_and_deleted(call: Client, service: Service) -> None:
    (memory,) = added(call, HAMBURG, infer=False)
    service.brought_up_to_date()
    found = call("POST", f"{ROOT}/search", {"query": "Where does Sarah live?", "user_id": "sarah"}).json["results"]
    assert [(each["id"], each["memory"]) for each in found] == [(memory["id"], HAMBURG)]
    assert found[0]["score"] > 0
    assert call("POST", f"{ROOT}/search", {"query": "Hamburg", "user_id": "david"}).json == {"results": []}
    path = f"{ROOT}/memories/{memory['id']}"
    assert call("GET", path).json["memory"] == HAMBURG
    changed = call("PUT", path, {"text": "Sarah lives in Kiel."}).json
    assert (changed["memory"], listed(call)) == ("Sarah lives in Kiel.", ["Sarah lives in Kiel."])
    history = call("GET", f"{path}/history").json
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in history] == [
        ("ADD", None, HAMBURG), ("UPDATE", HAMBURG, "Sarah lives in Kiel.")
    ]  # fmt: skip
    assert call("DELETE", f"{ROOT}/memories/{changed['id']}").status == 200
    assert listed(call) == []


def test_all_memories_of_a_user_go_and_nobody_elses(working: Client) -> None:
    added(working, HAMBURG, infer=False)
    added(working, "David plays chess.", infer=False, user_id="david")
    assert working("DELETE", f"{ROOT}/memories", query={"user_id": "sarah"}).status == 200
    assert (listed(working), listed(working, "david")) == ([], ["David plays chess."])


def test_the_paths_of_the_platform_are_the_same_operations(call: Client, service: Service) -> None:
    assert call("GET", f"{ROOT}/v1/ping/").json["org_id"] == "acme"
    body = {"messages": [{"role": "user", "content": HAMBURG}], "filters": {"user_id": "sarah"}, "infer": False}
    (memory,) = call("POST", f"{ROOT}/v3/memories/add/", body).json["results"]
    service.brought_up_to_date()
    filters = {"filters": {"AND": [{"user_id": "sarah"}]}}
    page = call("POST", f"{ROOT}/v3/memories/", filters, query={"page": 1, "page_size": 5}).json
    assert (page["count"], page["results"][0]["id"]) == (1, memory["id"])
    assert call("POST", f"{ROOT}/v3/memories/", filters, query={"page": 2}).json["results"] == []
    found = call("POST", f"{ROOT}/v3/memories/search/", {"query": "Where does Sarah live?", **filters}).json["results"]
    assert [each["id"] for each in found] == [memory["id"]]
    assert call("GET", f"{ROOT}/v1/memories/{memory['id']}/").json["memory"] == HAMBURG


def test_bad_input_is_a_problem_that_names_the_field(call: Client) -> None:
    said = [{"role": "user", "content": "x"}]
    refused(call("POST", f"{ROOT}/memories", {"messages": said}), 422, "user_id")
    refused(call("POST", f"{ROOT}/memories", {"messages": said, "user_id": "a/b"}), 400, "user_id")
    refused(call("POST", f"{ROOT}/memories", {"messages": [], "user_id": "sarah"}), 422, "messages")
    refused(call("POST", f"{ROOT}/memories", {"messages": [{"role": "x"}], "user_id": "sarah"}), 422, "messages.0.role")
    for joined in (5, None, "x", [5]):
        refused(call("POST", f"{ROOT}/search", {"query": "x", "filters": {"AND": joined}}), 422, "user_id")
    refused(call("GET", f"{ROOT}/memories/mem_1"), 400, "memory_id")
    assert call("GET", f"{ROOT}/memories/mem_1@sarah").status == 404
    assert call("GET", f"{ROOT}/memories").status == 422


def test_a_key_does_what_its_scopes_allow(service: Service) -> None:
    reader = service.client(scopes="read")
    said = {"messages": [{"role": "user", "content": HAMBURG}], "user_id": "sarah", "infer": False}
    assert reader("POST", f"{ROOT}/memories", said).status == 403
    assert reader("POST", f"{ROOT}/search", {"query": "x", "user_id": "sarah"}).status == 200
    assert reader("DELETE", f"{ROOT}/memories", query={"user_id": "sarah"}).status == 403
