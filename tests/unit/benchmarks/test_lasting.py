"""Sentences that mean something later are stored without a model."""

from __future__ import annotations

from benchmarks.truth.lasting.run import LABELS, SETS, labelled, stored

LEAST_ALONE = 0.98


def test_what_means_something_by_itself_is_stored_and_more_often_than_what_does_not() -> None:
    sentences = labelled(*SETS)
    alone = stored(sentences, "alone")
    assert alone >= LEAST_ALONE
    assert stored(sentences, "not") < alone


def test_every_set_has_lines_of_each_label() -> None:
    assert len(SETS) == 5
    for path in SETS:
        assert {label for label, _ in labelled(path)} == set(LABELS)
