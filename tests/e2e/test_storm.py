"""A storm of some seconds: its users, its faults and its verdict work on a real stack."""

from __future__ import annotations

import pytest

from benchmarks.storm.__main__ import Size, report, run
from benchmarks.storm.picture import svg
from benchmarks.storm.weather import AWAY, KILL, MODEL, THROTTLED

pytestmark = [pytest.mark.e2e, pytest.mark.own_stack]
SECONDS = Size(seconds=15, users=3, pause=0.3, pace=0.15, patience=0)
"""Nobody waits until it is quiet, because messages of killed functions stay hidden for minutes."""


def test_a_short_storm_breaks_every_part_and_loses_nothing() -> None:
    verdict, story, courses, counts = run(SECONDS)
    assert {KILL, MODEL, THROTTLED, AWAY} <= counts.keys()
    assert verdict.acknowledged > 0
    assert verdict.contexts > 0
    wrong = (verdict.lost, verdict.doubled, verdict.unknown, verdict.out_of_order)
    assert not any(wrong)
    assert verdict.bad_contexts == []
    assert f"| messages acknowledged | {verdict.acknowledged} |" in report(
        verdict, story, courses, counts
    )
    assert KILL in svg(story, "A short storm")
