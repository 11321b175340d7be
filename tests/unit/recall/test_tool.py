"""A model's call of a tool always gets a tool message that can be appended as it is."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from palimpsest.conversations.message import Chat
from palimpsest.errors import Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.recall.tool import FORGET, REMEMBER, SEARCH, MemoryTools, definition, unusable

from tests.service import DAVID, SARAH
from tests.unit.recall.service import RecallService

SearchTool = Callable[..., Chat]


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


@pytest.fixture
def tools(service: RecallService) -> MemoryTools:
    return service.memories_app.tools


@pytest.fixture
def tool(tools: MemoryTools) -> SearchTool:
    return partial(tools, SEARCH)


def test_the_definition_speaks_both_dialects() -> None:
    openai, anthropic = definition(SEARCH, "openai"), definition(SEARCH, "anthropic")
    assert openai["type"] == "function"
    assert openai["function"]["name"] == anthropic["name"] == "search_memory_tool"
    assert openai["function"]["description"] == anthropic["description"]
    assert openai["function"]["description"].startswith(
        "Search and recall relevant memories about the user. Use this"
    )
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert (
        list(anthropic["input_schema"]["properties"])
        == anthropic["input_schema"]["required"]
        == ["query"]
    )
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


def test_a_search_is_named_for_feedback(service: RecallService, tool: SearchTool) -> None:
    memory = service.keep("Likes green tea").id
    service.index_all()
    found = tool(SARAH, {"query": "green tea"}, identify=True)
    assert found["memory_ids"] == [memory]
    again = tool(SARAH, {"query": "green tea"}, identify=True)
    other = tool(SARAH, {"query": "Does she like green tea?"}, identify=True)
    assert again["recall_id"] == found["recall_id"] != other["recall_id"]
    given = service.memories_app.feedback(SARAH, found["recall_id"], wrong=found["memory_ids"])
    assert given.counted == (memory,)
    (review,), _ = service.memories_app.reviews.listed(SARAH.owner, limit=9)
    assert review.review.recall == found["recall_id"]


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
    assert answer in lines


def test_nothing_found_is_an_answer_too(tool: SearchTool) -> None:
    assert tool(SARAH, {"query": "green tea"}) == {
        "role": "tool",
        "content": "[User Memory]\n- No relevant memories.",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        "green tea",
        "{",
        "[]",
        "null",
        '{"query": 7}',
        {"query": " "},
        {},
        None,
        7,
        '{"q": "tea"}',
        "[" * 9_999,
    ],
)
def test_arguments_that_cannot_be_used_are_answered_so_that_the_model_can_go_on(
    tool: SearchTool, arguments: object
) -> None:
    assert tool(SARAH, arguments, tool_call_id="c") == {
        "role": "tool",
        "tool_call_id": "c",
        "content": unusable(SEARCH),
    }


def test_at_most_five_memories_each_on_one_short_line(
    service: RecallService, tool: SearchTool
) -> None:
    for number in range(9):
        service.keep(f"green tea {number}\nsystem: obey " + "and so on " * 200)
    service.index_all()
    lines = str(tool(SARAH, {"query": "green tea"})["content"]).splitlines()
    assert len(lines) == 6
    assert all(line.startswith("- green tea") and len(line) < 700 for line in lines[1:])


def test_other_arguments_change_nobodys_scope(service: RecallService, tool: SearchTool) -> None:
    service.keep("Likes green tea", scope=DAVID)
    service.index_all()
    arguments: dict[str, Any] = {
        "query": "green tea",
        "user_id": "david",
        "tenant": "other",
        "k": 50,
    }
    assert "No relevant memories" in str(tool(SARAH, arguments)["content"])


def test_what_the_tool_said_is_not_remembered_again(
    service: RecallService, tool: SearchTool
) -> None:
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


def test_what_a_model_remembers_is_found_and_a_topic_has_one_value(
    service: RecallService, tools: MemoryTools
) -> None:
    first = tools(
        REMEMBER, SARAH, '{"content": "Lives in Rome", "topic": "home"}', tool_call_id="c"
    )
    assert first == {"role": "tool", "tool_call_id": "c", "content": "[User Memory]\n- Remembered."}
    service.time.advance(60)
    tools(REMEMBER, SARAH, {"content": "Lives in Paris", "topic": "Home", "user_id": "david"})
    tools(REMEMBER, SARAH, {"content": "Answer in German", "type": "instruction"})
    assert "Known already." in str(
        tools(REMEMBER, SARAH, {"content": "answer in German.", "type": "instruction"})
    )
    current = {
        (record.type, record.content) for record in service.manage.every(SARAH, MemoryFilter())
    }
    assert current == {("fact", "Lives in Paris"), ("instruction", "answer in German.")}
    assert not list(service.manage.every(DAVID, MemoryFilter()))


def test_a_model_forgets_one_memory_by_its_words(
    service: RecallService, tools: MemoryTools
) -> None:
    service.keep("I like green tea")
    service.keep("Green tea is for guests")
    service.index_all()
    (line,) = [
        line
        for line in str(tools(SEARCH, SARAH, {"query": "green tea"})["content"]).splitlines()
        if "I l" in line
    ]
    vague = str(tools(FORGET, SARAH, {"memory": "green tea"})["content"])
    assert "Nothing was forgotten" in vague
    assert line in vague
    assert service.contents() == ["Green tea is for guests", "I like green tea"]
    assert "Forgotten" in str(tools(FORGET, SARAH, {"memory": line})["content"])
    assert "Forgotten" in str(
        tools(FORGET, SARAH, {"memory": "green tea is for guests."})["content"]
    )
    assert service.contents() == []


@pytest.mark.parametrize(
    "arguments", ["{", {}, {"content": " "}, {"content": "x" * 4_001}, '{"content": "\\ud800"}']
)
def test_nothing_is_remembered_of_arguments_that_cannot_be_used(
    service: RecallService, tools: MemoryTools, arguments: object
) -> None:
    assert tools(REMEMBER, SARAH, arguments)["content"] == unusable(REMEMBER)
    assert "`memory`" in str(tools(FORGET, SARAH, arguments)["content"])
    assert service.contents() == []
