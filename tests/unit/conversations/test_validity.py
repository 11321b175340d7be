from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.conversations.message import Chat
from palimpsest.conversations.window.render import shown
from palimpsest.conversations.window.turns import NO_RESULT
from palimpsest.text.cutting import replacement

from tests.unit.conversations.validity import problems
from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    chats,
    repaired,
    result,
    system,
    user,
)

GOOD: dict[str, Sequence[Chat]] = {
    "a question": [user()],
    "system first": [system(), user(), assistant()],
    "calls answered in another order": [
        user(),
        calling("a", "b"),
        result("b"),
        result("a"),
        assistant(),
    ],
    "a call answered at the end": [user(), calling("a"), result("a")],
    "the same id again later": [calling("a"), result("a"), calling("a"), result("a")],
    "a call whose result is still to come": [user(), calling("a")],
    "one of two results still to come": [calling("a", "b"), result("a")],
    "parts": [user([{"type": "text", "text": "hi"}])],
    "a function's arguments that were no JSON from the start": [
        calling("a", arguments="{oops"),
        result("a"),
    ],
    "arguments that were replaced": [calling("a", arguments=replacement(812, 17)), result("a")],
}
BAD: dict[str, tuple[Sequence[Any], str]] = {
    "nothing": ([], "no message"),
    "an unknown role": ([{"role": "robot", "content": "hi"}], "unknown role"),
    "no role": ([{"content": "hi"}], "unknown role"),
    "no content": ([{"role": "user"}], "content"),
    "content null": ([{"role": "assistant", "content": None}], "content"),
    "no parts": ([user([])], "content"),
    "a part without a type": ([user([{"text": "hi"}])], "content"),
    "a foreign field": ([user("hi", mood="glad")], "field mood"),
    "a result without a call": ([user(), result("a")], "without its call"),
    "a result of another call": ([calling("a"), result("b")], "without its call"),
    "a result that comes twice": ([calling("a"), result("a"), result("a")], "without its call"),
    "a result that names no call": (
        [calling("a"), {"role": "tool", "content": "x"}],
        "names no call",
    ),
    "a result behind another message": ([calling("a"), user(), result("a")], "without its call"),
    "a call without a result": ([calling("a"), user()], "'a' has no result"),
    "one of two calls without a result": (
        [calling("a", "b"), result("a"), user()],
        "'b' has no result",
    ),
    "a part of another API": ([user([{"type": "tool_result", "tool_use_id": "a"}])], "content"),
    "a user's part in a tool's answer": (
        [calling("a"), result("a", [{"type": "file", "file": {}}])],
        "content",
    ),
    "a name with a space": ([user(name="Sarah Miller")], "a name"),
    "no calls in the list": ([assistant(tool_calls=[])], "empty list"),
    "a call without an id": ([assistant(tool_calls=[{"type": "function"}])], "without an id"),
    "an id of more than 40 characters": (
        [calling("a" * 41), result("a" * 41)],
        "a call without an id",
    ),
    "a call without a name": (
        [assistant(tool_calls=[{"id": "a", "type": "function", "function": {}}]), result("a")],
        "names no function",
    ),
    "arguments cut into no JSON": (
        [calling("a", arguments=replacement(812, 17)[:-3]), result("a")],
        "no JSON",
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_the_chat_api_takes_has_no_problem(case: str) -> None:
    assert problems(GOOD[case]) == []


@pytest.mark.parametrize("case", BAD)
def test_what_the_chat_api_refuses_is_named(case: str) -> None:
    messages, problem = BAD[case]
    assert any(problem in found for found in problems(messages))


def test_a_result_without_its_call_is_dropped() -> None:
    assert repaired([result("a"), user(), result("b"), assistant()]) == [user(), assistant()]


def test_an_unanswered_call_gets_a_result_that_says_so() -> None:
    messages = [calling("a", "b"), result("b"), user()]
    assert repaired(messages) == [calling("a", "b"), result("b"), result("a", NO_RESULT), user()]


def test_the_newest_call_is_left_open_for_its_result() -> None:
    assert repaired([user(), calling("a")]) == [user(), calling("a")]
    assert repaired([calling("a", "b"), result("b")]) == [calling("a", "b"), result("b")]


def test_an_id_that_stands_twice_in_one_message_gets_one_result() -> None:
    assert repaired([calling("a", "a"), result("a"), result("a")]) == [
        calling("a", "a"),
        result("a"),
    ]


@given(chats(), st.data())
def test_a_chain_cut_at_any_position_can_be_repaired(
    spoken: list[Chat], data: st.DataObject
) -> None:
    cut = sorted(data.draw(st.lists(st.integers(0, len(spoken)), min_size=2, max_size=2)))
    kept = [shown(chat) for chat in spoken[cut[0] : cut[1]]]
    whole = repaired(kept)
    assert problems(whole) == ([] if whole else ["there is no message"])
    assert [chat for chat in whole if chat.get("content") != NO_RESULT] == [
        c for c in kept if c in whole
    ]
    assert repaired(whole) == whole


@given(chats(), st.randoms())
def test_messages_in_any_order_can_be_repaired(spoken: list[Chat], chance: Any) -> None:
    shuffled = [shown(chat) for chat in spoken]
    chance.shuffle(shuffled)
    whole = repaired(shuffled)
    assert problems(whole) in ([], ["there is no message"])
    assert sum(chat["role"] != "tool" for chat in whole) == sum(
        chat["role"] != "tool" for chat in shuffled
    )
