"""Sentences that mean something later are stored without a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from benchmarks.truth.lasting import LABELS, SETS, Line, lines_of, stored

LEAST_ALONE = 0.98


def _every() -> Sequence[Line]:
    return [*chain.from_iterable(map(lines_of, SETS))]


def test_what_means_something_by_itself_is_stored() -> None:
    assert stored(_every(), "alone") >= LEAST_ALONE


def test_what_means_nothing_by_itself_is_stored_less_often() -> None:
    lines = _every()
    assert stored(lines, "not") < stored(lines, "alone")


def test_every_set_has_lines_of_each_label() -> None:
    assert len(SETS) == 5
    for path in SETS:
        assert {line.label for line in lines_of(path)} == set(LABELS)
