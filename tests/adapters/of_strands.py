"""Strands Agents keeps what it knows here: run by test_adapters in an environment of its own."""

import asyncio
import uuid
from typing import Any

import pytest
from palimpsest_client import Palimpsest
from palimpsest_client.integrations.strands import PalimpsestMemoryStore, chats_of
from strands import Agent
from strands.memory import AddMessagesContext, IntervalTrigger, MemoryManager
from strands.models.model import Model

METRICS = {"latencyMs": 1}


class Listens(Model):
    """Says that all is well; `seen` is what it was sent last."""

    def __init__(self) -> None:
        self.seen: Any = None

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.seen = messages
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "All is well."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        usage = {"inputTokens": 900, "outputTokens": 20, "totalTokens": 5_016}
        yield {"metadata": {"usage": {**usage, "cacheReadInputTokens": 4_096}, "metrics": METRICS}}


@pytest.fixture
def user() -> str:
    return f"u-{uuid.uuid4().hex}"


def said(text: str, role: str = "user") -> Any:
    return {"role": role, "content": [{"text": text}]}


def test_what_is_added_is_found_and_the_same_again_changes_nothing(user: str) -> None:
    store = PalimpsestMemoryStore(user=user)

    async def go() -> Any:
        await store.add("Sarah lives in Hamburg.", {"from": "test"})
        await store.add("Sarah lives in Hamburg.", {"from": "test"})
        await store.add("Sarah works in Marketing.")
        return await store.search("Where does Sarah live?", {"max_search_results": 1})

    (memory,) = asyncio.run(go())
    assert (memory.content, memory.metadata["type"]) == ("Sarah lives in Hamburg.", "fact")
    assert len(list(Palimpsest().user(user).memories())) == 2


def test_a_batch_that_is_handed_over_again_is_stored_once(user: str) -> None:
    store = PalimpsestMemoryStore(user=user, session=f"s-{user}")
    batch = [said("yes"), said("Noted.", "assistant")]

    async def go() -> None:
        for _ in range(2):
            await store.add_messages(batch, AddMessagesContext(sequence_numbers=[0, 1]))
        await store.add_messages(batch, AddMessagesContext(sequence_numbers=[2, 3]))
        await store.add_messages(batch)

    asyncio.run(go())
    stored = [row["content"] for row in Palimpsest().session(f"s-{user}").messages()]
    assert stored == ["yes", "Noted."] * 3


def test_calls_and_results_become_messages_of_their_own() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Rome"}}}
    assert chats_of({"role": "assistant", "content": [{"text": "I look."}, use]}) == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
                }
            ],
        }
    ]
    result = {
        "toolResult": {
            "toolUseId": "t1",
            "status": "success",
            "content": [{"text": "sunny"}, {"json": {"a": 1}}],
        }
    }
    assert chats_of({"role": "user", "content": [result, {"text": "And now?"}]}) == [
        {"role": "tool", "tool_call_id": "t1", "content": 'sunny\n{"a": 1}'},
        {"role": "user", "content": "And now?"},
    ]


def test_an_agent_knows_in_its_next_life_what_it_heard_in_this_one(user: str) -> None:
    def agent() -> tuple[Agent, Listens]:
        model = Listens()
        store = PalimpsestMemoryStore(user=user, extraction={"trigger": IntervalTrigger(turns=1)})
        return Agent(
            model=model, callback_handler=None, memory_manager=MemoryManager(stores=[store])
        ), model

    first, _ = agent()
    assert "search_memory" in first.tool_names
    first("I live in Hamburg and I am allergic to nuts.")
    first("Thank you.")
    second, model = agent()
    second("Where do I live?")
    assert "Hamburg" in str(model.seen)


def test_what_an_agents_model_calls_used_is_counted_with_what_a_cache_served(user: str) -> None:
    store = PalimpsestMemoryStore(
        user=user,
        extraction={"trigger": IntervalTrigger(turns=1)},
        model="us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    manager = MemoryManager(stores=[store])
    agent = Agent(model=Listens(), callback_handler=None, memory_manager=manager)
    agent("Hello.")
    agent("And again.")
    (row,) = Palimpsest().usage(by="user", user_id=user)
    counted = (row["chat_tokens_in"], row["chat_tokens_cached"], row["chat_tokens_out"])
    assert counted == (2 * 4_996, 2 * 4_096, 40)
    cost = 2 * (900 * 3 + 4_096 * 0.3 + 20 * 15) / 1_000_000
    assert row["chat_cost_usd"] == pytest.approx(cost)
