"""Sessions of any kind: with questions, corrections, tools and large facts, in many budgets. Nothing
is left out of a context, its parts add up, and it begins as the one before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.api.resources.context.answer import _parts
from palimpsest.context.cache import parts_of
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.configuration import MemoryAs

from tests.unit.context.service import ContextService
from tests.unit.context.test_folded_whole import worked

LETTERS = st.integers(10, 1_200)
TOPICS = st.sampled_from(("city", "employer", "car", "instrument"))
STEPS = st.one_of(
    st.tuples(st.just("turn"), LETTERS, LETTERS),
    st.tuples(st.just("ask"), TOPICS, LETTERS),
    st.tuples(st.just("correct"), TOPICS, LETTERS),
    st.tuples(st.just("tool"), LETTERS, st.integers(10, 4_000)),
)
SESSIONS = st.lists(STEPS, min_size=1, max_size=12)


def step(
    service: ContextService,
    number: int,
    said: tuple[Any, ...],
    *,
    works: Callable[[ContextService], object] = worked,
) -> None:
    kind, first, second = said
    if kind == "correct":
        service.time.advance(1)
        service.learn(f"Sarah's {first} is number {number}", topic=first, importance=0.7)
        service.time.advance(1)
    if kind in ("ask", "correct"):
        service.put({"role": "user", "content": f"What do you know about my {first}?"})
    else:
        service.put({"role": "user", "content": "q" * first})
    for call_id in (f"a{number}", f"b{number}") if kind == "tool" else ():
        function = {"name": "look", "arguments": json.dumps({"at": number})}
        call = {"id": call_id, "type": "function", "function": function}
        service.put({"role": "assistant", "content": "", "tool_calls": [call]})
        service.put({"role": "tool", "tool_call_id": call_id, "content": "r" * second})
        works(service)


def answer(service: ContextService, said: tuple[Any, ...]) -> None:
    *_, second = said
    service.put({"role": "assistant", "content": "a" * min(second, 1_200)})


@given(SESSIONS, st.sampled_from((600, 1_500, 4_096)), st.sampled_from(get_args(MemoryAs)))
@settings(max_examples=12, deadline=None)
def test_nothing_is_left_out_and_the_parts_add_up(
    session: list[tuple[Any, ...]], budget: int, memory_as: str
) -> None:
    service = ContextService(max_tokens=budget, memory_as=memory_as)
    for number, said in enumerate(session):
        step(service, number, said)
        worked(service)
        context = service.context()
        assert context.omitted is None
        assert context.compaction == "none"
        parts = cast("Mapping[str, int]", _parts(context))
        assert sum(parts.values()) == context.total_tokens <= budget
        answer(service, said)


def before_the_question(context: SessionContext) -> int:
    """How many messages come before the part that one question needs, and before the question."""
    parts = parts_of(context)
    if "recalled" in parts:
        return parts.index("recalled")
    users = [at for at, chat in enumerate(context.messages) if chat["role"] == "user"]
    return users[-1]


@given(SESSIONS, st.sampled_from(("summarize", "trim", "delete", "flush")))
@settings(max_examples=12, deadline=None)
def test_until_the_window_moves_a_context_begins_as_the_one_before(
    session: list[tuple[Any, ...]], strategy: str
) -> None:
    service = ContextService(max_tokens=6_000, strategy=strategy)
    service.talk(8, letters=500)
    before = None
    for number, said in enumerate(session):
        step(service, number, said, works=ContextService.head)
        context = service.context()
        stays = before is not None and before.head.window_start == context.head.window_start
        if before is not None and stays and context.compaction == "none":
            least = before_the_question(before)
            assert context.messages[:least] == before.messages[:least]
        before = context
        answer(service, said)


def test_a_turn_of_tools_that_could_not_be_evicted_leaves_with_the_next_question() -> None:
    service = ContextService(max_tokens=600)
    step(service, 0, ("tool", 627, 1_769))
    answer(service, ("tool", 627, 1_769))
    service.say("And now?")
    worked(service)
    assert service.context().omitted is None
