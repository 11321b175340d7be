"""The Claude Agent SDK keeps its transcripts here: run by test_adapters in an environment of its
own.
"""

import asyncio
import uuid
from typing import Any

from claude_agent_sdk.testing import run_session_store_conformance
from palimpsest_client import Palimpsest
from palimpsest_client.integrations.claude_agent import PalimpsestSessionStore

KEY: Any = {"project_key": "p", "session_id": "s"}


def store(user: str | None = None) -> PalimpsestSessionStore:
    return PalimpsestSessionStore(user=user or f"u-{uuid.uuid4().hex}")


def said(text: Any, role: str = "user", **more: Any) -> Any:
    return {
        "type": role,
        "uuid": uuid.uuid4().hex,
        "message": {"role": role, "content": text},
        **more,
    }


def test_it_keeps_the_sdks_own_contract() -> None:
    asyncio.run(run_session_store_conformance(store))


def test_an_entry_that_comes_again_is_loaded_once() -> None:
    async def go() -> None:
        kept, entry = store(), said("I live in Hamburg.")
        for _ in range(2):
            await kept.append(KEY, [entry, {"type": "title", "title": "t"}])
        assert await kept.load(KEY) == [
            entry,
            {"type": "title", "title": "t"},
            {"type": "title", "title": "t"},
        ]

    asyncio.run(go())


def test_transcripts_of_two_users_with_the_same_names_are_apart() -> None:
    async def go() -> None:
        mine, other = store(), store()
        await mine.append(KEY, [said("A secret.")])
        assert await other.load(KEY) is None
        assert await other.list_sessions("p") == []
        await other.append(KEY, [said("Another.")])
        assert len(await mine.load(KEY) or []) == 1

    asyncio.run(go())


def test_a_long_transcript_with_tools_comes_back_whole() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a"}
    entries = [said(f"question {number}") for number in range(120)]
    entries += [
        said([{"type": "text", "text": "I look."}, use], "assistant"),
        said([result]),
        {"type": "summary", "x": 1},
    ]

    async def go() -> None:
        kept = store()
        await kept.append(KEY, entries)
        assert await kept.load(KEY) == entries

    asyncio.run(go())


def test_what_was_said_in_a_transcript_is_remembered() -> None:
    user = f"u-{uuid.uuid4().hex}"
    asyncio.run(store(user).append(KEY, [said("I live in Hamburg.")]))
    (session,) = Palimpsest().user(user).sessions()
    Palimpsest().session(session["session_id"]).end().wait()
    assert [memory["content"] for memory in Palimpsest().user(user).memories()] == [
        "I live in Hamburg."
    ]


def test_what_model_calls_used_is_counted_once_an_answer_with_what_a_cache_served() -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 4_000,
        "cache_creation_input_tokens": 200,
        "output_tokens": 20,
    }
    answer = {"id": "msg_1", "model": "claude-sonnet-4-5-20250929", "usage": usage}

    def block(kind: str, **inner: Any) -> Any:
        entry = said([{"type": kind, **inner}], "assistant")
        return {**entry, "message": {**entry["message"], **answer}}

    entries = [
        said("Hello."),
        block("text", text="I look."),
        block("tool_use", id="t", name="Bash", input={}),
    ]
    user = f"u-{uuid.uuid4().hex}"

    async def go() -> None:
        kept = store(user)
        await kept.append(KEY, entries)
        await kept.append(KEY, [block("text", text="Done.")])

    asyncio.run(go())
    (row,) = Palimpsest().usage(by="user", user_id=user)
    counted = (row["chat_tokens_in"], row["chat_tokens_cached"], row["chat_tokens_out"])
    assert counted == (4_300, 4_000, 20)
    cost = (100 * 3 + 4_000 * 0.3 + 200 * 3.75 + 20 * 15) / 1_000_000
    assert abs(row["chat_cost_usd"] - cost) < 1e-9
