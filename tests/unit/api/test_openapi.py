"""The description that is served is the one that the routes make, and real answers keep to it."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
from palimpsest_description import examples, memory_examples
from palimpsest_description.openapi import EXAMPLES, OPERATIONS, TAGS, description, written

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

DESCRIPTION = description()


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def schema(name: str) -> dict[str, Any]:
    text = json.dumps(DESCRIPTION["components"]["schemas"]).replace(
        "#/components/schemas/", "#/$defs/"
    )
    return {"$ref": f"#/$defs/{name}", "$defs": json.loads(text)}


def test_the_checked_in_description_is_the_generated_one() -> None:
    checked_in = resources.files("palimpsest_description").joinpath("openapi.json").read_text()
    assert checked_in == written(), (
        "python -m palimpsest_description.openapi > …/palimpsest_description/openapi.json"
    )


def test_it_is_valid_openapi_3_1() -> None:
    assert DESCRIPTION["openapi"].startswith("3.1")
    validate(DESCRIPTION)


def test_it_has_every_operation_and_no_other() -> None:
    known = {(operation.path, operation.method.lower(), operation.name) for operation in OPERATIONS}
    assert {(path, method, stated["operationId"]) for path, method, stated in operations()} == known
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


def test_it_says_which_function_serves_an_operation_and_with_which_scopes() -> None:
    by_name = {operation.name: operation for operation in OPERATIONS}
    for _, _, stated in operations():
        known = by_name[stated["operationId"]]
        assert (stated["x-function"], stated.get("x-scopes")) == (
            known.function,
            None if known.function == "site" else list(known.scopes),
        )
        assert ("security" in stated) is (known.function == "site")


def test_operations_stand_in_the_order_of_the_tags_and_every_tag_is_described() -> None:
    tags = [tag["name"] for tag in DESCRIPTION["tags"]]
    assert tags == list(TAGS)
    assert all(tag["description"] for tag in DESCRIPTION["tags"])
    first_of_path = [
        next(iter(methods.values()))["tags"][0] for methods in DESCRIPTION["paths"].values()
    ]
    assert first_of_path == sorted(first_of_path, key=tags.index)
    assert {tag for _, _, operation in operations() for tag in operation["tags"]} == set(tags)


def test_a_successful_answer_stands_first() -> None:
    for path, method, operation in operations():
        assert next(iter(operation["responses"])).startswith("2"), (path, method)


def test_what_may_be_left_out_is_not_required_and_has_no_default_that_a_generator_would_require() -> (
    None
):
    shapes = DESCRIPTION["components"]["schemas"]
    for name, shape in shapes.items():
        for field, described in shape.get("properties", {}).items():
            assert "default" not in described, (name, field)
    assert "Default: 5" in shapes["RecallBody"]["properties"]["k"]["description"]
    for strategy in ("Summarize", "Trim", "Delete", "Flush", "NoWindow"):
        assert "strategy" not in shapes[strategy].get("required", ())


def test_a_tool_message_and_what_a_tool_answers_are_two_shapes() -> None:
    shapes = DESCRIPTION["components"]["schemas"]
    assert {"id", "metadata", "timestamp"} <= set(shapes["ToolMessage"]["properties"])
    sent = {
        "role": "tool",
        "tool_call_id": "c",
        "content": [{"type": "text", "text": "a"}],
        "id": "m",
        "metadata": {},
    }
    OAS31Validator(schema("ToolMessage")).validate(sent)
    message, beside = {"role", "tool_call_id", "content"}, {"recall_id", "memory_ids"}
    assert set(shapes["ToolResult"]["properties"]) == message | beside
    assert not beside & set(shapes["ToolResult"]["required"])


def test_every_operation_says_what_it_is_and_how_it_fails() -> None:
    for path, method, operation in operations():
        assert operation["summary"], (path, method)
        assert operation["description"], (path, method)
        if operation["tags"] == ["site"]:
            assert operation["security"] == []
            continue
        assert {"400", "401", "403", "422", "429", "500", "503"} <= set(operation["responses"])
        known = next(each for each in OPERATIONS if each.name == operation["operationId"])
        assert {str(status) for status in (*known.answers, *known.refuses)} <= set(
            operation["responses"]
        )
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (path, method, parameter["name"])


def test_every_body_and_every_answer_has_an_example() -> None:
    components = DESCRIPTION["components"]
    for path, method, operation in operations():
        for answer in operation["responses"].values():
            named = (
                components["responses"][answer["$ref"].split("/")[-1]]
                if "$ref" in answer
                else answer
            )
            assert all("examples" in content for content in named.get("content", {}).values()), (
                path,
                method,
            )
        if body := operation.get("requestBody"):
            content = body["content"]["application/json"]
            name = content["schema"]["$ref"].split("/")[-1]
            (example,) = components["schemas"][name]["examples"]
            assert content["examples"] == {"example": {"value": example}}, name


def test_a_link_gives_its_target_everything_that_its_path_names() -> None:
    by_name = {operation["operationId"]: operation for _, _, operation in operations()}
    links = [
        (name, link)
        for name, operation in by_name.items()
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    ]
    assert {"create_session", "append_messages", "delete_session", "save_memories"} <= {
        name for name, _ in links
    }
    for name, link in links:
        taken = by_name[link["operationId"]]["parameters"]
        named = {parameter["name"] for parameter in taken if parameter["in"] == "path"}
        assert set(link["parameters"]) == named, (name, link)


def test_a_body_is_required_where_none_would_be_refused(call: Client) -> None:
    call.append("s", "hello")
    call.save("likes tea")
    filled = {
        "session_id": "s",
        "user_id": "sarah",
        "memory_id": "mem_0",
        "recall_id": "rec_0",
        "review_id": "rev_0",
        "mem0_id": "mem_0@sarah",
        "fact_id": "f",
        "entity_id": "e",
        "relationship_id": "r",
        "seq": 1,
        "key": "k",
        "upload_id": "u",
        "part": 0,
        "name": "search_memory_tool",
    }
    bodies = 0
    for path, method, operation in operations():
        if body := operation.get("requestBody"):
            answer = call(method.upper(), path.format_map(filled))
            assert (answer.status in (400, 422)) == body["required"], (path, method, answer.text)
            bodies += 1
    assert bodies >= 16


@pytest.mark.parametrize(
    ("name", "example"),
    [*examples.REQUESTS.items(), *memory_examples.REQUESTS.items(), *EXAMPLES.items()],
)
def test_an_example_is_one(name: str, example: dict[str, Any]) -> None:
    OAS31Validator(schema(name)).validate(example)


def test_requests_as_in_the_examples_are_taken(service: Service) -> None:
    call = service.client()
    service.work_while_waiting()
    told = examples.REQUESTS
    said = [
        ("POST", "/v1/sessions", told["NewSession"], 201),
        ("POST", "/v1/sessions/onboarding-7/messages", told["AppendRequest"], 201),
        ("POST", "/v1/sessions/onboarding-7/context", told["ContextRequest"], 200),
        ("POST", "/v1/sessions/onboarding-7/prune", told["PruneRequest"], 200),
        ("PATCH", "/v1/sessions/onboarding-7", told["SessionChange"], 200),
        ("PUT", "/v1/sessions/onboarding-7", told["SessionSetup"], 200),
        ("PUT", "/v1/settings", told["NewTenantSettings"], 200),
    ]
    for method, path, body, status in said:
        assert call(method, path, body).status == status, path


def test_requests_to_long_term_memory_as_in_the_examples_are_taken(service: Service) -> None:
    call = service.client()
    service.work_while_waiting()
    told = memory_examples.REQUESTS
    saved = call("POST", "/v1/users/sarah/memories", told["NewMemories"])
    assert saved.status == 201
    memory = f"/v1/users/sarah/memories/{saved.json['memories'][0]['id']}"
    assert call("PATCH", memory, told["MemoryChange"]).status == 200
    for method, path, name, status in (
        ("POST", "/v1/users/sarah/memories/forget", "ForgetRequest", 200),
        ("POST", "/v1/users/sarah/ingest", "IngestRequest", 200),
        ("POST", "/v1/users/sarah/recall", "RecallBody", 200),
        ("POST", "/v1/users/sarah/memories/search", "SearchBody", 200),
        ("POST", "/v1/users/sarah/tools/search_memory_tool", "ToolCallBody", 200),
        ("PUT", "/v1/static-facts/remote-work", "StaticFactBody", 201),
        ("POST", "/v1/sessions/onboarding-7/extract", "ExtractRequest", 200),
        ("POST", "/v1/sessions/forget", "ForgetSessionsRequest", 200),
    ):
        body = examples.REQUESTS.get(name) or told[name]
        assert call(method, path, body).status == status, path


def test_real_answers_of_long_term_memory_keep_to_the_description(service: Service) -> None:
    call = service.client()
    saved = call.save(
        {"type": "fact", "content": "works at A", "topic_key": "employer", "metadata": {"n": 1}},
        "likes tea",
    )
    old = f"/v1/users/sarah/memories/{saved.json['memories'][0]['id']}"
    changed = call("PATCH", old, {"content": "works at B"})
    forget = "/v1/users/sarah/memories/forget"
    call.append("s", "fact: likes coffee", "tea or coffee?")
    memory = {
        "memory": {
            "blocks": [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}],
            "auto_recall": True,
        }
    }
    call("PATCH", "/v1/sessions/s", memory)
    tea = {"query": "tea", "explain": True, "answer": True}
    fact = call("PUT", "/v1/static-facts/f", {"content": "Tea is free."})
    service.brought_up_to_date()
    for answer, name in (
        (saved, "SavedMemories"),
        (changed, "Memory"),
        (call("GET", old), "Memory"),
        (call("GET", "/v1/users/sarah/memories"), "MemoryPage"),
        (call("GET", f"{old}/history"), "MemoryVersions"),
        (call("POST", "/v1/users/sarah/recall", tea), "Recalled"),
        (
            call("POST", "/v1/users/sarah/memories/search", {"query": "tea", "mode": "vector"}),
            "FoundMemories",
        ),
        (call("GET", "/v1/tools"), "Tools"),
        (
            call(
                "POST", "/v1/users/sarah/tools/search_memory_tool", {"arguments": {"query": "tea"}}
            ),
            "ToolResult",
        ),
        (fact, "StaticFact"),
        (call("GET", "/v1/static-facts"), "StaticFactPage"),
        (call("DELETE", "/v1/static-facts/f"), "Deleted"),
        (call("POST", "/v1/sessions/s/context", {"message": "tea", "explain": True}), "Context"),
        (
            ingested := call(
                "POST", "/v1/users/sarah/ingest", {"messages": [{"role": "user", "content": "hm"}]}
            ),
            "JobPending",
        ),
        (call("POST", "/v1/sessions/s/extract", {}), "JobPending"),
        (call("GET", "/v1/jobs", query={"user_id": "sarah"}), "JobPage"),
        (call("POST", f"{ingested.headers['Location']}/retry"), "Problem"),
        (call("POST", f"{old}/revert"), "Memory"),
        (call("DELETE", old), "Deleted"),
        (call("GET", old), "Problem"),
        (call("POST", forget, {"filter": {"types": ["fact"]}, "dry_run": True}), "WouldForget"),
        (forgetting := call("POST", forget, {"filter": {"types": ["fact"]}}), "JobPending"),
        (call("GET", forgetting.headers["Location"]), "Job"),
        (call("GET", "/v1/users"), "UserPage"),
        (call("GET", "/v1/users/sarah"), "User"),
        (call("POST", "/v1/sessions/forget", {"user_id": "sarah", "dry_run": True}), "WouldForget"),
        (call("POST", "/v1/sessions/forget", {"user_id": "sarah"}), "JobPending"),
        (erasing := call("DELETE", "/v1/users/sarah"), "JobPending"),
        (call("GET", erasing.headers["Location"]), "Job"),
    ):
        OAS31Validator(schema(name)).validate(answer.json)


def test_a_receipt_keeps_to_the_description(service: Service) -> None:
    service.work_while_waiting()
    answer = service.client()("DELETE", "/v1/users/sarah", query={"wait": 5})
    assert answer.status == 200
    OAS31Validator(schema("UserErased")).validate(answer.json)


def test_real_answers_keep_to_the_description(service: Service) -> None:
    call = service.client()
    memory = {"max_tokens": 200, "keep_recent_turns": 1}
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "u", "memory": memory})
    for turn in range(12):
        appended = call.append("s", f"{turn} " + "word " * 20, user_id="u", context={})
        service.drain()
    n = call("GET", "/v1/sessions/s/compactions").json["compactions"][0]["n"]
    for answer, name in (
        (appended, "Appended"),
        (call("GET", "/v1/sessions/s"), "Session"),
        (call("GET", "/v1/sessions"), "SessionPage"),
        (call("GET", "/v1/sessions/s/messages"), "MessagePage"),
        (call("GET", "/v1/sessions/s/context"), "Context"),
        (call("GET", "/v1/sessions/s/compactions"), "CompactionPage"),
        (call("GET", f"/v1/sessions/s/compactions/{n}/messages"), "MessagePage"),
        (call("POST", "/v1/sessions/s/prune", {"strategy": "fifo"}), "Pruned"),
        (call("GET", "/v1/settings"), "TenantSettings"),
        (call("GET", "/v1/sessions/s/context", query={"max_tokens": 1}), "Problem"),
        (call("DELETE", "/v1/sessions/s/messages"), "WindowEmptied"),
        (call("DELETE", "/v1/sessions/s/messages", query={"from": 3}), "JobPending"),
        (deleted := call("DELETE", "/v1/sessions/s"), "JobPending"),
        (call("GET", deleted.headers["Location"]), "Job"),
        (call("GET", "/v1/sessions/s"), "Problem"),
    ):
        OAS31Validator(schema(name)).validate(answer.json)
    assert appended.status == 201
