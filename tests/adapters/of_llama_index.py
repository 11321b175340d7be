"""LlamaIndex keeps what leaves its window here: run by test_adapters in an environment of its
own.
"""

import asyncio
import re
import uuid
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from palimpsest_client import Palimpsest
from palimpsest_client.integrations.llama_index import (
    PalimpsestMemory,
    PalimpsestMemoryBlock,
    count_usage,
)


@pytest.fixture
def user() -> str:
    return f"u-{uuid.uuid4().hex}"


def said(text: str, role: str = "user", **more: Any) -> ChatMessage:
    return ChatMessage(role=role, content=text, additional_kwargs=more)


def test_what_answers_the_newest_message_is_in_the_block(user: str) -> None:
    Palimpsest().user(user).remember("Sarah lives in Hamburg.")
    block = PalimpsestMemoryBlock(user=user)
    text = asyncio.run(block.aget([said("Where does Sarah live?")]))
    assert re.fullmatch(r"- \d{4}-\d\d-\d\d: Sarah lives in Hamburg\.", text)
    assert asyncio.run(block.aget([])) == ""


def test_messages_that_are_put_are_stored_in_their_session_and_remembered(user: str) -> None:
    block = PalimpsestMemoryBlock(user=user)
    asyncio.run(
        block.aput(
            [said("I live in Hamburg."), said("Noted.", "assistant")], session_id=f"s-{user}"
        )
    )
    assert [row["content"] for row in Palimpsest().session(f"s-{user}").messages()] == [
        "I live in Hamburg.",
        "Noted.",
    ]
    assert [memory["content"] for memory in Palimpsest().user(user).memories()] == [
        "I live in Hamburg."
    ]


def test_calls_and_results_are_kept_also_a_result_whose_call_is_not_there(user: str) -> None:
    block = PalimpsestMemoryBlock(user=user)
    call = ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Rome"})
    asyncio.run(
        block.aput(
            [
                said("Weather?"),
                ChatMessage(role="assistant", blocks=[call]),
                said("sunny", "tool", tool_call_id="c1"),
            ],
            session_id=f"s-{user}",
        )
    )
    asyncio.run(
        block.aput(
            [said("42", "tool", tool_call_id="c9"), said("It is 42.", "assistant")],
            session_id=f"s-{user}",
        )
    )
    rows = list(Palimpsest().session(f"s-{user}").messages())
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "item", "assistant"]


def test_a_memory_of_llama_index_knows_what_has_left_its_window(user: str) -> None:
    async def go() -> Any:
        memory = Memory.from_defaults(
            session_id=f"s-{user}",
            token_limit=200,
            chat_history_token_ratio=0.5,
            token_flush_size=60,
            memory_blocks=[PalimpsestMemoryBlock(user=user)],
        )
        await memory.aput(said("I live in Hamburg."))
        for number in range(12):
            await memory.aput(
                said(f"Question number {number} is about a long story that takes many words.")
            )
            await memory.aput(said("I see, thank you for telling me.", "assistant"))
        return await memory.aget(input="Where do I live?")

    assert "Hamburg" in str(asyncio.run(go())[0])


def memory_of(user: str, session: str, **limits: Any) -> PalimpsestMemory:
    return PalimpsestMemory.from_defaults(
        session_id=f"{session}-{user}", memory_blocks=[PalimpsestMemoryBlock(user=user)], **limits
    )


def stored(user: str, session: str) -> list[Any]:
    return [row["content"] for row in Palimpsest().session(f"{session}-{user}").messages()]


