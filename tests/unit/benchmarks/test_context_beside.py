"""The judgement of the benchmark of what a context adds to an append."""

import pytest

from benchmarks.load.context_beside import APPEND, CONTEXT, FOR_MESSAGE, TOGETHER, checked


def turn(together: float) -> dict[str, float]:
    return {APPEND: 20.0, CONTEXT: 40.0, FOR_MESSAGE: 80.0, TOGETHER: together}


def test_one_call_is_compared_with_the_two_that_it_replaces_in_the_middle_of_all_turns() -> None:
    assert checked([turn(400.0), turn(90.0), turn(80.0)]) == pytest.approx(0.9)


def test_one_call_that_takes_longer_than_two_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"1\.10 times as long as two"):
        checked([turn(110.0), turn(110.0), turn(90.0)])
