"""MCP through the front door: both eras of the protocol, tools by scope, and refusals that a model
can read.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from palimpsest.api.mcp import server as mcp
from palimpsest.api.mcp import tools as mcp_tools
from palimpsest.api.operations import operations_of
from palimpsest.errors import Unavailable
from palimpsest.memory.record import MAX_CONTENT

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

PATH = "/v1/users/sarah/mcp"
ENVELOPE = {f"{mcp.ENVELOPE}protocolVersion": mcp.MODERN, f"{mcp.ENVELOPE}clientCapabilities": {}}
READING = ["recall", "list_memories", "memory_history", "search_conversations"]
HAMBURG = "Sarah lives in Hamburg."


def asked(
    call: Client, method: str, params: Mapping[str, Any] | None = None, *, user: str = "sarah"
) -> Answer:
    """A request as clients of 2025-11-25 make it."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": dict(params or {})}
    return call(
        "POST", f"/v1/users/{user}/mcp", body, headers={"mcp-protocol-version": "2025-11-25"}
    )


def asked_now(
    call: Client, method: str, *, headers: Mapping[str, str] | None = None, **params: Any
) -> Answer:
    """A request as clients of 2026-07-28 make it; `headers` are laid over those that belong to
    it.
    """
    own = {"mcp-protocol-version": mcp.MODERN, "mcp-method": method}
    if "name" in params or "uri" in params:
        own["mcp-name"] = params.get("name") or params["uri"]
    body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": ENVELOPE, **params}}
    return call("POST", PATH, body, headers={**own, **(headers or {})})


def used(call: Client, name: str, *, user: str = "sarah", **arguments: Any) -> dict[str, Any]:
    """The result of a tool, of which the text says what its data says."""
    answer = asked(call, "tools/call", {"name": name, "arguments": arguments}, user=user)
    assert (answer.status, answer.json["id"]) == (200, 7)
    result: dict[str, Any] = answer.json["result"]
    return result


def remembered(call: Client, content: str, **more: Any) -> dict[str, Any]:
    result = used(call, "remember", content=content, **more)
    assert result["isError"] is False, result
    (memory,) = result["structuredContent"]["memories"]
    assert content in result["content"][0]["text"]
    return dict(memory)


def refused(result: Mapping[str, Any]) -> str:
    assert result["isError"] is True
    assert "structuredContent" not in result
    text: str = result["content"][0]["text"]
    return text


def test_the_handshake_settles_on_a_version_that_both_speak(call: Client) -> None:
    for wanted, agreed in (
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ):
        answer = asked(
            call, "initialize", {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {}}
        )
        result = answer.json["result"]
        assert (answer.status, result["protocolVersion"], result["capabilities"]) == (
            200,
            agreed,
            {"tools": {}, "resources": {}},
        )
        assert result["serverInfo"]["name"] == "palimpsest"
    done = call("POST", PATH, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (done.status, done.text) == (202, "")
    assert asked(call, "ping").json["result"] == {}


def test_a_request_that_states_its_version_needs_no_handshake(call: Client) -> None:
    found = asked_now(call, "server/discover").json["result"]
    assert (found["supportedVersions"], found["resultType"]) == ([mcp.MODERN], "complete")
    listed = asked_now(call, "tools/list").json["result"]
    assert [tool["name"] for tool in listed["tools"]] == [*mcp_tools.TOOLS]
    assert (listed["cacheScope"], listed["ttlMs"] > 0) == ("private", True)
    assert remembered(call, HAMBURG)["outcome"] == "created"
    result = asked_now(call, "tools/call", name="list_memories", arguments={}).json["result"]
    assert [memory["content"] for memory in result["structuredContent"]["memories"]] == [HAMBURG]
    assert result["resultType"] == "complete"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp-method": "tools/list"}, mcp.HEADER_MISMATCH),
        ({"mcp-name": "forget"}, mcp.HEADER_MISMATCH),
        ({"mcp-name": "=?base64?!?="}, mcp.HEADER_MISMATCH),
        ({"mcp-protocol-version": "2025-11-25"}, mcp.HEADER_MISMATCH),
    ],
)
def test_headers_that_say_something_else_than_the_request_are_refused(
    call: Client, headers: dict[str, str], code: int
) -> None:
    answer = asked_now(call, "tools/call", headers=headers, name="recall", arguments={"query": "x"})
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, code, "a")


