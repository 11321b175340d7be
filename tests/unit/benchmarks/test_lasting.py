"""Sentences that mean something later are stored without a model, and many of the others are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palimpsest.offline.self_contained import self_contained_of

from benchmarks.truth.lasting.run import LABELS, SETS, labelled, stored
from benchmarks.truth.lasting.train import WRITTEN, dropped, judged

LEAST_ALONE = 0.98
MOST_NOT = 0.75


def test_what_means_something_by_itself_is_stored_and_what_does_not_is_stored_less() -> None:
    sentences = [sentence for path in SETS for sentence in labelled(path)]
    assert stored(sentences, "alone") >= LEAST_ALONE
    assert stored(sentences, "not") <= MOST_NOT


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_the_weights_drop_more_of_what_needs_its_conversation(path: Path) -> None:
    weights = self_contained_of(json.loads(WRITTEN.read_text()))
    alone, partly, nothing = (dropped(weights, judged(path), label) for label in LABELS)
    assert alone < partly < nothing


def test_every_set_has_lines_of_each_label() -> None:
    assert len(SETS) == 10
    for path in SETS:
        assert {label for label, _ in labelled(path)} == set(LABELS)
