"""The context by GET and POST, compaction on demand, and pruning."""

from typing import Any

import pytest

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/context"
PRUNE = "/v1/sessions/s/prune"
SMALL = {"max_tokens": 200, "keep_recent_turns": 1}


def fill(call: Client, turns: int, *, memory: dict[str, Any] | None = None) -> None:
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": memory or {}})
    for turn in range(turns):
        call.append("s", f"{turn} " + "word " * 20)


def contents(context: Any) -> list[str]:
    return [message["content"] for message in context["messages"]]


def test_the_context_is_what_the_model_shall_see(call: Client) -> None:
    fill(call, 2)
    context = call("GET", PATH).json
    assert len(context["messages"]) == 2
    assert context["tokens"]["context"] == context["tokens"]["window"] > 0
    assert context["tokens"]["budget"] == 100_000
    assert (context["compaction"], context["degraded"], context["memory_prompt"]) == (
        "none",
        [],
        "",
    )
    assert context["static_facts"] == context["extracted_facts"] == context["vector_matches"] == []


def test_a_smaller_budget_shows_less_and_never_more_than_it_allows(call: Client) -> None:
    fill(call, 10)
    for budget in (110, 150, 200):
        context = call("GET", PATH, query={"max_tokens": budget}).json
        assert context["tokens"]["context"] <= context["tokens"]["budget"] == budget
        assert contents(context)[-1].startswith("9")


def test_a_models_name_gives_its_budget(call: Client) -> None:
    fill(call, 1)
    assert call("GET", PATH, query={"model": "gpt-4"}).json["tokens"]["budget"] == 8_192 - 4_000
    assert call("POST", PATH, {"model": "gpt-4"}).json["tokens"]["budget"] == 8_192 - 4_000


@pytest.mark.parametrize(
    "message", ["and now?", {"role": "user", "content": "and now?", "name": None, "x": 1}]
)
def test_a_given_message_is_weighed_and_not_stored(call: Client, message: object) -> None:
    fill(call, 1)
    context = call("POST", PATH, {"message": message}).json
    assert context["messages"][-1] == {"role": "user", "content": "and now?"}
    assert context["tokens"]["context"] > context["tokens"]["window"]
    assert len(call("GET", "/v1/sessions/s/messages").json["messages"]) == 1


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (5, "message"),
        ({"role": "assistant", "content": "hi"}, "message.role"),
        ({"role": "user"}, "message.content"),
    ],
)
def test_a_given_message_is_the_users(call: Client, message: object, field: str) -> None:
    fill(call, 1)
    answer = call("POST", PATH, {"message": message})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


def test_a_message_larger_than_the_budget_is_cut_and_never_left_out(call: Client) -> None:
    call.append("s", "word " * 2_000)
    context = call("GET", PATH, query={"max_tokens": 200}).json
    assert len(context["messages"]) == 1
    assert context["tokens"]["context"] <= 200


def test_post_without_a_body_is_the_context_as_by_get(call: Client) -> None:
    fill(call, 2)
    assert call("POST", PATH).json == call("GET", PATH).json


def test_compacting_in_step_waits_for_the_summary(call: Client, service: Service) -> None:
    fill(call, 12, memory=SMALL)
    assert call("GET", PATH).json["compaction"] == "pending"
    service.work_while_waiting()
    for context in (
        call("GET", PATH, query={"compact": "sync"}).json,
        call("POST", PATH, {"compact": "sync"}).json,
    ):
        assert (context["compaction"], context["omitted"]) == ("none", None)
        assert contents(context)[0].startswith("CONVERSATION SUMMARY: ")
        assert context["tokens"]["summary"] > 0


def test_compacting_in_step_gives_up_waiting_and_says_so(call: Client) -> None:
    fill(call, 12, memory=SMALL)
    context = call("GET", PATH, query={"compact": "sync"}).json
    assert (context["compaction"], context["why_not"]) == ("pending", None)
    assert context["tokens"]["context"] <= 200


