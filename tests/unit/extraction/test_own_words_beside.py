"""What users say of themselves beside a wish, a quotation, or words about somebody else is known."""

from __future__ import annotations

import pytest

from tests.unit.extraction.test_other_speakers import believed, said


@pytest.mark.parametrize(
    ("before", "wish", "known"),
    [
        ("I'm in debt.", "Forget that please. By the way, I live in Leeds.", "I live in Leeds."),
        ("I'm in debt.", "forget what I just said. I live in Perth.", "I live in Perth."),
        ("J'ai des dettes.", "Oublie ça. J'habite à Lyon.", "J'habite à Lyon."),
    ],
)
def test_a_wish_that_looks_back_hides_nothing_that_comes_after_it(
    before: str, wish: str, known: str
) -> None:
    assert said(before, wish) == {known}
    assert said(wish) == set()  # nothing is before it, so it may be about what follows


@pytest.mark.parametrize(
    "wish",
    [
        "Forget this. I owe Tom money.",
        "Forget this: I owe Tom money.",
        "Please forget that. I'm pregnant, but keep that to yourself.",
    ],
)
def test_a_wish_about_what_follows_hides_it(wish: str) -> None:
    assert said("I like tea.", wish) <= {"I like tea."}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("My wife drinks tea but I drink coffee.", {"My wife drinks tea.", "I drink coffee."}),
        ("My brother supports Spurs but I support Arsenal.",
         {"My brother supports Spurs.", "I support Arsenal."}),
        ("Mon patron habite à Lyon, moi j'habite à Nantes.",
         {"Mon patron habite à Lyon.", "moi j'habite à Nantes."}),
        ("Mi mujer bebe té pero yo bebo café.", {"Mi mujer bebe té.", "yo bebo café."}),
        ("My brother lives in Rome and I visit him every May.",
         {"My brother lives in Rome and I visit him every May."}),
        ("My wife and I live in Kiel.", {"My wife and I live in Kiel."}),
        ("My friend Tom and I play chess.", {"My friend Tom and I play chess."}),
        ("My wife, my son and I moved to Bath.", {"My wife, my son and I moved to Bath."}),
        ("My wife sings and I play the drums.", {"My wife sings.", "I play the drums."}),
        ('The song goes "I live in Rome". I live in Athens.', {"I live in Athens."}),
        ("As the song goes, I live in Rome.", set()),
        ("asking for a friend: I'm pregnant, can I eat sushi?", set()),
        ("Reformule : « Je travaille chez Renault. » Je travaille chez Peugeot en fait.",
         {"Je travaille chez Peugeot en fait."}),
        ("Luc dit qu'il habite à Brest.", {"Luc dit qu'il habite à Brest."}),
    ],
)  # fmt: skip
def test_each_half_is_known_under_the_one_whom_it_is_about(text: str, known: set[str]) -> None:
    assert said(text) == known


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Leeds.", "My wife, my son and I moved to Bath."),
        ("I live in Leeds.", "Me and my husband live in Bath."),
        ("Ich wohne in Ulm.", "Mein Bruder Jan und ich wohnen in Kiel."),
        ("J'habite à Nantes.", "Mon mari Paul et moi, nous vivons à Lyon."),
        ("Vivo en Cádiz.", "Mi hermana y yo vivimos en Vigo."),
    ],
)
def test_what_users_say_of_themselves_with_others_replaces_what_was_known(
    before: str, after: str
) -> None:
    assert believed(("", before), ("", after)) == {after}


def test_a_message_named_user_is_the_users() -> None:
    assert believed(("User", "I live in Leeds.")) == {"I live in Leeds."}


RECIPE = "I grew up in Georgia and my husband is a chef.\n1 cup peanuts\n3 eggs"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (f"can you swap the nuts in this recipe?\n\n{RECIPE}", set()),
        ("Here's the listing I want to answer:\n\nWe are a couple and we live in Norwich.", set()),
        ("my landlord's message:\nI live abroad and I can't come before May.", set()),
        ("die Nachricht von meinem Vermieter:\nIch wohne im Ausland und komme im Mai.", set()),
    ],
)
def test_a_recipe_a_listing_and_a_message_of_somebody_are_no_words_of_the_user(
    text: str, known: set[str]
) -> None:
    assert said(text) == known


def test_several_lines_below_a_question_without_a_text_are_the_user_s_own() -> None:
    believed_words = said(
        "What should I cook?\n\nThanks! I live in Kiel.\nI love fish.\nI'm vegan."
    )
    assert "I live in Kiel." in believed_words
