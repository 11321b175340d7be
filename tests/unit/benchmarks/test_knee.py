"""Rates rise until an endpoint falls behind."""

from dataclasses import replace

from benchmarks.load.knee import Step, has_fallen_behind, knee, rates, svg, table

FIRST = Step(rate=2, achieved=2, median=10, p95=20, failed=0, calls=100)


def test_an_endpoint_falls_behind_by_its_rate_its_latency_or_its_errors() -> None:
    assert not has_fallen_behind(replace(FIRST, rate=4, achieved=3.9, p95=99, failed=1), FIRST)
    assert has_fallen_behind(replace(FIRST, rate=4, achieved=3.5), FIRST)
    assert has_fallen_behind(replace(FIRST, p95=101), FIRST)
    assert has_fallen_behind(replace(FIRST, failed=2), FIRST)


def test_the_knee_is_the_last_rate_before_the_endpoint_falls_behind() -> None:
    steps = [replace(FIRST, rate=rate, achieved=min(rate, 6)) for rate in (2, 4, 8, 16)]
    assert knee(steps) == steps[1]
    assert knee([replace(FIRST, failed=90)]) is None
    assert "keeps up with 4 calls" in table(steps).notes[0]
    assert "the knee" in svg(steps)


def test_rates_rise_to_the_most() -> None:
    found = list(rates(20))
    assert found == sorted(found)
    assert (found[0], found[-1]) == (2, 20)
