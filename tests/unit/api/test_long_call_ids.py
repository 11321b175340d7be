"""A call whose id is longer than OpenAI's chat API takes has a short one in contexts; the history
keeps its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from palimpsest.conversations.message import short_call_id
from palimpsest.conversations.weight import REPLY_PRIMING, weigh

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"
LONG, OTHER = "provider/call:" + "x" * 186, "provider/call:" + "x" * 185 + "y"
FORMATS = ("openai", "anthropic", "converse", "responses")


def calling(*ids: str) -> dict[str, Any]:
    calls = [
        {"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for each in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def append(call: Client, *messages: dict[str, Any]) -> Any:
    return call("POST", PATH, {"user_id": "sarah", "messages": list(messages)})


def values(name: str, within: Any) -> Iterator[Any]:
    """All values under this name, in order."""
    if isinstance(within, dict):
        for key, value in within.items():
            if key == name:
                yield value
            yield from values(name, value)
    elif isinstance(within, list):
        for each in within:
            yield from values(name, each)


CALLS = {"openai": "id", "anthropic": "id", "converse": "toolUseId", "responses": "call_id"}
RESULTS = {
    "openai": "tool_call_id",
    "anthropic": "tool_use_id",
    "converse": "toolUseId",
    "responses": "call_id",
}


@pytest.mark.parametrize("form", FORMATS)
def test_call_and_result_have_the_same_short_id_in_every_format(call: Client, form: str) -> None:
    append(
        call,
        {"role": "user", "content": "Look twice."},
        calling(LONG, OTHER),
        result(OTHER, "b"),
        result(LONG, "a"),
    )
    messages = call("GET", "/v1/sessions/s/context", query={"format": form}).json["messages"]
    named = [*dict.fromkeys([*values(CALLS[form], messages), *values(RESULTS[form], messages)])]
    assert named == [short_call_id(LONG), short_call_id(OTHER)]
    assert all(len(each) <= 40 for each in named)
    assert LONG not in json.dumps(messages)


def test_the_history_keeps_the_original_ids(call: Client) -> None:
    append(call, {"role": "user", "content": "Look."}, calling(LONG), result(LONG))
    _, called, answered = call("GET", PATH).json["messages"]
    assert (called["tool_calls"][0]["id"], answered["tool_call_id"]) == (LONG, LONG)


def test_a_short_id_is_the_same_in_every_context(call: Client) -> None:
    append(call, {"role": "user", "content": "Look."}, calling(LONG), result(LONG))
    first = call("GET", "/v1/sessions/s/context").json["messages"]
    append(call, {"role": "user", "content": "Again."}, calling(LONG), result(LONG))
    assert call("GET", "/v1/sessions/s/context").json["messages"][:3] == first


def test_an_id_that_every_api_takes_stays_as_it_is(call: Client) -> None:
    append(call, {"role": "user", "content": "Look."}, calling("c" * 40), result("c" * 40))
    messages = call("GET", "/v1/sessions/s/context").json["messages"]
    assert [*values("id", messages), *values("tool_call_id", messages)] == ["c" * 40] * 2


@pytest.mark.parametrize("given", [short_call_id(LONG), LONG])
def test_a_result_may_name_its_call_by_either_id(call: Client, given: str) -> None:
    append(call, {"role": "user", "content": "Look."}, calling(LONG))
    assert append(call, result(given, "what was found")).status == 201
    messages = call("GET", "/v1/sessions/s/context").json["messages"]
    assert messages[-1] == {
        "role": "tool",
        "tool_call_id": short_call_id(LONG),
        "content": "what was found",
    }


@pytest.mark.parametrize("given", [short_call_id(LONG), LONG])
def test_a_result_answers_a_call_that_was_sent_with_its_short_id(call: Client, given: str) -> None:
    sent = (calling(short_call_id(LONG)), result(given, "what was found"))
    assert append(call, {"role": "user", "content": "Look."}, *sent).status == 201
    messages = call("GET", "/v1/sessions/s/context").json["messages"]
    assert messages[-1] == {
        "role": "tool",
        "tool_call_id": short_call_id(LONG),
        "content": "what was found",
    }


def test_a_result_may_name_a_call_as_another_format_showed_it(call: Client) -> None:
    append(call, {"role": "user", "content": "Look."}, calling("c:3"))
    shown = call("GET", "/v1/sessions/s/context", query={"format": "anthropic"}).json["messages"]
    (given,) = values("id", shown)
    assert append(call, result(given, "what was found")).status == 201
    messages = call("GET", "/v1/sessions/s/context").json["messages"]
    assert messages[-1] == {"role": "tool", "tool_call_id": "c:3", "content": "what was found"}


def test_another_calls_short_id_answers_nothing(call: Client) -> None:
    append(call, {"role": "user", "content": "Look."}, calling(LONG))
    refused = append(call, result(short_call_id(OTHER)))
    assert (refused.status, refused.json["code"]) == (422, "tool_message_without_call")


def test_two_calls_that_a_context_would_show_under_one_id_are_refused(call: Client) -> None:
    refused = append(call, {"role": "user", "content": "Look."}, calling(LONG, short_call_id(LONG)))
    assert refused.status == 422
    assert "two tool_calls have the same id" in refused.text


def test_a_context_weighs_the_ids_that_it_shows(call: Client, service: Service) -> None:
    append(call, {"role": "user", "content": "Look."}, calling(LONG), result(short_call_id(LONG)))
    context = call("GET", "/v1/sessions/s/context").json
    count = partial(service.tokens.count, encoding="letters")
    weights = [weigh(message, count) for message in context["messages"]]
    assert context["tokens"]["context"] == REPLY_PRIMING + sum(weights)
