"""What every memory can do for a session: bring, take in, forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palimpsest import AgentMemory
from palimpsest.context.blocks.ports import BlockContent, Conversation, MemoryBlock
from palimpsest.errors import Conflict, ReadOnlyBlock
from palimpsest_client.errors import SessionNotFound
from palimpsest_client.types import Context

from tests.doubles.meanings import Meanings
from tests.unit.talk import POLICY, texts

BLOCKS: dict[str, Callable[[AgentMemory], MemoryBlock[Any]]] = {
    "static": lambda memory: memory.static,
    "extractive": lambda memory: memory.extractive,
    "vector": lambda memory: memory.vector,
    "agent": lambda memory: memory,
}
SAID = "I live in Lisbon, near the harbour."


@pytest.fixture
def here() -> AgentMemory:
    """A session that has just begun."""
    memory = AgentMemory(user="sarah", static_facts=[POLICY], embedder=Meanings())
    memory.append("s", "Hello!")
    return memory


def brought(found: BlockContent | Context) -> list[str]:
    """Every text that a memory brings."""
    if isinstance(found, BlockContent):
        return [item.text for item in found.items]
    facts = [fact["content"] for fact in found["static_facts"]]
    memories = [memory["content"] for memory in found["extracted_facts"]]
    messages = [message["content"] for message in found["vector_matches"]]
    window = [text for text, ref in zip(texts(found), found["refs"], strict=True) if ref]
    return [*facts, *memories, *messages, *window]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_memory_brings_what_is_there_for_a_message(here: AgentMemory, name: str) -> None:
    here.remember(SAID)
    here.append("s", SAID)
    expected = POLICY if name == "static" else SAID
    assert expected in brought(
        BLOCKS[name](here).get(here.conversation("s"), "Where do I live, near the harbour?")
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_every_memory_takes_in_what_is_said_or_refuses_it(here: AgentMemory, name: str) -> None:
    memory, session = BLOCKS[name](here), here.conversation("s")
    if name == "static":
        with pytest.raises(ReadOnlyBlock):
            memory.update(session, SAID)
    else:
        memory.update(session, SAID)
    found = brought(memory.get(session, "Where do I live, near the harbour?"))
    assert (SAID in found) == (name != "static")
    assert (POLICY in found) == (name in ("static", "agent"))


@pytest.mark.parametrize("name", BLOCKS)
def test_every_memory_forgets_a_session_or_refuses_to(here: AgentMemory, name: str) -> None:
    memory, session = BLOCKS[name](here), here.conversation("s")
    here.append("s", SAID)
    here.end("s")
    if name == "static":
        with pytest.raises(ReadOnlyBlock):
            memory.delete(session)
        assert brought(memory.get(session)) == [POLICY]
        return
    memory.delete(session)
    if name == "agent":
        assert here.recall("Where do I live, near the harbour?")["memories"] == []
        with pytest.raises(SessionNotFound):
            memory.get(session)
    else:
        assert SAID not in brought(memory.get(session, "Where do I live, near the harbour?"))
        assert SAID in texts(here.context("s"))  # what was said is no block's to delete


@pytest.mark.parametrize("name", ["extractive", "vector", "agent"])
def test_no_memory_changes_another_users_session(here: AgentMemory, name: str) -> None:
    memory, session = BLOCKS[name](here), here.conversation("s")
    others = Conversation(session.scope, "bob", session.config)
    with pytest.raises(Conflict, match="another user"):
        memory.update(others, SAID)
    with pytest.raises(Conflict, match="another user"):
        memory.delete(others)
    assert here.session("s").read()["totals"]["messages"] == 1


def test_a_session_that_is_forgotten_twice_is_simply_gone(here: AgentMemory) -> None:
    session = here.conversation("s")
    here.vector.delete(session)
    here.vector.delete(session)
    assert brought(here.vector.get(session, "Where do I live, near the harbour?")) == []
    assert texts(here.context("s", "Hello?"))[-1] == "Hello?"
