"""When what a finding says happens or is due, and what is only planned."""

from datetime import date

import pytest
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.timing import Timing, timed

WEDNESDAY = date(2026, 3, 4)


def found(content: str, type_: str = "fact", **more: str | None) -> Timing:
    finding = Finding(type_, content, (1,), content, **more)  # type: ignore[arg-type] # texts
    return timed(finding, at=WEDNESDAY)


@pytest.mark.parametrize(
    "text", ["I'm moving to Bremen on 1 October.", "The user will move to Bremen on 2026-10-01."]
)
def test_what_is_planned_is_an_event_that_moves_no_topic(text: str) -> None:
    timing = found(text, topic="residence")
    assert (timing.finding.type, timing.finding.topic) == ("event", None)
    assert (timing.occurs_at, timing.due_at) == ("2026-10-01", None)


def test_what_has_happened_moves_its_topic_and_has_its_day() -> None:
    timing = found("I moved to Bremen on 1 October.", topic="residence")
    assert (timing.finding.type, timing.finding.topic) == ("fact", "residence")
    assert timing.occurs_at == "2025-10-01"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("My birthday is on 3 May.", "birthday"),
        ("My flight leaves at 9:30 on Friday.", "time_flight"),
        ("My favorite day is Friday.", "favorite_day"),
    ],
)
def test_a_day_that_is_a_topics_value_stays_one(text: str, topic: str) -> None:
    timing = found(text, topic=topic)
    assert (timing.finding.topic, timing.occurs_at) == (topic, None)


def test_a_task_is_due_on_the_last_day_that_it_names() -> None:
    assert found("Send the report next week.", "task").due_at == "2026-03-15"
    assert found("I need to send it by Friday.", "task").due_at == "2026-03-06"
    assert found("I should have called yesterday.", "task").due_at is None


def test_a_model_may_give_the_day_and_the_text_comes_first() -> None:
    assert found("Call mum.", "task", due_at="2026-04-01").due_at == "2026-04-01"
    assert found("Call mum tomorrow.", "task", due_at="2026-04-01").due_at == "2026-03-05"
    assert found("Call mum.", "task", due_at="soon").due_at is None
    assert found("Met Bob.", "event", occurs_at="2026-02-30").occurs_at is None


def test_an_instruction_has_no_time() -> None:
    assert found("Remind me of it on Friday.", "instruction") == Timing(
        Finding("instruction", "Remind me of it on Friday.", (1,), "Remind me of it on Friday.")
    )
