"""A fold on request: all but the recent turns that leave room in a context of a budget, even below
the trigger.
"""

from __future__ import annotations

from typing import Any

from palimpsest.conversations.overflow.arm import ArmResult
from palimpsest.jobs.events import JobNotice

from tests.unit.context.service import ContextService

TURN = 100  # letters of a question and of an answer


def talking(turns: int, **memory: Any) -> ContextService:
    service = ContextService(**{"max_tokens": 4_000, "keep_recent_turns": 1, **memory})
    service.talk(turns, letters=TURN)
    return service


def fold(service: ContextService, *, budget: int) -> Any:
    return service.app.prune.fold(service.session("s"), budget=budget, wait=0)


def worked(service: ContextService) -> None:
    job = service.head().job
    assert job is not None
    service.summarize(JobNotice("acme", job, "summarize"))


def test_a_window_below_its_trigger_is_folded_to_its_recent_turns() -> None:
    service = talking(6)
    assert service.app.prune.compact(service.session("s"), wait=0) == "below_trigger"
    assert fold(service, budget=4_000) is None
    worked(service)
    assert service.head().window_start == 11  # of twelve messages, the last turn stays
    context = service.context()
    assert context.summary is not None
    assert context.summary.last == 10
    assert context.omitted is None


def test_recent_turns_stay_that_leave_room_in_the_budget() -> None:
    service = talking(6, keep_recent_turns=4)
    assert fold(service, budget=4_000) is None
    worked(service)
    assert service.head().window_start == 5


def test_of_recent_turns_those_go_that_a_smaller_budget_cannot_hold() -> None:
    wide, narrow = (talking(6, keep_recent_turns=4) for _ in range(2))
    weight = narrow.head().tokens
    fold(wide, budget=4_000)
    fold(narrow, budget=weight // 2)
    worked(wide)
    worked(narrow)
    assert wide.head().window_start < narrow.head().window_start < 12


def test_only_recent_turns_are_not_folded() -> None:
    service = talking(1)
    assert fold(service, budget=4_000) == "only_recent_turns"
    assert service.head().job is None


def test_a_pending_fold_is_waited_for_and_none_is_added() -> None:
    service = talking(6)
    fold(service, budget=4_000)
    pending = service.head().job
    assert fold(service, budget=4_000) is None
    assert service.head().job == pending
    asked = service.app.prune(service.session("s"), strategy="summarize")
    assert asked == ArmResult(pending)


def test_a_strategy_without_summaries_folds_with_the_defaults() -> None:
    service = ContextService(max_tokens=4_000, strategy="trim")
    service.talk(12, letters=TURN)
    assert fold(service, budget=4_000) is None
    worked(service)
    assert service.head().window_start == 15  # five turns of twelve stay
