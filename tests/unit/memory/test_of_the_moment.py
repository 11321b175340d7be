"""Sentences that mean nothing in a year are no memories; short statements of the user are."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.standing import is_of_the_moment

from tests.unit.extraction.test_other_speakers import said


@pytest.mark.parametrize(
    "text",
    [
        "im crying",
        "I did.",
        "I thought about it.",
        "I told him so.",
        "Aoife: I'm going to sit here.",
        "I take it every morning.",
        "I live there.",
        "I wrote it in your mother's cookbook",
        "at four in the morning.",
        "Ich bin so müde.",
        "Ich hab es schon gemacht.",
        "Je suis trop fière !",
        "Je pense à ça.",
        "Estoy muy cansada.",
        "Pienso en eso.",
    ],
)
def test_what_only_the_moment_knows_is_no_memory(text: str) -> None:
    assert is_of_the_moment(text)
    assert said(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "I smoke.",
        "I'm married.",
        "I'm pregnant.",
        "I'm out on Thursdays.",
        "I'm back on insulin.",
        "I like it when people are honest.",
        "I find it hard to sleep.",
        "I walk there every Sunday.",
        "I work in IT.",
        "My knee hurts and it gets worse.",
        "Ich bin Lehrer.",
        "Je suis enseignante.",
        "Estoy embarazada.",
    ],
)
def test_what_holds_for_longer_is_known(text: str) -> None:
    assert not is_of_the_moment(text)
    assert said(text) == {text}


def test_of_two_clauses_only_the_one_that_stands_alone_is_known() -> None:
    assert said("I have a dog and I love him.") == {"I have a dog."}
