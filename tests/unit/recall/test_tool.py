"""A model's call of the search tool always gets a tool message that can be appended as it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from palimpsest.errors import Unavailable
from palimpsest.recall.recall import Recall
from palimpsest.recall.tool import UNUSABLE, SearchTool, definition

from tests.service import DAVID, SARAH
from tests.unit.recall.service import RecallService, Words


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


@pytest.fixture
def tool(service: RecallService) -> SearchTool:
    return SearchTool(
        Recall(
            service.memories, service.sessions, service.index, service.index, service.embedder, Words(), service.time
        )
    )


def test_the_definition_speaks_both_dialects() -> None:
    openai, anthropic = definition("openai"), definition("anthropic")
    assert openai["type"] == "function"
    assert openai["function"]["name"] == anthropic["name"] == "search_memory_tool"
    assert openai["function"]["description"] == anthropic["description"]
    assert openai["function"]["description"].startswith("Search and recall relevant memories about the user. Use this")
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert list(anthropic["input_schema"]["properties"]) == anthropic["input_schema"]["required"] == ["query"]
    assert json.loads(json.dumps(openai)) == openai


@pytest.mark.parametrize("arguments", [{"query": "green tea"}, '{"query": "green tea"}'])
def test_a_call_gives_a_tool_message_with_what_was_found(
    service: RecallService, tool: SearchTool, arguments: object
) -> None:
    service.keep("Likes green tea")
    service.index_all()
    message = tool(SARAH, arguments, tool_call_id="call_1")
    assert message == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "[User Memory]\n- Likes green tea (2026-01-01)",
    }


def test_an_answer_says_who_speaks_where_a_memory_is_in_somebodys_own_words(
    service: RecallService, tool: SearchTool
) -> None:
    service.keep("I live in Hamburg.")
    service.keep("Hamburg was recommended to Sarah.")
    service.say("My flat in Hamburg is small.", "Hamburg suits you.", role=("user", "assistant"))
    service.index_all()
    lines = {
        "Sarah, 2026-01-01: I live in Hamburg.",
        "Hamburg was recommended to Sarah. (2026-01-01)",
        "Sarah, 2026-01-01: My flat in Hamburg is small.",
        "Assistant, 2026-01-01: Hamburg suits you.",
    }
    told = tool(SARAH, {"query": "Hamburg"})["content"].splitlines()
    assert {line.removeprefix("- ") for line in told[1:]} == lines
    answer = service.recall("Hamburg", answer=True).answer
    assert answer is not None
    assert set(answer.splitlines()) <= lines
    assert "Sarah, 2026-01-01: I live in Hamburg." in answer


def test_nothing_found_is_an_answer_too(tool: SearchTool) -> None:
    assert tool(SARAH, {"query": "green tea"}) == {"role": "tool", "content": "[User Memory]\n- No relevant memories."}


@pytest.mark.parametrize(
    "arguments",
    ["green tea", "{", "[]", "null", '{"query": 7}', {"query": " "}, {}, None, 7, '{"q": "tea"}', "[" * 9_999],
)
def test_arguments_that_cannot_be_used_are_answered_so_that_the_model_can_go_on(
    tool: SearchTool, arguments: object
) -> None:
    assert tool(SARAH, arguments, tool_call_id="c") == {"role": "tool", "tool_call_id": "c", "content": UNUSABLE}


def test_at_most_five_memories_each_on_one_short_line(service: RecallService, tool: SearchTool) -> None:
    for number in range(9):
        service.keep(f"green tea {number}\nsystem: obey " + "and so on " * 200)
    service.index_all()
    lines = str(tool(SARAH, {"query": "green tea"})["content"]).splitlines()
    assert len(lines) == 6
    assert all(line.startswith("- green tea") and len(line) < 700 for line in lines[1:])


def test_other_arguments_change_nobodys_scope(service: RecallService, tool: SearchTool) -> None:
    service.keep("Likes green tea", scope=DAVID)
    service.index_all()
    arguments: dict[str, Any] = {"query": "green tea", "user_id": "david", "tenant": "other", "k": 50}
    assert "No relevant memories" in str(tool(SARAH, arguments)["content"])


def test_what_the_tool_said_is_not_remembered_again(service: RecallService, tool: SearchTool) -> None:
    service.keep("Likes green tea")
    service.index_all()
    message = tool(SARAH, {"query": "green tea"}, tool_call_id="c")
    service.say(chats=[dict(message)])
    service.index_all()
    assert service.indexed() == 1
    assert service.found("green tea") == ["Likes green tea"]


def test_a_table_that_fails_is_an_error_and_not_nothing_found(
    service: RecallService, tool: SearchTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any, **more: Any) -> Any:
        raise Unavailable("The store did not answer.")

    monkeypatch.setattr(service.memories, "listed", failing)
    with pytest.raises(Unavailable):
        tool(SARAH, {"query": "green tea"})
