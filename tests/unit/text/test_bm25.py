"""One scorer for every index whose postings are read in Python."""

import math

import pytest
from palimpsest.text.bm25 import K1, B, Field, Matches, scored

FIELD = Field(documents=2, terms=12)


def test_a_score_is_what_lucene_gives() -> None:
    weight = FIELD.weight(1)
    (score,) = scored([Matches([(weight, [(7, 3, 4)])], FIELD.costs({4}))]).values()
    average = FIELD.terms / FIELD.documents
    expected = (
        math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
        * 3
        * (K1 + 1)
        / (3 + K1 * (1 - B + B * 4 / average))
    )
    assert score == pytest.approx(expected)


def test_a_document_matches_if_it_has_as_many_terms_of_a_group_as_are_needed() -> None:
    costs = FIELD.costs({4})
    parts = Matches([(1.0, [(1, 1, 4), (2, 1, 4)]), (1.0, [(2, 1, 4)])], costs, needed=2)
    word = Matches([(1.0, [(1, 1, 4)])], costs)
    assert scored([parts]).keys() == {2}
    assert scored([parts, word]).keys() == {1, 2}
    assert scored([parts, word])[2] == 2 * scored([word])[1]
