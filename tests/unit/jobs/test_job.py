from dataclasses import replace
from typing import Any

import pytest
from palimpsest.jobs.attempts import retry_delay
from palimpsest.jobs.job import UNHEARD_SECONDS, Job, JobState, armed


def job(**more: Any) -> Job:
    said: dict[str, Any] = {
        "tenant": "acme",
        "kind": "summarize",
        "session": "s",
        "first": 1,
        "last": 9,
        "now": 100,
    }
    return armed(**{**said, **more})


def test_arming_the_same_work_twice_makes_one_job() -> None:
    assert job().id == job(now=200).id


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "other"},
        {"kind": "delete"},
        {"session": "t"},
        {"first": 2},
        {"last": 10},
        {"attempt": 1},
        {"version": 1},
        {"tenant": "acm", "session": "es"},
    ],
)
def test_other_work_is_another_job(other: dict[str, Any]) -> None:
    assert job(**other).id != job().id


def test_a_new_job_is_pending_and_looked_at_when_it_must_be_stuck() -> None:
    assert (job().state, job().due_at, job().has_ended) == ("pending", 100 + UNHEARD_SECONDS, False)


def test_a_job_ends_once_done_or_failed() -> None:
    states: tuple[JobState, ...] = ("pending", "running", "done", "failed")
    assert [state for state in states if replace(job(), state=state).has_ended] == [
        "done",
        "failed",
    ]


def test_failed_work_waits_for_a_minute_in_the_first_hour_and_then_for_five() -> None:
    assert [retry_delay(attempts) for attempts in (0, 1, 19, 20, 1_000)] == [60, 60, 60, 300, 300]
