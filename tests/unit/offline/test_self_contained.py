"""Sentences of no known kind are stored only if they mean something by themselves."""

from __future__ import annotations

import pytest
from palimpsest.offline.extractor import states
from palimpsest.offline.self_contained import is_self_contained, signs_of

ALONE = [
    "I sing tenor.",
    "I have psoriasis on both elbows.",
    "Marcus and I broke up.",
    "we keep bees",
    "Nous chauffons au bois.",
    "Je fais du judo le mercredi.",
    "Wir heizen mit Holz.",
    "Comemos con los abuelos el domingo.",
]
NEEDING_THEIR_CONVERSATION = [
    "That's exactly what I mean.",
    "I've put it in like that.",
    "rather the other one then",
    "Das habe ich jetzt so gemacht.",
    "Genau das meine ich.",
    "plutôt l'autre alors",
    "Justo eso quería decir.",
    "Lo he puesto así.",
]


@pytest.mark.parametrize("sentence", ALONE)
def test_a_sentence_that_means_something_by_itself_is_stored(sentence: str) -> None:
    assert is_self_contained(sentence)
    assert states(sentence)


@pytest.mark.parametrize("sentence", NEEDING_THEIR_CONVERSATION)
def test_a_sentence_that_needs_its_conversation_is_not_stored(sentence: str) -> None:
    assert not is_self_contained(sentence)
    assert not states(sentence)


def test_words_that_point_count_in_their_own_language_alone() -> None:
    # "es" is "it" in German and "is" in Spanish.
    assert signs_of("Ich habe es gelesen.")["pointing"] == 1
    assert signs_of("Mi padre es de Lugo.")["pointing"] == 0


def test_a_sentence_of_a_known_topic_is_stored_whatever_its_words() -> None:
    assert not is_self_contained("It's Ana.")
    assert states("My name is Ana.")
