"""What other clients need of an append: its place in the history, joined calls, and items without a
chat form.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.conversations.validity import problems

PATH = "/v1/sessions/s/messages"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
ITEM = {"role": "item", "item": REASONING, "id": "rs_1", "metadata": {"model": "o3"}}
ASKED = {"role": "user", "content": "Look at both."}
ANSWER = {"role": "assistant", "content": "Done."}


def calls(*ids: str, **more: Any) -> dict[str, Any]:
    made = [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for name in ids
    ]
    return {"role": "assistant", "tool_calls": made, **more}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": f"found by {call_id}"}


def append(call: Client, *messages: dict[str, Any], **more: Any) -> Any:
    return call("POST", PATH, {"user_id": "sarah", "messages": messages, **more})


def seqs(call: Client) -> list[int]:
    return [message["seq"] for message in call("GET", PATH).json["messages"]]


def test_an_append_goes_behind_the_message_that_it_names_or_nowhere(call: Client) -> None:
    assert append(call, ASKED, if_last=0).status == 201
    late = append(call, ANSWER, if_last=0)
    assert (late.status, late.json["code"]) == (409, "history_moved_on")
    assert late.json["errors"] == [{"field": "if_last", "message": "the newest message is 1"}]
    assert append(call, ANSWER, if_last=1).status == 201
    assert append(call, ANSWER, if_last=7).status == 409
    assert append(call, ANSWER, if_last=-1).status == 422
    assert append(call, ANSWER, if_last=1).json["replayed"]
    assert append(call, ANSWER, if_last=2).status == 201
    assert seqs(call) == [1, 2, 3]
    missing = call(
        "POST", "/v1/sessions/new/messages", {"user_id": "sarah", "messages": [ASKED], "if_last": 3}
    )
    assert (missing.status, call("GET", "/v1/sessions/new").status) == (409, 404)


def test_what_was_withdrawn_is_not_the_newest_message(call: Client, service: Service) -> None:
    append(call, ASKED, ANSWER, ASKED)
    assert call("DELETE", PATH, query={"from": 2, "if_last": 2}).status == 409
    assert seqs(call) == [1, 2, 3]
    assert call("DELETE", PATH, query={"from": 2, "if_last": 3}).status == 202
    assert append(call, ANSWER, if_last=3).status == 409
    service.drain()
    assert append(call, ANSWER, if_last=3).status == 409
    assert append(call, ANSWER, if_last=1).status == 201
    assert seqs(call) == [1, 4]


def test_a_repeated_append_gives_its_first_result_whatever_came_since(call: Client) -> None:
    body = {"user_id": "sarah", "messages": [ASKED], "if_last": 0}
    first = call("POST", PATH, body, headers={"Idempotency-Key": "k"}).json
    append(call, ANSWER, if_last=1)
    again = call("POST", PATH, body, headers={"Idempotency-Key": "k"}).json
    assert again["messages"] == first["messages"]


def test_an_item_without_a_chat_form_is_kept_in_the_history_and_left_out_of_contexts(
    call: Client, service: Service
) -> None:
    answer = append(call, ASKED, ITEM, calls("a"), ITEM, result("a"), ANSWER, context={})
    assert answer.status == 201
    shown = answer.json["context"]
    assert [message["role"] for message in shown["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert problems(shown["messages"]) == []
    assert shown["omitted"] is None
    kept = call("GET", PATH).json["messages"][1]
    assert {name: kept[name] for name in ("role", "item", "client_id", "metadata", "tokens")} == {
        "role": "item",
        "item": REASONING,
        "client_id": "rs_1",
        "metadata": {"model": "o3"},
        "tokens": 0,
    }
    assert answer.json["window"]["messages"] == 4
    call("POST", "/v1/sessions/s/prune", {"strategy": "summarize"})
    service.drain()
    assert call("POST", "/v1/sessions/s/extract", {}).status in (200, 202)
    service.drain()
    assert append(call, {"role": "item", "item": {}}).status == 422


def test_two_histories_that_differ_in_an_item_have_other_ids(call: Client) -> None:
    for name, item in (("t", {"type": "a"}), ("t2", {"type": "b"})):
        body = {"user_id": "sarah", "messages": [{"role": "item", "item": item}]}
        assert call("POST", f"/v1/sessions/{name}/messages", body).status == 201
    transcript = [{"role": "item", "item": {"type": "b"}}, ASKED]
    refused = call("POST", "/v1/users/sarah/ingest", {"session_id": "t", "messages": transcript})
    assert (refused.status, refused.json["code"]) == (409, "transcript_diverged")
    assert (
        call("POST", "/v1/users/sarah/ingest", {"session_id": "t2", "messages": transcript}).status
        == 202
    )


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking", "reasoning"])
def test_an_assistants_thoughts_are_kept_and_left_out_of_contexts(call: Client, kind: str) -> None:
    content = [{"type": kind, "data": "Hm."}, {"type": "text", "text": "Yes."}]
    answer = append(call, ASKED, {"role": "assistant", "content": content}, context={}).json
    assert answer["context"]["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
    thinking = calls("a", content=content[:1])
    shown = append(call, thinking, result("a"), context={}).json["context"]["messages"]
    assert (shown[2]["content"], len(shown[2]["tool_calls"])) == ("", 1)
    assert [row["content"] for row in call("GET", PATH).json["messages"][1:3]] == [
        content,
        content[:1],
    ]
    alone = append(call, {"role": "assistant", "content": content[:1]})
    assert (alone.status, "role item" in alone.text) == (422, True)


def test_calls_that_come_one_by_one_are_one_message(call: Client) -> None:
    batch = [
        ASKED,
        calls("a", content="I look.", id="m1"),
        ITEM,
        calls("b", id="m2"),
        result("a"),
        result("b"),
        ANSWER,
    ]
    answer = append(call, *batch, context={}).json
    assert [message["seq"] for message in answer["messages"]] == [1, 2, 3, 4, 5, 6]
    shown = answer["context"]["messages"]
    assert [made["id"] for made in shown[1]["tool_calls"]] == ["a", "b"]
    assert problems(shown) == []
    row = call("GET", PATH).json["messages"][1]
    assert (row["client_id"], row["joined_ids"], row["content"]) == ("m1", ["m2"], "I look.")
    again = call("POST", "/v1/users/sarah/ingest", {"session_id": "s", "messages": [*batch, ASKED]})
    assert (again.status, again.json["appended"]) == (202, 1)


@pytest.mark.parametrize("second", [calls("a"), calls("b", content="And b."), ANSWER])
def test_what_the_chat_api_would_not_take_in_one_message_stays_apart(
    call: Client, second: dict[str, Any]
) -> None:
    answer = append(call, ASKED, calls("a"), second).json
    assert len(answer["messages"]) == 3