def test_what_is_left_out_and_why_no_room_was_made_is_said(call: Client) -> None:
    fill(call, 4)
    asked = call("GET", PATH, query={"compact": "sync", "max_tokens": 105}).json
    assert asked["why_not"] == "below_trigger"
    assert asked["omitted"] == {"from": 1, "to": 4 - len(asked["messages"])}
    assert call("GET", PATH).json["omitted"] is None
    pruned = call("POST", PRUNE, {"strategy": "summarize"}).json
    assert (pruned["state"], pruned["job_id"], pruned["why_not"]) == (
        "done",
        None,
        "only_recent_turns",
    )


def test_an_append_can_ask_for_a_compacted_context(call: Client, service: Service) -> None:
    fill(call, 12, memory=SMALL)
    service.work_while_waiting()
    context = call.append("s", "and now?", context={"compact": "sync"}).json["context"]
    assert contents(context)[0].startswith("CONVERSATION SUMMARY: ")
    assert contents(context)[-1] == "and now?"


def test_fifo_drops_the_oldest_at_once(call: Client) -> None:
    fill(call, 10)
    answer = call("POST", PRUNE, {"strategy": "fifo", "max_tokens": 120})
    assert (answer.status, answer.json["state"], answer.json["job_id"]) == (200, "done", None)
    assert answer.json["window"]["tokens"] <= 120
    assert contents(answer.json["context"])[-1].startswith("9")
    assert len(call("GET", "/v1/sessions/s/messages").json["messages"]) == 10


def test_summarize_is_a_job(call: Client, service: Service) -> None:
    fill(call, 10)
    answer = call("POST", PRUNE, {"strategy": "summarize"})
    assert (answer.status, answer.json["state"]) == (202, "pending")
    assert answer.headers["Location"] == f"/v1/jobs/{answer.json['job_id']}"
    service.drain()
    assert call("GET", answer.headers["Location"]).json["state"] == "done"
    assert contents(call("GET", PATH).json)[0].startswith("CONVERSATION SUMMARY: ")


def test_whoever_waits_for_a_summary_gets_the_context(call: Client, service: Service) -> None:
    fill(call, 10)
    service.work_while_waiting()
    answer = call("POST", PRUNE, {"strategy": "summarize", "wait": 20, "message": "and now?"})
    assert (answer.status, answer.json["state"]) == (200, "done")
    assert call("GET", f"/v1/jobs/{answer.json['job_id']}").json["state"] == "done"
    assert contents(answer.json["context"])[0].startswith("CONVERSATION SUMMARY: ")
    assert contents(answer.json["context"])[-1] == "and now?"


def test_nothing_to_fold_is_200(call: Client) -> None:
    fill(call, 1)
    answer = call("POST", PRUNE, {"strategy": "summarize", "wait": 5})
    assert (answer.status, answer.json["job_id"], answer.json["state"]) == (200, None, "done")
    assert len(contents(answer.json["context"])) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "strategy"),
        ({"strategy": "random"}, "strategy"),
        ({"strategy": "fifo", "max_tokens": 0}, "max_tokens"),
        ({"strategy": "fifo", "wait": 21}, "wait"),
        ({"strategy": "fifo", "blocks": []}, "blocks"),
    ],
)
def test_a_wrong_way_to_prune_is_422(call: Client, body: dict[str, Any], field: str) -> None:
    fill(call, 1)
    answer = call("POST", PRUNE, body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


def test_a_context_comes_in_the_form_that_was_asked_for_and_says_which_messages_it_shows(
    call: Client,
) -> None:
    body = {"user_id": "sarah", "memory": {"auto_recall": True}, "system": "Be brief."}
    call("POST", "/v1/sessions", {**body, "session_id": "s"})
    first = call.append("s", "Hello!").json["messages"][0]
    ref = {"seq": first["seq"], "id": first["id"]}
    path = "/v1/sessions/s/context"
    plain = call("POST", path, {"message": "And you?"}).json
    assert plain["refs"] == [None, ref, None]
    assert "system" not in plain
    anthropic = call("GET", path, query={"format": "anthropic"}).json
    assert (anthropic["system"], anthropic["refs"]) == ("Be brief.", [ref])
    assert anthropic["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello!"}]}
    ]
    assert anthropic["tools"][0]["input_schema"]["required"] == ["query"]
    responses = call("POST", path, {"message": "And you?", "format": "responses"}).json
    assert responses["refs"] == [None, ref, None]
    more = call.append("s", "More.", context={"format": "converse"}).json["context"]
    assert [block["text"] for message in more["messages"] for block in message["content"]] == [
        "Hello!",
        "More.",
    ]
    assert more["refs"] == [ref]
    refused = call("GET", path, query={"format": "cohere"})
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "format")


