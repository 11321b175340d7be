"""Past, present and planned are told apart in a memory's line, and each line has one date."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from palimpsest.memory.as_line import is_long_past, unlabelled, when, with_one_date
from palimpsest.memory.record import Record

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)
EVENT = Record(
    id="mem_1",
    type="event",
    content="I'm moving to Bremen.",
    created_at=0,
    valid_from=int(SAID.timestamp() * 1000),
    occurs_at="2026-10-01",
)
ON_LEAVE = replace(EVENT, type="fact", content="I'm on leave until Sunday.", occurs_at=None)
TASK = replace(EVENT, type="task", occurs_at=None, due_at="2026-03-06")


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("record", "today", "shown"),
    [
        (EVENT, "2026-03-04", "planned for 2026-10-01"),
        (EVENT, "2026-10-01", "planned for today, 2026-10-01"),
        (EVENT, "2026-10-02", "was planned for 2026-10-01"),
        (replace(EVENT, occurs_at="2025-10-01"), "2026-03-04", "happened on 2025-10-01"),
        (replace(EVENT, time_unit="month"), "2026-03-04", "planned for 2026-10"),
        (replace(EVENT, time_unit="month"), "2026-10-31", "planned for 2026-10"),
        (replace(EVENT, time_unit="week"), "2026-10-08", "was planned for the week of 2026-10-01"),
        (
            replace(EVENT, occurs_at="2019-01-01", time_unit="year"),
            "2026-03-04",
            "happened in 2019",
        ),
        (TASK, "2026-03-04", "due on 2026-03-06"),
        (TASK, "2026-03-06", "due today, 2026-03-06"),
        (TASK, "2026-03-07", "was due on 2026-03-06"),
        (replace(EVENT, occurs_at="2026-10-01T15:00:00Z"), "2026-03-04", "planned for 2026-10-01"),
        (replace(EVENT, occurs_at=None), "2026-03-04", None),
        (ON_LEAVE, "2026-03-08", "until 2026-03-08"),
        (ON_LEAVE, "2026-03-09", "was so until 2026-03-08"),
    ],
)
def test_a_time_reads_as_it_is_seen_from_today(
    record: Record, today: str, shown: str | None
) -> None:
    assert when(record, now=day(today)) == shown


def test_a_task_is_long_past_a_week_after_its_day() -> None:
    assert not is_long_past(TASK, now=day("2026-03-13"))
    assert is_long_past(TASK, now=day("2026-03-14"))
    assert not is_long_past(EVENT, now=day("2030-01-01"))
    assert not is_long_past(ON_LEAVE, now=day("2026-03-08"))
    assert is_long_past(ON_LEAVE, now=day("2026-03-09"))


def test_a_date_that_the_time_says_is_not_said_twice() -> None:
    content = "Call mum tomorrow (2026-03-05) about last week (week of 2026-02-23)."
    assert with_one_date(content, when="due on 2026-03-05") == (
        "Call mum tomorrow about last week (week of 2026-02-23)."
    )
    assert with_one_date(content, when=None) == content


def test_the_label_of_a_speaker_is_left_out_beside_the_name() -> None:
    assert unlabelled("Bob: I like tea.", "Bob") == "I like tea."
    assert unlabelled("I like tea.", None) == "I like tea."
