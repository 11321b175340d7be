"""Memory takes the place of no turn that no summary stands for."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.conversations.configuration import MemoryAs
from palimpsest.jobs.events import JobNotice
from palimpsest.memory.statements import Statement

from tests.service import SARAH
from tests.unit.context.service import ContextService

TURN = 240 * 4  # letters of a turn


def full_of_facts(**memory: Any) -> ContextService:
    """A user of whom 120 things are known."""
    service = ContextService(**{"max_tokens": 4_096, **memory})
    for first in range(0, 120, 30):
        said = [
            Statement("fact", f"Sarah keeps book {number} on the shelf behind the {number}th door")
            for number in range(first, first + 30)
        ]
        service.remember(SARAH, said)
    service.time.advance(60)
    return service


@pytest.mark.parametrize("memory_as", get_args(MemoryAs))
def test_120_facts_leave_twelve_turns_of_240_tokens_in_a_context_of_4096(memory_as: str) -> None:
    service = full_of_facts(memory_as=memory_as)
    service.talk(12, letters=TURN // 2)
    context = service.context()
    assert context.omitted is None
    assert len(context.fitted.seqs) == 24
    assert context.memory.of("extractive")
    assert context.fitted.tokens + context.tools_tokens <= context.budget


SIZES = st.integers(10, 1_600)
TURNS = st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=30)


@given(TURNS, st.sampled_from(get_args(MemoryAs)), st.sampled_from((1_500, 2_500, 4_096)))
@settings(max_examples=12, deadline=None)
def test_once_the_pending_compaction_is_done_nothing_is_left_out(
    turns: list[tuple[int, int]], memory_as: str, budget: int
) -> None:
    service = full_of_facts(memory_as=memory_as, max_tokens=budget)
    for question, answer in turns:
        service.talk([("q" * question, "a" * answer)])
    while (pending := service.head().job) is not None:
        service.summarize(JobNotice("acme", pending, "summarize"))
    context = service.context()
    assert context.compaction == "none"
    assert context.omitted is None
    assert context.fitted.tokens + context.tools_tokens <= context.budget
