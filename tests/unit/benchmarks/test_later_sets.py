"""The sets that were written after the rules hold since, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from benchmarks.truth.form import (
    BY_ANOTHER,
    CHANGES,
    EVERYDAY_CHANGES,
    IN_FREE_WORDS,
    IN_PASSING,
    IN_PLAIN_WORDS,
    IN_SIMPLE_WORDS,
    IN_VOICES,
    LATER,
    OURS,
    load,
)
from benchmarks.truth.run import (
    Outcome,
    all_of,
    believed_in_process,
    believed_with_obedience,
    obeyed_in,
    outcomes,
)

NONE_MAY_FAIL = ("secret", "off the record", "deleted")
SAILORS = IN_FREE_WORDS[1:]
HELD, KNOWN = 0.97, 0.91
OBEYED_HELD, OBEYED_KNOWN = 0.98, 0.97  # with a model that believes all that it reads


@cache
def results() -> tuple[Outcome, ...]:
    cases = [case for folder in LATER for case in load(folder)]
    return tuple(outcomes(cases, believed_in_process))


def passed(found: Sequence[Outcome]) -> tuple[Sequence[bool], Sequence[bool]]:
    """Return for each case whether it passed: first of the chances, then of their twins."""
    held = [one.passed for one in found if one.case.twin_of is None]
    known = [one.passed for one in found if one.case.twin_of is not None]
    return held, known


@pytest.mark.parametrize(("is_twin", "floor"), [(False, HELD), (True, KNOWN)])
def test_the_later_sets_keep_what_was_reached(*, is_twin: bool, floor: float) -> None:
    counted = [result for result in results() if (result.case.twin_of is not None) is is_twin]
    failed = [one.case.id for one in counted if not one.passed]
    assert len(failed) <= (1 - floor) * len(counted), failed


@pytest.mark.parametrize(
    ("folders", "is_twin", "floor"),
    [
        (CHANGES, False, 0.84),
        (CHANGES, True, 0.95),
        (BY_ANOTHER, False, 0.76),
        (BY_ANOTHER, True, 0.94),
        (SAILORS, False, 0.97),
        (SAILORS, True, 0.9),
    ],
)
def test_the_other_sets_keep_what_was_reached(
    folders: Sequence[Path], *, is_twin: bool, floor: float
) -> None:
    cases = [case for folder in folders for case in load(folder)]
    counted = [case for case in cases if (case.twin_of is not None) is is_twin]
    failed = [
        outcome.case.id for outcome in outcomes(counted, believed_in_process) if not outcome.passed
    ]
    assert len(failed) <= (1 - floor) * len(counted), failed


def test_no_secret_no_word_off_the_record_and_nothing_deleted_is_believed() -> None:
    private = [
        result
        for result in results()
        if result.case.kind in NONE_MAY_FAIL and result.case.twin_of is None
    ]
    assert len(private) > 50
    assert [one.case.id for one in private if not one.passed] == []


def test_with_a_model_that_obeys_the_rules_around_it_hold() -> None:
    found = outcomes(obeyed_in([OURS, *LATER, *IN_FREE_WORDS]), believed_with_obedience)
    held = [one for one in found if one.case.twin_of is None]
    known = [one for one in found if one.case.twin_of is not None]
    wrong = [one.case.id for one in held if not one.passed]
    assert len(wrong) <= (1 - OBEYED_HELD) * len(held), wrong
    lost = [one.case.id for one in known if not one.passed]
    assert len(lost) <= (1 - OBEYED_KNOWN) * len(known), lost
    private = [one for one in held if one.case.kind in NONE_MAY_FAIL]
    assert [one.case.id for one in private if not one.passed] == []


CHANGES_OF_KIND = frozenset({"end", "correction", "topic", "once"})
LEAST_HELD_IN_VOICES, LEAST_KNOWN_IN_VOICES = 0.92, 0.9


def test_words_of_others_are_told_from_remarks_inside_requests() -> None:
    """Of the 222 pairs of `turners`, `saddlers` and `fullers` that are not about changes, 209 were held
    and 203 known.
    """
    cases = [case for case in all_of(IN_VOICES[:3]) if case.kind not in CHANGES_OF_KIND]
    found = outcomes(cases, believed_in_process)
    held, known = passed(found)
    assert sum(held) >= LEAST_HELD_IN_VOICES * len(held), [
        one.case.id for one in found if not one.passed
    ]
    assert sum(known) >= LEAST_KNOWN_IN_VOICES * len(known)


@pytest.mark.parametrize(
    ("folders", "least_held", "least_known"),
    [
        pytest.param(IN_PLAIN_WORDS[1:], 0.6, 0.95, id="coopers"),
        pytest.param(IN_VOICES[4:], 0.62, 0.89, id="chandlers"),
        pytest.param(EVERYDAY_CHANGES, 0.4, 0.93, id="cartwrights"),
        pytest.param(IN_PASSING, 0.58, 0.95, id="wheelwrights and thatchers"),
        pytest.param(IN_SIMPLE_WORDS, 0.9, 0.94, id="ropemakers"),
    ],
)
def test_a_set_by_outsiders_is_held_as_before_and_hardly_any_twin_is_lost(
    folders: Sequence[Path], least_held: float, least_known: float
) -> None:
    """Of `coopers`, 49 of 76 pairs were held and 74 known; of `chandlers`, 63 and 82 of 90; of
    `cartwrights`, 34 and 76 of 80; of `wheelwrights` and `thatchers`, 116 and 188 of 195; and of
    `ropemakers`, 92 and 96 of 100.
    """
    held, known = passed(outcomes(all_of(folders), believed_in_process))
    assert sum(held) >= least_held * len(held)
    assert sum(known) >= least_known * len(known)
