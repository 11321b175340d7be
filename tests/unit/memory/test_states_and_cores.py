"""States that end each other, bans that are lifted, and corrections of one value."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.corrections import Correction, corrected, correction_of

from tests.unit.memory.test_ends_and_corrections import current, told


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("I'm on parental leave.", "Back at work since Monday."),
        ("I'm pregnant.", "Our son was born on Sunday!"),
        ("I'm single.", "I'm seeing someone, her name is Nadia."),
        ("I'm looking for a new flat.", "We found a flat."),
        ("I don't eat gluten.", "I can eat gluten again."),
        ("Ich bin arbeitslos.", "Ich habe einen neuen Job."),
        ("Je suis célibataire.", "Je suis en couple."),
        ("Estoy embarazada.", "Mi hija nació ayer."),
    ],
)
def test_a_state_ends_with_the_state_that_excludes_it(state: str, end: str) -> None:
    assert state not in current(told(state, end))


@pytest.mark.parametrize(
    ("state", "other"),
    [
        ("I'm on parental leave.", "My back hurts since Monday."),
        ("I'm pregnant.", "My sister's son was born on Sunday!"),
        ("I'm single.", "I'm seeing the dentist on Friday."),
        ("I'm looking for a new flat.", "Found one more listing."),
        ("I eat gluten every day.", "I can eat gluten again."),
    ],
)
def test_a_state_goes_on_beside_what_only_sounds_like_its_end(state: str, other: str) -> None:
    assert state in current(told(state, other))


@pytest.mark.parametrize(
    ("said", "correction", "right"),
    [
        ("My niece turns eight.", "Nine!!", "My niece turns Nine."),
        ("I was born in 1987.", "ugh 1978, fat fingers", "I was born in 1978."),
        ("My son is Mathis.", "Mathys with a y.", "My son is Mathys."),
        ("I weigh 82 kilos.", "Actually the scale was off, it's 79.", "I weigh 79 kilos."),
        ("We need eight by Monday.", "make it twelve instead", "We need twelve by Monday."),
        ("My flight leaves at 7:40.", "They moved it to 9:10.", "My flight leaves at 9:10."),
    ],
)
def test_a_value_takes_the_place_of_one_of_its_kind(said: str, correction: str, right: str) -> None:
    found = correction_of(correction)
    assert found is not None
    assert corrected(said, found) == right


@pytest.mark.parametrize(
    "text",
    ["Nine guests are coming.", "ugh 1978 was a great year", "Thanks.", "They moved the gate."],
)
def test_a_sentence_with_more_than_a_value_corrects_nothing(text: str) -> None:
    assert correction_of(text) is None


def test_a_name_with_a_verb_is_no_name() -> None:
    found = correction_of("Sorry, Fiona called")
    assert found is None or corrected("My manager is Fiona Blake.", found) is None
    assert correction_of("Sorry, Fiona Black.") == Correction("Fiona Black", is_meant=False)
