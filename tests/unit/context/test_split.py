"""Contexts whose beginning stays the same, so that a prompt cache can serve it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.message import Chat
from palimpsest.memory.record import Source

from tests.service import SARAH
from tests.unit.context.service import ContextService
from tests.unit.conversations.validity import problems

LETTERS = 500  # 128 tokens: after nine messages a cache can serve the contexts
UPDATE = "memory_update"


def talking(**memory: Any) -> ContextService:
    """A conversation of ten turns, of a user of whom three things are known."""
    service = ContextService(**memory)
    service.state_fact("remote", "Work from home three days a week.")
    service.learn("Sarah lives in Rome", topic="city", importance=0.7)
    service.learn("Sarah likes green tea", importance=0.6)
    service.learn("Answer in one sentence.", type="instruction")
    service.put({"role": "system", "content": "You help."})
    service.time.advance(60)
    service.talk(10, letters=LETTERS)
    service.time.advance(60)
    return service


def common(before: SessionContext, after: SessionContext) -> int:
    """How many messages both begin with."""
    pairs = zip(before.messages, after.messages, strict=False)
    return next((at for at, (old, new) in enumerate(pairs) if old != new), len(before.messages))


def forget(service: ContextService, words: str) -> None:
    """Delete the memories with these words."""
    for record in service.records():
        if words in record.content:
            service.app.manage_memories.delete(SARAH, record.id)


def ask(service: ContextService, text: str) -> SessionContext:
    """The context for a message that is appended first."""
    service.say(text)
    return service.context()


def content(chat: Chat) -> str:
    return str(chat["content"])


def test_the_stable_part_follows_the_system_message_whatever_is_asked() -> None:
    service = talking()
    tea = ask(service, "Do I like green tea?")
    rome = ask(service, "Is Rome my city?")
    assert content(tea.messages[0]) == "You help."
    assert content(tea.messages[1]) == tea.memory.stable
    assert "green tea" in tea.memory.stable
    assert "Rome" in tea.memory.stable
    assert common(tea, rome) == len(tea.messages)


def test_a_correction_is_said_right_before_the_question_and_the_beginning_stays() -> None:
    service = talking()
    before = ask(service, "And now?")
    service.learn("Sarah lives in Oslo", topic="city", importance=0.7)
    after = ask(service, "Where do I live?")
    assert common(before, after) == len(before.messages)
    *_, recalled, question = after.messages
    assert content(question) == "Where do I live?"
    assert content(recalled) == after.memory.recalled
    assert recalled["role"] == "user"
    text = "\n".join(map(content, after.messages))
    assert text.rindex("Oslo") > text.rindex("Rome")
    assert UPDATE in content(recalled)
    assert "Rome" not in after.memory.text
    assert [item.text for item in after.memory.of("extractive")].count("Sarah lives in Oslo") == 1


def test_what_was_recalled_is_gone_from_the_next_context() -> None:
    service = talking()
    service.learn("Sarah lives in Oslo", topic="city")
    service.learn("Sarah plays the cello")
    first = ask(service, "Do I play the cello?")
    assert "cello" in first.memory.recalled
    service.put({"role": "assistant", "content": "You do."})
    second = ask(service, "Thanks.")
    assert [content(chat) for chat in second.messages if "Recalled" in content(chat)] == [
        second.memory.recalled
    ]
    assert common(first, second) == len(first.messages) - 2  # recalled, and what it stood before


def test_a_new_fact_is_said_although_the_question_does_not_name_it() -> None:
    service = talking()
    service.learn("Sarah plays the cello")
    service.state_fact("lunch", "Lunch is free on Fridays.")
    context = ask(service, "And now?")
    assert "cello" in context.memory.recalled
    assert "Fridays" in context.memory.recalled
    assert "cello" not in context.memory.stable


def test_what_is_deleted_leaves_the_stable_part_at_once() -> None:
    service = talking()
    assert "Rome" in ask(service, "And now?").memory.stable
    forget(service, "Rome")
    after = service.context()
    assert not any("Rome" in content(chat) for chat in after.messages)
    assert "green tea" in after.memory.stable


def test_what_is_deleted_after_a_correction_is_shown_in_no_version() -> None:
    service = talking()
    ask(service, "And now?")
    service.learn("Sarah lives in Oslo", topic="city")
    forget(service, "Oslo")
    after = "\n".join(map(content, service.context().messages))
    assert "Oslo" not in after
    assert "Rome" not in after


def test_after_an_erasure_nothing_is_remembered_of_the_user() -> None:
    service = talking()
    assert "Rome" in ask(service, "And now?").memory.stable
    service.app.erase(SARAH)
    service.say("Hello", session="new")
    context = service.context(session="new")
    assert "Rome" not in str(context.messages)
    assert "three days a week" in context.memory.stable


def test_after_a_compaction_the_stable_part_says_what_holds_now() -> None:
    service = talking(strategy="trim", max_tokens=4_000, max_memory_tokens=600)
    service.learn("Sarah lives in Oslo", topic="city")
    assert "Rome" in ask(service, "And now?").memory.stable
    service.talk(8, letters=LETTERS)
    assert service.compactions()
    context = service.context()
    assert "Rome" not in "\n".join(map(content, context.messages))
    assert "Oslo" in context.memory.stable


def test_after_a_day_the_stable_part_says_what_holds_now() -> None:
    service = talking()
    service.learn("Sarah lives in Oslo", topic="city")
    service.time.advance(24 * 3600)
    context = ask(service, "Good morning!")
    assert "Oslo" in context.memory.stable
    assert context.memory.recalled == ""


def test_what_the_window_says_itself_is_in_neither_part() -> None:
    service = talking()
    service.learn("Sarah asked about q", source=Source(session="s", seqs=(2,)))
    service.learn("Sarah asked about r", source=Source(session="s", seqs=(2, 99)))
    context = ask(service, "And now?")
    assert "about q" not in context.memory.text
    assert "about r" in context.memory.text


def test_within_a_turn_of_calls_the_beginning_stays_and_no_call_is_parted_from_its_result() -> None:
    service = talking()
    service.learn("Sarah lives in Oslo", topic="city")
    first = ask(service, "What is the weather where I live?")
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    service.put({"role": "assistant", "content": None, "tool_calls": [call]})
    service.put({"role": "tool", "tool_call_id": "c1", "content": "Sunny."})
    second = service.context()
    assert common(first, second) == len(first.messages)
    assert problems(second.messages) == []


def test_the_same_message_is_the_same_json_each_time() -> None:
    service = talking()
    first = ask(service, "And now?")
    second = ask(service, "And then?")
    size = len(first.messages)
    assert json.dumps(first.messages) == json.dumps(second.messages[:size])
    assert json.dumps(first.tools) == json.dumps(second.tools)


def test_if_there_is_no_room_to_say_what_changed_the_stable_part_is_written_anew() -> None:
    service = talking(max_tokens=4_000)
    service.learn("Sarah lives in Oslo", topic="city")
    service.say("x" * 4 * (4_000 - 124 - 2_580 - 170))
    context = service.context()
    text = "\n".join(map(content, context.messages))
    assert context.omitted is None
    assert text.rfind("Oslo") >= text.rfind("Rome")


@given(st.lists(st.sampled_from(("say", "learn", "correct", "forget", "wait")), max_size=14))
@settings(max_examples=25, deadline=None)
def test_nothing_outdated_is_the_last_word(steps: list[str]) -> None:
    service = talking(max_tokens=4_000, strategy="trim", max_memory_tokens=600)
    cities = ["Rome"]
    for number, step in enumerate(steps):
        service.time.advance(60)
        if step == "say":
            service.talk(2, letters=LETTERS)
        elif step == "learn":
            service.learn(f"Sarah owns book {number}")
        elif step == "correct":
            cities.append(f"city{number}x")
            service.learn(f"Sarah lives in {cities[-1]}", topic="city")
        elif step == "wait":
            service.time.advance(13 * 3600)
        elif step == "forget" and len(cities) > 1:
            forget(service, cities[-1])
            cities = ["nowhere", *cities]
            break
        context = ask(service, "Where do I live?")
        text = "\n".join(map(content, context.messages))
        assert text.rindex(cities[-1]) == max(text.rfind(city) for city in cities)
        assert context.fitted.tokens + context.tools_tokens <= context.budget
    if cities[0] == "nowhere":
        text = "\n".join(map(content, ask(service, "And now?").messages))
        assert cities[-1] not in text


def test_the_stable_part_makes_room_for_the_fact_that_a_question_is_about() -> None:
    service = ContextService(max_tokens=600)
    for number in range(60):
        service.learn(f"Sarah keeps book {number} in the hall", importance=0.9)
    service.learn("Sarah plays the cello", importance=0.1)
    service.time.advance(60)
    service.talk(2, letters=330)
    assert "cello" not in ask(service, "Where are the books?").memory.text
    asked = ask(service, "Which instrument is the cello?")
    assert "cello" in asked.memory.recalled
    assert asked.total_tokens <= asked.budget


def test_with_many_corrections_the_beginning_is_written_anew_once_in_a_while() -> None:
    service = ContextService(max_tokens=20_000)
    for number in range(40):
        service.learn(f"{'Sarah keeps book ' * 6}{number}", topic=f"book{number}")
    service.time.advance(60)
    service.talk(10, letters=LETTERS)
    stable = []
    for number in range(40):
        service.time.advance(60)
        service.learn(f"{'Sarah keeps book ' * 6}{number} now", topic=f"book{number}")
        context = ask(service, "And now?")
        stable.append(context.memory.stable)
        text = "\n".join(map(content, context.messages))
        assert f"{number} now" in text
    assert len(set(stable)) < 6
