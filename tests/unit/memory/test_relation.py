"""The signs and the weights by which a new statement is related to a known one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.meaning.reading import fields_of
from palimpsest.memory.meaning.relation import RelationTrees, learned, relations_of
from palimpsest.memory.meaning.signs import Said, own_signs, shared_signs, words_of

TEXTS = st.text(max_size=60)


@given(TEXTS, TEXTS)
def test_any_two_texts_have_probabilities_that_add_up_to_at_most_one(new: str, known: str) -> None:
    likely = learned().likely(Said(new), Said(known))
    each = (likely.replaces, likely.ends, likely.repeats)
    assert all(0 <= one <= 1 for one in each)
    assert sum(each) <= 1 + 1e-9


def test_all_signs_have_a_weight() -> None:
    new, known = Said("I moved to 4 Elm Road in Rye."), Said("My sister Ann lives at 2 Oak Road.")
    signs = {*own_signs(new), *shared_signs(new, known)}
    assert signs <= set(learned().replaces.signs) | set(learned().ends.signs) | {"new_bans"}


def test_words_without_a_common_stem_share_a_field() -> None:
    assert "vet" in fields_of("Our vet is Mr Hale.") & fields_of("She sees to our animals.")
    assert "home" in fields_of("Ich wohne in Ulm.") & fields_of("Da sind wir jetzt daheim.")
    assert not fields_of("Quite so.")


def test_words_are_single_and_in_pairs_without_numbers() -> None:
    """A pair with `^` tells which word is the first."""
    assert words_of("I gave 2 up!") == {"i", "gave", "up", "^ i", "i gave", "gave up"}


def test_a_sum_of_weights_is_a_probability() -> None:
    plain = {"constant": 0.0, "signs": {}, "words": {}}
    sure = {"constant": 20.0, "signs": {}, "words": {}}
    marks = dict.fromkeys(("changes", "clearly", "repeats", "sounds", "sounds_clearly"), 0.5)
    found = relations_of(
        {
            "relations": {"replace": plain, "end": plain, "repeat": sure, "change": plain},
            "trees": {"constant": 0.0, "signs": ["share_of_new"], "trees": [[0, 0.5, 0.0, 2.0]]},
            "thresholds": marks,
        }
    ).likely(Said("a"), Said("b"))
    assert found.repeats > 0.99
    assert abs(found.replaces - found.ends) < 1e-12
    assert abs(found.changes - 0.25) < 1e-8, "the mean of 0 by the weights and .5 by the trees"


def test_trees_go_by_the_limits_of_signs() -> None:
    trees = RelationTrees(-1.0, ["a", "b"], [[0, 0.5, [1, 0.5, 1.0, 3.0], 0.0], 0.0])
    assert trees.likely({}) == pytest.approx(0.5)
    assert trees.likely({"b": 1.0}) == pytest.approx(1 / (1 + math.exp(-2)))
    assert trees.likely({"a": 1.0, "b": 1.0}) == pytest.approx(1 / (1 + math.exp(1)))
