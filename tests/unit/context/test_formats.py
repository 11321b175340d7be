"""A context is written for other APIs as their own types have it, and each message says where it
comes from.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

import botocore.session
import pytest
from anthropic.types import (
    DocumentBlockParam,
    ImageBlockParam,
    MessageParam,
    TextBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import (
    EasyInputMessageParam,
    FunctionToolParam,
    ResponseFunctionToolCallParam,
    ResponseInputContentParam,
)
from openai.types.responses.response_input_item_param import FunctionCallOutput
from palimpsest.context.formats import BEFORE, EMPTY, ContextFormat, written
from palimpsest.conversations.window.render import summary_messages
from palimpsest.recall.tool import TOOLS, definition
from pydantic import TypeAdapter

PNG, PDF = (
    f"data:{kind};base64,{base64.b64encode(b'bytes').decode()}"
    for kind in ("image/png", "application/pdf")
)
PARTS = [
    {"type": "text", "text": "Look."},
    {"type": "image_url", "image_url": {"url": PNG}},
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
    {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
    {"type": "file", "file": {"file_id": "file-1"}},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
]


def call(call_id: str, arguments: str = '{"a": 1}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


CUSTOM = {"id": "c:3 " + "x" * 99, "type": "custom", "custom": {"name": "shell", "input": "ls"}}
CHATS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": PARTS},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [call("c1"), call("c2", "no JSON"), CUSTOM],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": " "}]},
    {"role": "tool", "tool_call_id": CUSTOM["id"], "content": "files"},
    {"role": "user", "name": "Sarah", "content": "And?"},
    {"role": "assistant", "content": "", "refusal": "No."},
    {"role": "user", "content": ""},
]
BLOCKS: Mapping[str, Any] = {
    "text": TextBlockParam,
    "image": ImageBlockParam,
    "document": DocumentBlockParam,
    "tool_use": ToolUseBlockParam,
    "tool_result": ToolResultBlockParam,
}
ITEMS: Mapping[str, Any] = {
    "function_call": ResponseFunctionToolCallParam,
    "function_call_output": FunctionCallOutput,
}


adapter = cache(TypeAdapter)


@cache
def converse() -> Any:
    return (
        botocore.session.get_session()
        .get_service_model("bedrock-runtime")
        .operation_model("Converse")
        .input_shape
    )


def anthropic_takes(messages: Sequence[Mapping[str, Any]]) -> None:
    for message in messages:
        adapter(MessageParam).validate_python(message)
        for block in message["content"]:
            adapter(BLOCKS[block["type"]]).validate_python(block)
            assert block.get("text", "-").strip()


def converse_takes(messages: Sequence[Mapping[str, Any]], **beside: Any) -> None:
    report = ParamValidator().validate(
        {"modelId": "m", "messages": list(messages), **beside}, converse()
    )
    assert not report.has_errors(), report.generate_report()


def responses_takes(items: Sequence[Mapping[str, Any]]) -> None:
    for item in items:
        adapter(ITEMS.get(item.get("type", ""), EasyInputMessageParam)).validate_python(item)
        for part in item.get("content", ()) if isinstance(item.get("content"), list) else ():
            adapter(ResponseInputContentParam).validate_python(part)


def calls_and_results(message: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The ids of a message's calls, and those that its results answer."""
    inner = [
        next(iter(block.values())) if len(block) == 1 else block for block in message["content"]
    ]
    blocks = [block for block in inner if isinstance(block, dict)]
    calls = [block.get("toolUseId", block.get("id")) for block in blocks if "input" in block]
    results = [
        block.get("toolUseId", block.get("tool_use_id")) for block in blocks if "content" in block
    ]
    return calls, results


def every_call_has_its_result(messages: Sequence[Mapping[str, Any]]) -> None:
    """The roles take turns, and each message answers exactly the calls of the one before."""
    assert [message["role"] for message in messages] == [
        ("user", "assistant")[n % 2] for n in range(len(messages))
    ]
    waiting: list[Any] = []
    for message in messages:
        calls, results = calls_and_results(message)
        assert results == waiting
        waiting = calls
    assert waiting == []