def test_every_message_is_stored_as_it_comes_and_a_short_conversation_is_known_in_the_next(
    user: str,
) -> None:
    first = memory_of(user, "one")
    assert first.token_limit == 30_000
    first.put(said("I live in Hamburg."))
    assert stored(user, "one") == ["I live in Hamburg."]
    first.put_messages([said("Noted.", "assistant"), said("yes"), said("yes")])
    assert stored(user, "one") == ["I live in Hamburg.", "Noted.", "yes", "yes"]
    second = memory_of(user, "two")
    second.put(said("Where do I live?"))
    system, question = second.get()
    assert "I live in Hamburg." in str(system)
    assert "Where do I live?" not in str(system)
    assert question.content == "Where do I live?"
    assert second.get(input="And before?")[-1].content == "Where do I live?"
    assert stored(user, "two") == ["Where do I live?"]


def test_what_leaves_its_window_is_not_stored_again(user: str) -> None:
    memory = memory_of(user, "s", token_limit=100, token_flush_size=20)
    texts = [
        f"Question number {number} is about a long story that takes many words."
        for number in range(12)
    ]
    for text in texts:
        memory.put(said(text))
    assert len(memory.get_all(status=MessageStatus.ARCHIVED)) > 0
    assert stored(user, "s") == texts


def test_a_history_that_it_is_given_is_stored_once_however_often_it_is_set(user: str) -> None:
    history = [said("I live in Hamburg."), said("Noted.", "assistant"), said("yes"), said("yes")]
    memory = memory_of(user, "s", chat_history=history[:3])
    assert [message.content for message in memory.get_all()] == [
        message.content for message in history[:3]
    ]
    memory.set(history)
    memory.set(history[1:])
    assert stored(user, "s") == [message.content for message in history]


def test_what_answers_least_is_left_out_first(user: str) -> None:
    block = PalimpsestMemoryBlock(user=user)
    content = "- first memory\n- second memory\n- third memory"
    assert asyncio.run(block.atruncate(content, 3)) == "- first memory\n- second memory"
    assert asyncio.run(block.atruncate(content, 100)) is None


class Counts(MockLLM):
    """Answers, and says what each answer used."""

    @llm_chat_callback()
    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        details = {"cached_tokens": 4_096}
        usage = {"prompt_tokens": 5_000, "completion_tokens": 20, "prompt_tokens_details": details}
        raw = {"model": "gpt-4.1-mini-2025-04-14", "usage": usage}
        answer = f"You said {len(list(messages))} things."
        return ChatResponse(message=said(answer, "assistant"), raw=raw)


def test_what_a_chats_model_calls_used_is_counted_with_what_a_cache_served(user: str) -> None:
    count_usage()
    count_usage()
    memory = PalimpsestMemory.from_defaults(
        session_id=f"s-{user}", memory_blocks=[PalimpsestMemoryBlock(user=user)]
    )
    engine = SimpleChatEngine.from_defaults(llm=Counts(is_chat_model=True), memory=memory)
    engine.chat("Hello.")
    engine.chat("And again.")
    (row,) = Palimpsest().usage(by="user", user_id=user)
    counted = (row["chat_tokens_in"], row["chat_tokens_cached"], row["chat_tokens_out"])
    assert counted == (10_000, 8_192, 40)
    cost = 2 * (904 * 0.4 + 4_096 * 0.1 + 20 * 1.6) / 1_000_000
    assert row["chat_cost_usd"] == pytest.approx(cost)


def test_with_its_memories_in_the_user_message_a_prompt_begins_as_the_one_before(user: str) -> None:
    for fact in ("Sarah lives in Hamburg.", "Sarah plays the cello.", "Sarah has a cat."):
        Palimpsest().user(user).remember(fact)
    memory = PalimpsestMemory.from_defaults(
        session_id=f"s-{user}",
        memory_blocks=[PalimpsestMemoryBlock(user=user, k=1)],
        insert_method="user",
    )

    def asked(text: str) -> list[str]:
        memory.put(said(text))
        prompt = [str(message.content) for message in memory.get()]
        memory.put(said("Noted.", "assistant"))
        return prompt

    asked("Hello there.")
    before = asked("Where does Sarah live?")
    after = asked("What does Sarah play?")
    assert "Hamburg" in before[-1]
    assert "cello" in after[-1]
    assert after[: len(before) - 1] == before[:-1]
