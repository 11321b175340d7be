"""Transcripts longer than one call takes: the service says where the next part goes, so nothing is
lost or doubled.
"""

import asyncio
from typing import Any

import pytest
from palimpsest_client import AsyncPalimpsest, Palimpsest, errors
from palimpsest_client.integrations.openai_agents import PalimpsestSession

from tests.served import KEY, Served

Chat = dict[str, Any]


def conversation(turns: int) -> list[Chat]:
    """Turns of six messages, in which the assistant makes two calls, sent one by one as other APIs
    do.
    """
    said: list[Chat] = []
    for number in range(turns):
        said.append({"role": "user", "content": f"Question {number}"})
        for name in ("a", "b"):
            call = {
                "id": f"{name}{number}",
                "type": "function",
                "function": {"name": name, "arguments": "{}"},
            }
            said.append({"role": "assistant", "tool_calls": [call]})
        said += [
            {"role": "tool", "tool_call_id": f"{name}{number}", "content": f"{name}: {number}"}
            for name in "ab"
        ]
        said.append({"role": "assistant", "content": "ok"})
    return said


def stored(memory: Palimpsest, session: str) -> list[tuple[str, Any]]:
    rows = memory.session(session, user="sarah").messages()
    return [
        (row["role"], [call["id"] for call in row.get("tool_calls") or ()] or row["content"])
        for row in rows
    ]


def expected(turns: int) -> list[tuple[str, Any]]:
    return [
        each
        for number in range(turns)
        for each in (
            ("user", f"Question {number}"),
            ("assistant", [f"a{number}", f"b{number}"]),
            ("tool", f"a: {number}"),
            ("tool", f"b: {number}"),
            ("assistant", "ok"),
        )
    ]


@pytest.mark.parametrize("session", ["long", None])
def test_a_long_transcript_that_grows_and_is_sent_again_is_stored_once(
    memory: Palimpsest, session: str | None
) -> None:
    sarah, said = memory.user("sarah"), conversation(250)
    assert len(said) == 1_500
    jobs = [
        job for part in (said[:1_200], said, said) for job in sarah.ingest(part, session=session)
    ]
    (name,) = {job.shown["session_id"] for job in jobs}
    assert stored(memory, name) == expected(250)


def test_a_long_transcript_that_was_cut_off_or_withdrawn_from_is_completed(
    memory: Palimpsest,
) -> None:
    sarah, said = memory.user("sarah"), conversation(200)
    sarah.ingest(said, session="long")
    memory.session("long", user="sarah").withdraw(5 * 190 + 1).wait()
    sarah.ingest(said, session="long")
    assert stored(memory, "long") == expected(200)


def test_what_contradicts_the_stored_history_behind_its_first_part_is_refused(
    memory: Palimpsest,
) -> None:
    sarah, said = memory.user("sarah"), conversation(200)
    sarah.ingest(said, session="long")
    said[1_104] = {**said[1_104], "content": "something else"}
    with pytest.raises(errors.TranscriptDiverged):
        sarah.ingest(said, session="long")
    assert stored(memory, "long") == expected(200)


@pytest.mark.parametrize("size", [8, 1_520])
def test_an_agents_items_come_back_however_many_are_added_at_once(
    memory: Palimpsest, served: Served, size: int
) -> None:
    """Parallel calls with reasoning between them, which fall on both sides of what one append
    takes.
    """
    items: list[Chat] = []
    for number in range(size // 8):
        items.append({"role": "user", "content": f"Question {number}"})
        for name in "ab":
            items.append({"type": "reasoning", "id": f"r{name}{number}", "summary": []})
            items.append(
                {
                    "type": "function_call",
                    "call_id": f"{name}{number}",
                    "name": name,
                    "arguments": "{}",
                }
            )
        outputs = [
            {"type": "function_call_output", "call_id": f"{name}{number}", "output": name}
            for name in "ab"
        ]
        items += [*outputs, {"role": "assistant", "content": "ok"}]

    async def kept() -> list[Chat]:
        async with AsyncPalimpsest(served.url, KEY) as client:
            session = PalimpsestSession("agents", user="sarah", memory=client)
            await session.add_items(items)
            return await session.get_items()

    assert asyncio.run(kept()) == items
    assert memory.session("agents", user="sarah").context()["messages"]


def test_a_history_that_stays_its_callers_is_learned_in_parts_too(memory: Palimpsest) -> None:
    said = [{**each, "id": f"m{number}"} for number, each in enumerate(conversation(180))]
    sarah = memory.user("sarah")
    assert [sarah.learn(said, session="s1").shown["appended"] > 0 for _ in range(2)] == [
        True,
        False,
    ]
