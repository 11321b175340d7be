"""Recalled text that comes back as input: an agent's memory does not remember itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from palimpsest.conversations.message import Chat, Message, text_of
from palimpsest.conversations.window.render import transcript
from palimpsest.extraction.chunk import Chunk, chunk_of
from palimpsest.extraction.finding import Finding
from palimpsest.recall.tool import SEARCH

from tests.service import SARAH
from tests.unit.context.service import ContextService

KNOWN = ("Sarah lives in Rome", "Sarah was in Rome in 2019")
ASKED = "Where should I eat tonight?"
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "search_memory_tool", "arguments": '{"query": "dinner"}'},
}

FedBack = Callable[[str, str], Sequence[Chat]]
"""The messages in which an agent sends back what it was given: the tool's text, and the memory of a
context.
"""


def user(content: str) -> Chat:
    return {"role": "user", "content": content}


WAYS: dict[str, FedBack] = {
    "a tool's message": lambda tool, _: [
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": tool},
    ],
    "before the question": lambda tool, _: [user(f"{tool}\n\n{ASKED}")],
    "behind a heading": lambda tool, _: [user(f"What you know: {tool}\n\n{ASKED}")],
    "as a quotation": lambda tool, _: [user("> " + tool.replace("\n", "\n> ") + f"\n\n{ASKED}")],
    "by the assistant": lambda tool, _: [{"role": "assistant", "content": tool}],
    "memory before the question": lambda _, memory: [user(f"{memory}\n{ASKED}")],
    "memory cut off": lambda _, memory: [user(f"{ASKED}\n{memory[:-30]}")],
    "memory in a part": lambda _, memory: [
        {"role": "user", "content": [{"type": "text", "text": memory}]}
    ],
    "memory as system message": lambda _, memory: [{"role": "system", "content": memory}],
}


def lines_on_rome(chunk: Chunk) -> list[Finding]:
    """Every line that speaks of Rome, as an extractor that believes everything would find it."""
    said = [
        (message.seq, line)
        for message in chunk.messages
        for line in text_of(message.chat).splitlines()
    ]
    return [
        Finding("fact", line, (seq,), line, importance=0.9) for seq, line in said if "Rome" in line
    ]


def test_a_call_of_our_own_tool_is_not_read_for_extraction() -> None:
    other = {"id": "c2", "type": "function", "function": {"name": "book", "arguments": "a table"}}
    said = {"role": "assistant", "content": "I will look.", "tool_calls": [CALL, other]}
    message = Message(2, "", 1, 1, "o200k_base", said, "2026-01-01T00:00:00+00:00")
    (read,) = chunk_of([message], first=1, last=2, room=None).messages
    assert "a table" in transcript([read])
    assert "dinner" not in transcript([read])


@pytest.mark.parametrize("way", WAYS)
def test_recalled_text_that_is_fed_back_is_neither_remembered_nor_found(
    way: str, tmp_path: Path
) -> None:
    service = ContextService(folder=tmp_path, blocks=[{"type": "extractive"}])
    service.extractor.finds = lines_on_rome
    for content in KNOWN:
        service.learn(content, importance=0.9)
    service.say(ASKED)
    service.index_all("s")
    tool = str(service.memories_app.tools(SEARCH, SARAH, {"query": "Rome"})["content"])
    memory = service.context().memory.text
    assert tool.count("Rome") == memory.count("Rome") == 2
    service.put(*WAYS[way](tool, memory), session="next")
    service.put(user("I like it in Rome"), session="next")
    service.handle(service.ask("next"))
    assert service.contents() == sorted([*KNOWN, "I like it in Rome"])
    service.index_all("next")
    found = service.memories_app.search(SARAH, "Rome", mode="keyword", k=20)
    assert sorted(one.content for one in found) == sorted(
        [*KNOWN, "I like it in Rome", "I like it in Rome"]
    )