def test_anthropic_takes_the_messages_and_the_system_text() -> None:
    made = written(CHATS, "anthropic")
    anthropic_takes(made.messages)
    every_call_has_its_result(made.messages)
    assert made.system == "Be brief."
    assert [message["role"] for message in made.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert made.origins == [1, 2, 3, 7, 8]
    kinds = [block["type"] for block in made.messages[0]["content"]]
    assert kinds == ["text", "image", "image", "document", "text", "text"]
    assert made.messages[0]["content"][-1]["text"] == "[input_audio left out]"
    said, first, second, custom = made.messages[1]["content"]
    assert (said["text"], first["input"]) == ("I look.", {"a": 1})
    assert (second["input"], custom["input"]) == ({"input": "no JSON"}, {"input": "ls"})
    results = made.messages[2]["content"]
    assert [block.get("tool_use_id") for block in results] == ["c1", "c2", custom["id"], None]
    assert results[1]["content"] == [{"type": "text", "text": EMPTY}]
    assert made.messages[3]["content"] == [{"type": "text", "text": "No."}]


def test_converse_takes_the_messages_and_the_system_blocks() -> None:
    made = written(CHATS, "converse")
    converse_takes(made.messages, system=made.system)
    every_call_has_its_result(made.messages)
    assert made.system == [{"text": "Be brief."}]
    names = [next(iter(block)) for block in made.messages[0]["content"]]
    assert names == ["text", "image", "text", "document", "text", "text"]
    assert base64.b64decode(made.messages[0]["content"][1]["image"]["source"]["bytes"]) == b"bytes"


def test_responses_takes_items_and_each_names_the_message_that_it_is_of() -> None:
    made = written(CHATS, "responses")
    responses_takes(made.messages)
    assert made.system is None
    assert made.origins == [0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8]
    calls = [item["call_id"] for item in made.messages if item.get("type") == "function_call"]
    outputs = [
        item["call_id"] for item in made.messages if item.get("type") == "function_call_output"
    ]
    assert calls == outputs
    assert len(calls[-1]) <= 64
    assert [part["type"] for part in made.messages[1]["content"]] == [
        "input_text", "input_image", "input_image", "input_file", "input_file", "input_text",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["anthropic", "converse", "responses"])
def test_the_name_of_a_speaker_comes_before_the_text(form: ContextFormat) -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    chats: list[dict[str, Any]] = [
        {"role": "user", "name": "Sarah", "content": "Who drives?"},
        {"role": "user", "name": "Tom", "content": [{"type": "text", "text": "I do."}, image]},
        {"role": "assistant", "name": "planner", "content": "Noted."},
        {"role": "user", "name": "Tom", "content": [image]},
    ]
    said = json.dumps(written(chats, form).messages)
    for text in ("Sarah: Who drives?", "Tom: I do.", "planner: Noted.", '"Tom:"'):
        assert text in said
    assert said.count("Tom") == 2


@pytest.mark.parametrize("form", ["anthropic", "converse"])
def test_a_window_that_begins_with_the_assistant_gets_a_user_message_before_it(
    form: ContextFormat,
) -> None:
    made = written(summary_messages("They met.", "tool_call"), form)
    assert [message["role"] for message in made.messages] == ["user", "assistant", "user"]
    assert BEFORE in json.dumps(made.messages[0])
    assert made.origins == [None, 0, 1]


TEXT = st.text(max_size=8)
SAID = st.one_of(
    st.builds(lambda text: [{"role": "user", "content": text}], TEXT),
    st.builds(lambda text: [{"role": "assistant", "content": text}], TEXT),
    st.builds(
        lambda text, made: [
            {
                "role": "assistant",
                "content": text,
                "tool_calls": [call(f"{made} {n}", text) for n in range(made)],
            },
            *(
                {"role": "tool", "tool_call_id": f"{made} {n}", "content": text}
                for n in range(made)
            ),
        ],
        TEXT,
        st.integers(1, 3),
    ),
)


@given(st.lists(SAID, min_size=1, max_size=6))
def test_any_conversation_is_valid_for_every_api(groups: list[list[dict[str, Any]]]) -> None:
    chats = [chat for group in groups for chat in group]
    made = {form: written(chats, form) for form in get_args(ContextFormat)}
    anthropic_takes(made["anthropic"].messages)
    every_call_has_its_result(made["anthropic"].messages)
    converse_takes(made["converse"].messages)
    every_call_has_its_result(made["converse"].messages)
    responses_takes(made["responses"].messages)
    assert made["openai"].messages == chats
    assert all(len(each.origins) == len(each.messages) for each in made.values())


def test_every_tool_is_defined_as_each_api_has_it() -> None:
    for tool in TOOLS.values():
        adapter(ToolParam).validate_python(definition(tool, "anthropic"))
        adapter(FunctionToolParam).validate_python(definition(tool, "responses"))
        tools = {"tools": [definition(tool, "converse")]}
        converse_takes([{"role": "user", "content": [{"text": "Hi"}]}], toolConfig=tools)
        assert (
            definition(tool, "mcp")["inputSchema"]
            == definition(tool, "openai")["function"]["parameters"]
        )
        assert set(definition(tool, "mcp")) == {"name", "description", "inputSchema"}
