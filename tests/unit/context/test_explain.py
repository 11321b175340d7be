"""Why each part of a context is there, what was cut, and the window as it stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from palimpsest.context.explain import trace
from palimpsest.conversations.session import Head
from palimpsest.errors import NotFound, Unavailable
from palimpsest.memory.record import Source

from tests.unit.context.service import ContextService
from tests.unit.context.test_context_blocks import ALL, remembering
from tests.unit.conversations.overflow.test_flush import FLUSH, full
from tests.unit.conversations.service import ConversationService
from tests.unit.conversations.validity import problems


def parts(told: dict[str, Any]) -> list[str]:
    return [part["part"] for part in told["parts"]]


def test_each_part_is_named_with_why_it_is_there() -> None:
    service = remembering()
    service.put({"role": "system", "content": "You help."})
    service.talk([("q1", "a1"), ("q2", "a2")])
    told = trace(service.context())
    assert parts(told) == [
        "system",
        "recent_turns",
        "current_turn",
        "static_memory",
        "extractive_memory",
    ]
    assert all(part["why"] for part in told["parts"])
    recent, current = told["parts"][1:3]
    assert (recent["from"], recent["to"], recent["messages"]) == (1, 4, 3)
    assert (current["from"], current["to"]) == (5, 6)
    assert [item["id"] for item in told["parts"][3]["items"]] == ["remote"]
    assert told["parts"][4]["items"][0]["score"] > told["parts"][4]["items"][1]["score"]
    assert (told["left_out"], told["cuts"], told["failures"]) == ([], [], {})


def test_a_given_message_is_named_and_everything_stored_is_a_recent_turn() -> None:
    service = remembering()
    service.index.down = True
    told = trace(service.context("And now?"))
    assert parts(told)[:2] == ["recent_turns", "given"]
    assert told["failures"] == {"vector": "unavailable"}


def test_what_has_no_room_is_named() -> None:
    service = remembering()
    service.talk(20, letters=200)
    told = trace(service.context(max_tokens=400))
    (messages,) = [part for part in told["left_out"] if part["part"] == "messages"]
    assert (messages["from"], messages["why"]) == (1, "no_room")
    recent = told["parts"][0]
    assert messages["to"] == recent["from"] - 1


def test_what_was_cut_is_named() -> None:
    service = ContextService()
    service.say("x" * 4_000)
    told = trace(service.context(max_tokens=200))
    (cut,) = told["cuts"]
    assert (cut["seq"], cut["part"]) == (1, "content")
    assert cut["tokens"] > 800


def test_memory_that_does_not_stand_there_is_named_with_the_reason() -> None:
    service = remembering()
    service.learn("Sarah said hello", source=Source(session="s", seqs=(1,)))
    service.learn("x" * 3_000)
    told = trace(service.context(max_tokens=400))
    assert sorted(each["why"] for each in told["left_out"]) == ["in_window", "no_room"]
    assert {each["part"] for each in told["left_out"]} == {"extractive_memory"}


def test_a_failure_is_named_with_its_code_and_without_a_text(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    service.watched_memories.failing = {"user": Unavailable("secret details")}
    told = trace(service.context())
    assert told["failures"] == {"extractive": "unavailable"}
    assert "secret" not in str(told)


def test_a_summary_is_named_with_the_compaction_that_made_it() -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    service.drain()
    told = trace(service.app.context(service.session()))
    summary = told["parts"][0]
    assert (summary["part"], summary["method"], summary["is_cut"]) == (
        "summary",
        "extractive",
        False,
    )
    assert summary["through"] == told["window"]["from"] - 1


def test_without_short_term_memory_the_trace_says_so() -> None:
    service = ContextService(strategy="none")
    service.talk([("one", "two"), ("three", "four")])
    told = trace(service.context())
    assert parts(told) == ["current_turn"]
    assert told["left_out"] == [
        {"part": "messages", "from": 1, "to": 2, "why": "short-term memory is off"}
    ]


def test_at_gives_the_window_as_the_next_message_found_it() -> None:
    service = ConversationService(max_tokens=600)
    shown: dict[int, list[str]] = {}
    for _ in range(30):
        service.append("q" * 40)
        service.append("a" * 40, role="assistant")
        service.drain()
        shown[service.app.manage.read(service.session()).head.seq] = service.shown()
    compactions, _ = service.app.history.compactions(service.session(), limit=50)
    assert len(compactions) > 1
    for seq, texts in shown.items():
        context = service.app.context(service.session(), at=seq)
        assert [str(chat["content"]) for chat in context.fitted.messages] == texts, seq
        assert context.head.seq == seq


def head_as_read(head: Head) -> tuple[int, ...]:
    return (
        head.seq,
        head.window_start,
        head.window_tokens,
        head.window_messages,
        head.last_user_seq,
        head.summary,
    )


@pytest.mark.parametrize(
    "memory",
    [
        {"strategy": "trim", "max_tokens": 400, "max_memory_tokens": 120},
        {"strategy": "delete", "max_tokens": 400, "count": 4},
        {**FLUSH, "max_tokens": 400},
    ],
)
def test_at_gives_the_window_as_it_stood_with_every_strategy(memory: dict[str, Any]) -> None:
    service = ContextService(**memory)
    stood: dict[int, tuple[int, ...]] = {}
    for turn in range(25):
        service.talk([(f"question {turn} {'q' * 30}", "a" * 40)])
        service.drain()
        stood[service.head().seq] = head_as_read(service.head())
    assert service.compactions()
    for seq, head in stood.items():
        assert head_as_read(service.context(at=seq, max_tokens=4_000).head) == head


def test_at_shows_the_window_alone() -> None:
    service = remembering(blocks=ALL)
    service.talk(2)
    context = service.context(at=3)
    assert (context.memory.text, context.degraded) == ("", ())
    assert len(context.fitted.messages) == 3


def test_at_within_a_turn_ends_there_and_stays_valid() -> None:
    service = ContextService()
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    service.put(
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "found"},
    )
    context = service.context(at=2)
    assert problems(context.fitted.messages) == []
    assert [chat["role"] for chat in context.fitted.messages] == ["user", "assistant"]


def test_at_an_emptied_window_nothing_stands_before_it() -> None:
    service = full()
    service.drain()
    seq = service.head().seq
    service.history.empty(service.session())
    service.talk([("new", "start")])
    assert service.shown(at=seq + 2) == ["new", "start"]
    assert service.shown(at=seq) == []  # emptied right behind that message
    assert len(service.shown(at=seq - 1)) > 2


@pytest.mark.parametrize("seq", [0, -1, 99])
def test_at_a_message_that_is_not_there_is_not_found(seq: int) -> None:
    service = ContextService()
    service.talk(2)
    with pytest.raises(NotFound) as unknown:
        service.context(at=seq)
    assert unknown.value.code == "message_not_found"


def test_at_a_withdrawn_message_is_not_found() -> None:
    service = ContextService()
    service.talk(3)
    service.history.withdraw(service.session(), first=4)
    with pytest.raises(NotFound):
        service.context(at=5)
    assert len(service.shown(at=3)) == 3