def test_a_model_without_a_prompt_cache_gets_no_cache_points(call: Client) -> None:
    call("PUT", "/v1/static-facts/remote", {"content": "Work from home two days a week."})
    call("POST", "/v1/sessions", {"user_id": "sarah", "session_id": "s"})
    call.append("s", "Hello!")

    def has_points(**query: str) -> bool:
        return "cachePoint" in str(call("GET", "/v1/sessions/s/context", query=query).json)

    assert has_points(format="converse")
    assert has_points(format="converse", model="anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert not has_points(format="converse", model="meta.llama3-1-70b-instruct-v1:0")
    assert not has_points(format="converse", cache_points="false")
    call("PATCH", "/v1/sessions/s", {"memory": {"model": "amazon.nova-pro-v1:0"}})
    assert not has_points(format="converse")


@pytest.mark.parametrize("memory_as", ["split", "user", "system", "tool_call", "none"])
def test_the_parts_of_a_context_add_up(call: Client, memory_as: str) -> None:
    call("PUT", "/v1/static-facts/remote", {"content": "Work from home two days a week."})
    memory = {"memory_as": memory_as, "auto_recall": True}
    call("POST", "/v1/sessions", {"user_id": "sarah", "session_id": "p", "memory": memory})
    call.append("p", "Hello!")
    tokens = call("GET", "/v1/sessions/p/context").json["tokens"]
    beside = tokens["memory"] if memory_as == "none" else 0
    assert tokens["parts"]["memory"] == tokens["memory"] > 0
    assert tokens["total"] == sum(tokens["parts"].values())
    assert tokens["total"] == tokens["context"] + tokens["tools"] + beside <= tokens["budget"]


def test_a_context_says_what_it_has_in_common_with_the_one_before(call: Client) -> None:
    call("POST", "/v1/sessions", {"user_id": "sarah", "session_id": "c", "system": "Be brief."})
    path = "/v1/sessions/c/context"
    call.append("c", "Hello!")
    first = call("GET", path).json
    assert first["cache"] == {
        "mark": first["cache"]["mark"],
        "common_tokens": None,
        "broke_at": None,
        "why": None,
    }
    assert len(first["prompt_cache_key"]) == 32
    call.append("c", "And more.")
    second = call("GET", path, query={"after": first["cache"]["mark"]}).json
    assert second["cache"]["common_tokens"] == first["tokens"]["context"] - 3
    assert (second["cache"]["broke_at"], second["cache"]["why"]) == (None, None)
    call("PATCH", "/v1/sessions/c", {"system": "Be long."})
    third = call("POST", path, {"after": second["cache"]["mark"]}).json
    assert (third["cache"]["broke_at"], third["cache"]["why"]) == (0, "system")
    assert call("GET", path, query={"after": "?"}).json["code"] == "invalid_after"
    assert "prompt_cache_key" not in call("GET", path, query={"format": "anthropic"}).json
