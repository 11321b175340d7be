"""Contexts with long-term memory: what they hold, what they cost, what happens when something of it
fails.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.own_tools import SEARCH_TOOL
from palimpsest.conversations.weight import weigh
from palimpsest.errors import BudgetTooSmall, ModelUnavailable, Unavailable
from palimpsest.memory.record import Source
from palimpsest.profile.profile import HEAD

from tests.doubles.tokens import LetterCounter
from tests.unit.context.blocks.remembered import Picks
from tests.unit.context.service import ContextService, spoken
from tests.unit.conversations.validity import problems

ALL = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]
POLICY = "Employees work from home three days a week."


def remembering(**more: Any) -> ContextService:
    """A tenant with a policy, and a user of whom two things are known."""
    memory = {"blocks": ALL, **more}
    service = ContextService(**{name: value for name, value in memory.items() if value is not None})
    service.state_fact("remote", POLICY)
    service.learn("Sarah works in Marketing", topic="department", importance=0.9)
    service.learn("Sarah likes green tea", importance=0.6)
    service.say("Hello")
    return service


def test_a_context_holds_what_static_and_extractive_memory_bring() -> None:
    context = remembering().context()
    assert context.memory.text == (
        f"<memory><static_memory>\n- {POLICY}\n</static_memory><extractive_memory>\n{HEAD}\nWork:\n"
        "- Sarah works in Marketing\nMore:\n- Sarah likes green tea\n</extractive_memory></memory>"
    )
    assert [item.id for item in context.memory.of("static")] == ["remote"]
    assert context.degraded == ()


def weight(context: SessionContext) -> int:
    return 3 + sum(
        weigh(chat, lambda text: LetterCounter().count(text, "letters"))
        for chat in context.messages
    )


def test_a_session_has_all_blocks_and_its_messages_alone_carry_what_is_known() -> None:
    service = remembering(blocks=None)
    service.put({"role": "system", "content": "Be brief."})
    context = service.context()
    assert [block.type for block in context.config.blocks] == ["static", "extractive", "vector"]
    assert "Sarah works in Marketing" in context.memory.text
    assert list(context.messages) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": context.memory.text},
        {"role": "user", "content": "Hello"},
    ]
    assert context.fitted.tokens == weight(context) <= context.budget


def test_memory_may_stand_in_a_tools_answer_or_only_beside_the_messages() -> None:
    context = remembering(memory_as="tool_call").context()
    call, answer, hello = context.messages
    assert [each["function"]["name"] for each in call["tool_calls"]] == ["memory_recall"]
    assert (answer["role"], answer["content"]) == ("tool", context.memory.text)
    assert (problems(context.messages), context.fitted.tokens) == ([], weight(context))
    beside = remembering(memory_as="none").context()
    assert (list(beside.messages), beside.memory.text) == ([hello], context.memory.text)


def test_definitions_of_tools_count_in_the_budget() -> None:
    service = remembering(auto_recall=True, max_tokens=1_000)
    service.talk(10, letters=200)
    context = service.context()
    assert context.tools_tokens == len(json.dumps(context.tools[0])) // 4 > 100
    assert 900 < context.fitted.tokens + context.tools_tokens <= 1_000
    with pytest.raises(BudgetTooSmall) as refused:
        service.context(max_tokens=150)
    assert refused.value.minimum == context.tools_tokens + 100


def test_memory_is_in_the_system_prompt_only_if_so_configured() -> None:
    beside = remembering().context()
    assert [chat["role"] for chat in beside.fitted.messages] == ["user", "user"]
    within = remembering(insert_into_system_prompt=True).context()
    assert within.fitted.messages[0] == {"role": "system", "content": within.memory.text}
    assert within.fitted.tokens <= within.budget
    assert within.fitted.tokens == weight(within)


def test_memory_stands_behind_the_sessions_own_system_message() -> None:
    service = remembering(insert_into_system_prompt=True)
    service.put({"role": "system", "content": "You are an HR assistant."})
    context = service.context()
    first = context.fitted.messages[0]["content"]
    assert first == f"You are an HR assistant.\n\n{context.memory.text}"
    assert [chat["role"] for chat in context.fitted.messages] == ["system", "user"]


@pytest.mark.parametrize("strategy", ["summarize", "trim", "delete", "flush", "none"])
def test_blocks_work_with_every_strategy(strategy: str) -> None:
    service = remembering(strategy=strategy)
    assert "Sarah works in Marketing" in service.context().memory.text
    assert service.shown() == ["Hello"]


def test_what_the_newest_user_message_speaks_of_comes_first() -> None:
    service = remembering()
    service.learn("Sarah rides a bicycle", importance=0.8)
    service.say("Do I like green tea?")
    facts = [item.text for item in service.context().memory.of("extractive")]
    assert facts == ["Sarah likes green tea", "Sarah works in Marketing", "Sarah rides a bicycle"]


def test_what_the_window_still_holds_is_not_repeated() -> None:
    service = remembering()
    service.learn("Sarah said hello", source=Source(session="s", seqs=(1,)))
    service.learn("Sarah said hello elsewhere", source=Source(session="other", seqs=(1,)))
    here = service.context()
    assert "said hello elsewhere" in here.memory.text
    assert "said hello\n" not in here.memory.text
    service.say("Another session begins.", session="two")
    assert "said hello\n" in service.context(session="two").memory.text


def test_a_superseded_fact_is_never_shown() -> None:
    service = remembering()
    service.time.advance(60)
    service.learn("Sarah works in Sales", topic="department", importance=0.9)
    context = service.context()
    assert "Sales" in context.memory.text
    assert "Marketing" not in context.memory.text


def test_a_static_fact_of_another_agent_is_not_shown() -> None:
    service = remembering()
    service.state_fact("it", "Laptops are replaced every three years.", agent="it")
    assert "Laptops" not in service.context().memory.text


def test_past_interactions_that_resemble_the_given_message_are_found(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    service.talk(
        [("Where can I park my bicycle?", "Behind building 7, near the gate.")], session="old"
    )
    service.index_all("old", "s")
    context = service.context("Where was the place to park a bicycle?")
    assert context.memory.of("vector")[0].text == "Where can I park my bicycle?"
    assert "- Sarah, 2026-01-01: Where can I park my bicycle?" in context.memory.text
    assert context.degraded == ()
    assert service.context().memory.of("vector") == ()  # nothing to compare


def test_small_talk_is_no_past_interaction(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path, blocks=[{"type": "vector", "min_score": -1}])
    service.talk(
        [("hi", "Noted."), ("I park my bicycle behind building 7.", "Great!")], session="old"
    )
    service.index_all("old", "s")
    found = service.context("Hi, where was the place to park a bicycle?").memory.of("vector")
    assert [item.text for item in found] == ["I park my bicycle behind building 7."]


def test_a_statement_stands_before_a_question_that_is_a_little_more_similar(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path, blocks=[{"type": "vector", "min_score": -1}])
    told = "The place to park a bicycle was behind building 7."
    service.talk([("Where was the dry place to park a bicycle?", told)], session="old")
    service.index_all("old", "s")
    found = service.context("Where was the place to park a bicycle?").memory.of("vector")
    assert [item.text for item in found] == [told, "Where was the dry place to park a bicycle?"]
    assert (found[0].score or 0) < (found[1].score or 0)


def test_calls_of_tools_alone_are_no_past_interaction(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path, blocks=[{"type": "vector", "min_score": -1}])
    looked = {"name": "find_parking", "arguments": '{"of": "bicycle"}'}
    call = {"id": "c", "type": "function", "function": looked}
    service.put({"role": "user", "content": "I park my bicycle behind building 7."}, session="old")
    service.put({"role": "assistant", "content": None, "tool_calls": [call]}, session="old")
    service.put(
        {"role": "tool", "tool_call_id": "c", "content": "Building 7 has room for one bicycle."},
        session="old",
    )
    service.index_all("old", "s")
    found = service.context("Where was the place to park a bicycle?").memory.of("vector")
    assert {item.speaker for item in found} == {"user", "tool"}


def test_past_interactions_of_the_window_itself_are_not_repeated(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    service.say("Where can I park my bicycle?")
    service.index_all("s")
    assert service.context("Where was the place to park a bicycle?").memory.of("vector") == ()


def test_a_past_interaction_that_says_an_earlier_value_is_left_out(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    service.put({"role": "user", "content": "My manager is Ms Brown."}, session="old")
    service.learn(
        "The manager is Ms Brown", topic="manager", source=Source(session="old", seqs=(1,))
    )
    service.time.advance(60)
    service.put({"role": "user", "content": "My manager is Mr Green."}, session="newer")
    service.learn(
        "The manager is Mr Green", topic="manager", source=Source(session="newer", seqs=(1,))
    )
    service.index_all("old", "newer")
    context = service.context("Who is my manager?")
    assert "Brown" not in context.memory.text
    assert "- Sarah, 2026-01-01: My manager is Mr Green." in context.memory.text


def test_once_the_records_are_known_similar_messages_cost_no_read_of_records(
    tmp_path: Path,
) -> None:
    service = remembering(folder=tmp_path)
    for number, who in enumerate(("Ms Brown", "Mr Green")):
        service.time.advance(60)
        service.put({"role": "user", "content": f"My manager is {who}."}, session=f"old{number}")
        source = Source(session=f"old{number}", seqs=(1,))
        service.learn(f"The manager is {who}", topic="manager", source=source)
    service.index_all("old0", "old1")
    service.time.advance(60)
    service.context("Who is my manager?")
    service.watched_memories.calls.clear()
    context = service.context("Who was my manager again?")
    assert [item.text for item in context.memory.of("vector")] == ["My manager is Mr Green."]
    assert service.watched_memories.calls == {"user": 1}
    service.learn("Sarah likes tea", topic="drink")
    service.context("Who is my manager now?")
    assert service.watched_memories.calls["versions"] == 0
    service.learn("The manager is Ms Blue", topic="manager")
    assert service.context("Who is my manager now?").memory.of("vector") == ()
    assert service.watched_memories.calls["versions"] == 1


def test_every_message_that_stated_an_earlier_value_is_left_out(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    for session in ("first", "again"):
        service.put({"role": "user", "content": "My manager is Ms Brown."}, session=session)
        source = Source(session=session, seqs=(1,))
        service.learn("The manager is Ms Brown", topic="manager", source=source)
        service.time.advance(60)
    service.learn("The manager is Mr Green", topic="manager")
    service.index_all("first", "again")
    assert service.context("Who is my manager?").memory.of("vector") == ()


def test_past_interactions_of_a_deleted_session_are_not_found(tmp_path: Path) -> None:
    service = remembering(folder=tmp_path)
    service.say("Where can I park my bicycle?", session="old")
    service.index_all("old", "s")
    service.manage.delete(service.session("old"))
    assert service.context("Where can I park my bicycle?").memory.of("vector") == ()


@pytest.mark.parametrize("failing", ["static", "extractive", "vector", "all"])
def test_the_window_alone_answers_whatever_fails(tmp_path: Path, failing: str) -> None:
    service = remembering(folder=tmp_path)
    every = failing == "all"
    if every or failing == "static":
        service.watched_facts.failing = {"version": Unavailable("down")}
    if every or failing == "extractive":
        service.watched_memories.failing = {"user": Unavailable("down")}
    if every or failing == "vector":
        service.embedder.failure = ModelUnavailable("down")
    context = service.context("And now?")
    assert set(context.degraded) == ({"static", "extractive", "vector"} if every else {failing})
    assert set(context.failures) == set(context.degraded)
    assert [chat["content"] for chat in spoken(context)] == ["Hello", "And now?"]
    assert ("Marketing" in context.memory.text) == (failing in ("static", "vector"))


def test_a_place_without_search_still_gives_the_tables_and_says_so() -> None:
    service = remembering()
    service.index.down = True
    assert service.context("And now?").degraded == ("vector",)
    assert service.context().degraded == ()


def test_a_model_picks_facts_for_a_given_message_only() -> None:
    picks = Picks("2")
    block = {"type": "extractive", "retrieval_prompt": "What matters?"}
    service = remembering(blocks=[block], chat=picks)
    assert len(service.context().memory.of("extractive")) == 2
    assert picks.asked == []
    assert [item.text for item in service.context("Tea?").memory.of("extractive")] == [
        "Sarah works in Marketing"
    ]
    picks.answer = ModelUnavailable("down")
    degraded = service.context("Tea?")
    assert degraded.degraded == ("retrieval_model",)
    assert len(degraded.memory.of("extractive")) == 2


def test_the_tool_to_search_memory_is_there_if_so_configured() -> None:
    (tool,) = remembering(auto_recall=True).context().tools
    assert (tool["type"], tool["function"]["name"]) == ("function", SEARCH_TOOL)


def test_without_blocks_long_term_memory_costs_nothing() -> None:
    service = remembering(blocks=[])
    service.context()  # from now on the process knows whose the session is
    service.watched_sessions.calls.clear()
    context = service.context("And now?")
    assert context.memory.text == ""
    assert service.watched_sessions.calls == {"open": 1, "messages": 1}
    assert service.watched_memories.calls == service.watched_facts.calls == {}


def test_an_unchanged_user_and_tenant_cost_one_small_read_each() -> None:
    service = remembering()
    service.context()
    service.time.advance(60)
    service.context()
    for watched in (service.watched_sessions, service.watched_memories, service.watched_facts):
        watched.calls.clear()
    assert "Marketing" in service.context().memory.text
    assert service.watched_sessions.calls == {"open": 1, "messages": 1}
    assert (service.watched_memories.calls, service.watched_facts.calls) == (
        {"user": 1},
        {"version": 1},
    )


def test_a_small_budget_keeps_the_newest_message_and_the_block_of_most_priority() -> None:
    service = remembering(max_tokens=140)
    service.say("q" * 340)  # 89 tokens
    context = service.context()
    assert context.fitted.messages[-1]["content"] == "q" * 340
    assert context.fitted.tokens == weight(context) <= 140
    assert context.memory.of("extractive") == ()
    assert [item.id for item in context.memory.of("static")] == ["remote"]


def test_without_short_term_memory_a_context_holds_the_newest_turn_alone() -> None:
    service = ContextService(strategy="none")
    service.put({"role": "assistant", "content": "one"}, {"role": "assistant", "content": "two"})
    assert service.shown() == ["two"]
    service.talk([("three", "four"), ("five", "six")])
    assert service.shown() == ["five", "six"]
    assert service.shown(session="s", max_tokens=100) == ["five", "six"]
