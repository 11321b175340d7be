"""The parts of a context add up to the whole, whatever the session holds and is asked for."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.api.resources.context.answer import _parts
from palimpsest.conversations.configuration import MemoryAs
from palimpsest.jobs.events import JobNotice

from tests.unit.context.test_nothing_lost import full_of_facts

SIZES = st.integers(1, 1_200)
TURNS = st.lists(st.tuples(SIZES, SIZES), max_size=14)
MEMORY = st.fixed_dictionaries(
    {
        "memory_as": st.sampled_from(get_args(MemoryAs)),
        "max_tokens": st.sampled_from((700, 1_500, 6_000)),
        "strategy": st.sampled_from(("summarize", "trim", "delete", "none")),
        "auto_recall": st.booleans(),
    }
)
ASKED = st.sampled_from((None, "Which book is behind the 7th door?"))


@given(TURNS, MEMORY, ASKED, st.booleans())
@settings(max_examples=40, deadline=None)
def test_parts_add_up_to_the_total_tools_included(
    turns: list[tuple[int, int]],
    memory: dict[str, Any],
    asked: str | None,
    has_system: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    service = full_of_facts(**memory)
    if has_system:
        service.put({"role": "system", "content": "You help Sarah with her books."})
    service.put({"role": "user", "content": "Hello."})
    for question, answer in turns:
        service.talk([("q" * question, "a" * answer)])
    while (pending := service.head().job) is not None:
        service.summarize(JobNotice("acme", pending, "summarize"))
    service.index.down = True
    context = service.context(asked)
    parts: dict[str, Any] = {**_parts(context)}
    assert sum(parts.values()) == context.total_tokens <= context.budget
    assert all(tokens >= 0 for tokens in parts.values())
    assert (parts["tools"] > 0) == bool(context.tools)
    assert parts["memory"] == context.memory.tokens
