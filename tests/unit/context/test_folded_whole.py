"""Once the pending compaction is done, a context leaves out nothing that no summary stands for: with
system message, tools and memory, at every trigger.
"""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from palimpsest.conversations.configuration import MemoryAs
from palimpsest.jobs.events import JobNotice

from tests.unit.context.service import ContextService
from tests.unit.context.test_nothing_lost import full_of_facts

SIZES = st.integers(10, 1_200)
TURNS = st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=20)
MEMORY = st.fixed_dictionaries(
    {
        "memory_as": st.sampled_from(get_args(MemoryAs)),
        "max_tokens": st.sampled_from((1_000, 1_500, 4_096)),
        "trigger_ratio": st.sampled_from((0.5, 0.8, 1.0)),
        "auto_recall": st.booleans(),
    }
)


def worked(service: ContextService) -> None:
    while (pending := service.head().job) is not None:
        service.summarize(JobNotice("acme", pending, "summarize"))


@given(TURNS, MEMORY, st.integers(0, 300))
@settings(max_examples=25, deadline=None)
def test_nothing_is_left_out(
    turns: list[tuple[int, int]], memory: dict[str, Any], system: int
) -> None:
    service = full_of_facts(**memory)
    if system:
        service.put({"role": "system", "content": "s" * system})
    for question, answer in turns:
        service.talk([("q" * question, "a" * answer)])
    worked(service)
    context = service.context()
    assert context.omitted is None
    assert context.total_tokens <= context.budget