def test_a_name_may_stand_in_base64(call: Client) -> None:
    answer = asked_now(
        call,
        "tools/call",
        headers={"mcp-name": "=?base64?cmVjYWxs?="},
        name="recall",
        arguments={"query": "x"},
    )
    assert answer.json["result"]["isError"] is False


def test_an_unknown_version_is_refused_with_those_that_are_spoken(call: Client) -> None:
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": {"_meta": {**ENVELOPE, f"{mcp.ENVELOPE}protocolVersion": "2031-01-01"}},
    }  # fmt: skip
    answer = call(
        "POST",
        PATH,
        body,
        headers={"mcp-protocol-version": "2031-01-01", "mcp-method": "tools/list"},
    )
    assert (answer.status, answer.json["error"]["code"]) == (400, mcp.UNSUPPORTED_VERSION)
    assert answer.json["error"]["data"] == {"supported": [mcp.MODERN], "requested": "2031-01-01"}


@pytest.mark.parametrize(
    "body",
    [
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_what_is_no_request_is_refused_as_json_rpc_says(call: Client, body: dict[str, Any]) -> None:
    answer = call("POST", PATH, body)
    assert (answer.status, answer.json["error"]["code"]) == (400, mcp.INVALID_REQUEST)


def test_an_unknown_method_or_tool_is_an_error_of_the_protocol(call: Client) -> None:
    assert asked(call, "prompts/list").json["error"]["code"] == mcp.METHOD_NOT_FOUND
    old, new = asked(call, "server/discover"), asked_now(call, "initialize")
    assert (old.status, old.json["error"]["code"]) == (200, mcp.METHOD_NOT_FOUND)
    assert (new.status, new.json["error"]["code"]) == (404, mcp.METHOD_NOT_FOUND)
    for answer, status in (
        (asked(call, "tools/call", {"name": "drop_tables", "arguments": {}}), 200),
        (asked_now(call, "tools/call", name="drop_tables", arguments={}), 400),
        (asked(call, "tools/call", {"name": "recall", "arguments": "query"}), 200),
    ):
        assert (answer.status, answer.json["error"]["code"]) == (status, mcp.INVALID_PARAMS)


def test_what_was_remembered_is_recalled_listed_and_forgotten(
    call: Client, service: Service
) -> None:
    first = remembered(call, "Sarah lives in Bremen.", topic_key="residence")
    second = remembered(call, HAMBURG, topic_key="residence", importance=0.9)
    assert second["supersedes"] == first["id"]
    service.brought_up_to_date()
    recalled = used(call, "recall", query="Where does Sarah live?")
    assert [memory["id"] for memory in recalled["structuredContent"]["memories"]] == [second["id"]]
    assert f"id {second['id']}" in recalled["content"][0]["text"]
    history = used(call, "memory_history", memory_id=second["id"])["structuredContent"]["versions"]
    assert [each["id"] for each in history] == [second["id"], first["id"]]
    assert (
        used(call, "forget", filter={"types": ["fact"]}, dry_run=True)["structuredContent"]["count"]
        == 1
    )
    assert used(call, "forget", memory_ids=[second["id"]], dry_run=True)["structuredContent"][
        "ids"
    ] == [second["id"]]
    assert used(call, "list_memories")["structuredContent"]["memories"] != []
    assert "memory_not_found" in refused(
        used(call, "forget", memory_ids=[second["id"], "mem_none"])
    )
    twice = [second["id"], second["id"]]
    assert used(call, "forget", memory_ids=twice)["structuredContent"] == {
        "deleted": [second["id"]],
        "hidden": {"messages": 0, "message_ids": []},
    }
    assert used(call, "list_memories")["content"][0]["text"] == "Nothing is known of that."


def test_conversations_are_searched_apart_from_memories(call: Client, service: Service) -> None:
    call.append("s1", "My bicycle is green.")
    call.append("s2", "My bicycle needs a new chain.")
    remembered(call, "Sarah has a bicycle.")
    service.brought_up_to_date()
    found = used(call, "search_conversations", query="bicycle")["structuredContent"]["memories"]
    assert {(each["type"], each["source"]["session_id"]) for each in found} == {
        ("message", "s1"),
        ("message", "s2"),
    }
    one = used(call, "search_conversations", query="bicycle", filter={"session_id": "s2"})[
        "structuredContent"
    ]
    assert [memory["source"]["session_id"] for memory in one["memories"]] == ["s2"]


def test_the_profile_is_a_resource_of_the_user_in_the_path(call: Client) -> None:
    remembered(call, HAMBURG, topic_key="residence")
    uri = "palimpsest://profile"
    listed = asked(call, "resources/list"), asked_now(call, "resources/list")
    assert [answer.json["result"]["resources"][0]["uri"] for answer in listed] == [uri, uri]
    profile = call("GET", "/v1/users/sarah/profile").json["text"]
    assert HAMBURG in profile
    content = {"uri": uri, "mimeType": "text/plain", "text": profile}
    before = asked(call, "resources/read", {"uri": uri}).json["result"]
    assert before == {"contents": [content]}
    now = asked_now(call, "resources/read", uri=uri).json["result"]
    assert (now["contents"], now["ttlMs"], now["cacheScope"]) == ([content], 0, "private")


def test_resources_are_described_as_the_api_describes_the_same(call: Client) -> None:
    known = {each.name: each for each in operations_of("memories")}
    (profile,) = asked(call, "resources/list").json["result"]["resources"]
    (memory,) = asked(call, "resources/templates/list").json["result"]["resourceTemplates"]
    for shown, name in ((profile, "read_profile"), (memory, "read_memory")):
        operation = known[name]
        assert (shown["title"], shown["description"]) == (operation.summary, operation.description)
    assert memory["uriTemplate"] == "palimpsest://memories/{memory_id}"


def test_a_memory_is_a_resource_of_its_user(call: Client) -> None:
    saved = remembered(call, HAMBURG, topic_key="residence")
    uri = f"palimpsest://memories/{saved['id']}"
    (content,) = asked(call, "resources/read", {"uri": uri}).json["result"]["contents"]
    whole = call("GET", f"/v1/users/sarah/memories/{saved['id']}").json
    assert (content["mimeType"], json.loads(content["text"])) == ("application/json", whole)
    for user, wrong in (("david", uri), ("sarah", f"{uri}0"), ("sarah", f"{uri}/../x")):
        answer = asked(call, "resources/read", {"uri": wrong}, user=user)
        assert answer.json["error"]["code"] == -32002


def test_an_unknown_resource_is_an_error_that_names_it(call: Client) -> None:
    uri = "palimpsest://users/david/profile"
    before = asked(call, "resources/read", {"uri": uri})
    assert before.json["error"]["code"] == -32002
    now = asked_now(call, "resources/read", uri=uri)
    assert (now.status, now.json["error"]["code"]) == (400, mcp.INVALID_PARAMS)
    assert now.json["error"]["data"] == before.json["error"]["data"] == {"uri": uri}
    mismatched = asked_now(
        call, "resources/read", headers={"mcp-name": "other://x"}, uri="palimpsest://profile"
    )
    assert mismatched.json["error"]["code"] == mcp.HEADER_MISMATCH


def test_bad_arguments_are_a_result_that_says_what_is_wrong(call: Client) -> None:
    assert "query: is required" in refused(used(call, "recall"))
    assert "k: " in refused(used(call, "recall", query="x", k="many"))
    assert "type: " in refused(used(call, "remember", content="x", type="rumour"))
    assert "memory_not_found" in refused(used(call, "memory_history", memory_id="mem_none"))
    assert "memory_ids" in refused(used(call, "forget"))
    assert "invalid_id" in refused(used(call, "memory_history", memory_id="a/b"))


def test_an_empty_filter_forgets_nothing(call: Client) -> None:
    remembered(call, HAMBURG)
    assert "must hold at least one limit" in refused(used(call, "forget", filter={}))
    assert used(call, "list_memories")["structuredContent"]["memories"] != []


def test_the_user_comes_from_the_path_never_from_the_arguments(call: Client) -> None:
    remembered(call, HAMBURG)
    assert "user_id: is not known" in refused(
        used(call, "list_memories", user="david", user_id="sarah")
    )
    assert "user_id: is not known" in refused(
        used(call, "recall", user="david", query="Hamburg", user_id="sarah")
    )
    assert used(call, "list_memories", user="david")["structuredContent"]["memories"] == []
    (mine,) = used(call, "list_memories")["structuredContent"]["memories"]
    assert "memory_not_found" in refused(
        used(call, "forget", user="david", memory_ids=[mine["id"]])
    )


def test_a_key_has_the_tools_of_its_scopes(service: Service) -> None:
    reader, writer = service.client(scopes="read"), service.client(scopes="write")
    assert [tool["name"] for tool in asked(reader, "tools/list").json["result"]["tools"]] == READING
    assert "missing_scope" in refused(used(reader, "remember", content=HAMBURG))
    assert "missing_scope" in refused(used(reader, "forget", filter={"types": ["fact"]}))
    answer = asked(writer, "tools/list")
    assert (answer.status, answer.json["code"]) == (403, "missing_scope")


def test_a_failure_of_a_tool_says_that_it_may_be_tried_again(
    call: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(call, HAMBURG)

    def down(*_: object, **__: object) -> None:
        raise Unavailable("The table does not answer.")

    monkeypatch.setattr(service.memories, "listed", down)
    text = refused(used(call, "list_memories"))
    assert "unavailable" in text
    assert "may work later" in text


def test_nothing_but_a_post_is_taken(call: Client) -> None:
    for method in ("GET", "DELETE"):
        answer = call(method, PATH)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_a_tool_describes_what_its_operation_takes() -> None:
    """Every property of a schema is accepted, and nothing that is required is left out."""
    examples: Mapping[str, Any] = {
        "query": "x",
        "k": 3,
        "content": "x",
        "type": "fact",
        "topic_key": "t",
        "subject": "s",
        "importance": 0.5,
        "types": ["fact"],
        "limit": 3,
        "cursor": "c",
        "memory_id": "m",
        "memory_ids": ["m"],
        "dry_run": True,
        "created_after": "2026-01-01T00:00:00Z",
        "created_before": "2026-01-01T00:00:00Z",
        "session_id": "s",
        "recall_id": "rec_1",
        "useful": ["m"],
        "wrong": ["m"],
        "missing": "x",
    }
    for name, tool in mcp_tools.TOOLS.items():
        properties = dict(tool.schema["properties"])
        given = {each: examples[each] for each in properties if each != "filter"}
        if "filter" in properties and name != "forget":
            given["filter"] = {each: examples[each] for each in properties["filter"]["properties"]}
        tool.arguments.model_validate_json(json.dumps(given))


def test_a_tool_says_the_limits_that_its_body_checks() -> None:
    recall, remember = mcp_tools.TOOLS["recall"].schema, mcp_tools.TOOLS["remember"].schema
    assert recall["required"] == ["query"]
    assert recall["properties"]["k"] == {
        "description": "The most results", "default": 5, "type": "integer", "minimum": 1, "maximum": 100,
    }  # fmt: skip
    assert remember["required"] == ["content"]
    assert remember["properties"]["type"]["default"] == "fact"
    assert remember["properties"]["content"]["maxLength"] == MAX_CONTENT


def test_a_tool_shows_models_no_null_and_no_reference() -> None:
    shown = json.dumps([tool.described(name) for name, tool in mcp_tools.TOOLS.items()])
    assert not any(word in shown for word in ("null", "$ref", "$defs", '"title"'))
