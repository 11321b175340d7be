"""Whose words a line of a pasted conversation is."""

from __future__ import annotations

import pytest
from palimpsest.extraction.testimony.questions import apart, questions_apart
from palimpsest.extraction.testimony.spans import own_text, spans
from palimpsest.extraction.testimony.turns import labelled

SARAH = frozenset({"sarah"})


@pytest.mark.parametrize(
    "text",
    [
        "[10:02] Tom: I live in Kiel",
        "10:02 Tom: I live in Kiel",
        "[12.03.26, 18:07:11] Tom: I live in Kiel",
        "12/03/26, 09:14 - Tom: I live in Kiel",
        "[21:10, 3/3/2026] Tom: I live in Kiel",
        "Tom (14:03): I live in Kiel",
        "<tom> I live in Kiel",
        "tom> I live in Kiel",
        "**Tom:** I live in Kiel",
        "Tom : I live in Kiel",
        "tom: I live in Kiel\nann: me too\ntom: no way",
    ],
)
def test_a_turn_of_any_export_is_read_with_its_speaker(text: str) -> None:
    assert labelled(text, is_own=SARAH).startswith("Tom: I live in Kiel")


@pytest.mark.parametrize(
    "header", ["Tom Weller  10:31 AM", "Tom Weller — Today at 10:31 AM", "[10:31] Tom Weller"]
)
def test_the_lines_under_a_header_are_said_by_whom_it_names(header: str) -> None:
    text = f"{header}\nI live in Kiel\nand like it\n\nI live in Bonn."
    read = labelled(text, is_own=SARAH)
    assert "Tom Weller: I live in Kiel\nTom Weller: and like it" in read
    assert "\n\nI live in Bonn." in read


@pytest.mark.parametrize("label", ["Sarah", "Me", "You", "Ich", "Moi", "Yo"])
def test_the_users_own_turns_have_no_label(label: str) -> None:
    text = f"[10:02] Tom: Hi\n[10:03] {label}: I live in Bonn."
    assert labelled(text, is_own=SARAH) == "Tom: Hi\nI live in Bonn."


@pytest.mark.parametrize(
    "text",
    [
        "Note to self: I live in Bonn.",
        "Fürs Protokoll: Ich wohne in Bonn.",
        "Pour info : j'habite à Bonn.",
        "Para que conste: vivo en Bonn.",
        "PS: I live in Bonn.",
        "TL;DR: I live in Bonn.",
        "One more thing: I live in Bonn.",
        "Name: Sarah\nDiät: vegan\nWohnort: Bonn",
        "Dinner 19:30\nI live in Bonn.",
        "See https://example.org: I live in Bonn.",
    ],
)
def test_a_label_that_is_nobodys_name_stays_in_the_users_words(text: str) -> None:
    assert labelled(text, is_own=SARAH) == text


def test_a_question_after_a_statement_stands_on_a_line_of_its_own() -> None:
    assert questions_apart("I have three kids, what allowance applies?") == (
        "I have three kids\nwhat allowance applies?"
    )
    assert questions_apart("J'habite à Brest, quel impôt dois-je ?") == (
        "J'habite à Brest\nquel impôt dois-je ?"
    )
    for text in ("What applies, if I have kids?", "I like tea, coffee and what not."):
        assert questions_apart(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "What may I claim for the journey to Hamburg, and by when?",
        "Question 1: what may I claim for the journey to Hamburg, and by when?",
        "Do I have to pay for parking there, and how much is it?",
        "Hi, can I bring my dog to work, and who has to agree?",
        "And should I move to Berlin, what do you think?",
        "Is my visa valid in Bonn, and who can tell me?",
        "Was kann ich für die Fahrt absetzen, und bis wann?",
        "Und darf ich meinen Hund mitbringen, wen muss ich da fragen?",
        "Comment je paie mon loyer à Brest, et combien est-ce ?",
        "Can I work from home, and who says so?",
        "Wann muss ich nach Rom fahren, und wer zahlt das?",
        "Hola, puedo llevar a mi perro, y quién decide?",
    ],
)
def test_a_question_with_a_question_after_it_states_nothing(text: str) -> None:
    assert questions_apart(text) == text


@pytest.mark.parametrize(
    "stated",
    [
        "Hi, I'm Lena",
        "Ok, I live in Kiel",
        "Since I have three kids",
        "Jetzt habe ich drei Kinder",
        "Also ich wohne in Kiel",
        "Maintenant nous avons un chien",
        "Hola, vivo en Vigo",
    ],
)
def test_a_statement_is_read_whatever_stands_before_its_first_word(stated: str) -> None:
    asked = "what applies to me?"
    assert questions_apart(f"{stated}, {asked}") == f"{stated}\n{asked}"


def own_words(text: str) -> str:
    return own_text(text, spans(text, user="sarah"))


def test_the_users_own_lines_in_a_conversation_to_work_on_are_own_words() -> None:
    text = "Turn this meeting into bullets:\n\nTom: I moved to Kiel\nSarah: I live in Bonn\nTom: ok"
    assert "Bonn" in own_words(text)
    assert "Kiel" not in own_words(text)


def test_a_work_with_the_users_name_in_it_is_no_conversation() -> None:
    assert "Bonn" not in own_words("Translate this:\n\nSarah: I live in Bonn")


@pytest.mark.parametrize("header", ["« Tom 08:12 » ", "[Tom, 08:12] ", "(Tom 08:12): "])
def test_a_speaker_and_a_time_in_brackets_begin_a_turn(header: str) -> None:
    read = labelled(f"{header}I live in Kiel\n{header}and like it", is_own=SARAH)
    assert read == "Tom: I live in Kiel\nTom: and like it"


@pytest.mark.parametrize(
    "text",
    [
        "Give me five easy dinners for a busy week, I live in Bonn.",
        "Explain that slowly please - I'm new in Bonn.",
        "Aide-moi à choisir un prénom, j'habite à Bonn.",
        "Bitte merken: ich wohne in Bonn.",
        "Please do remember this: I live in Bonn.",
        "Apúntalo: vivo en Bonn.",
        "Retiens bien ça : j'habite à Bonn.",
    ],
)
def test_an_order_is_apart_from_the_statement_after_it(text: str) -> None:
    order, statement = apart(text).split("\n")
    assert "Bonn" in statement
    assert "Bonn" not in order


@pytest.mark.parametrize(
    "text",
    [
        "Guess what, I'm in Bonn.",
        "When I moved, I lived in Bonn.",
        "Write this nicely: I live in Bonn.",
        "On Mondays, I work in Bonn.",
    ],
)
def test_other_sentences_stay_whole(text: str) -> None:
    assert apart(text) == text


@pytest.mark.parametrize(
    ("text", "others", "own"),
    [
        ("My wife drinks tea but I drink coffee.", "My wife drinks tea", "I drink coffee."),
        ("My dad loves golf, I prefer tennis.", "My dad loves golf", "I prefer tennis."),
        ("My boss drives a Volvo and I drive a Kia.", "My boss drives a Volvo", "I drive a Kia."),
        (
            "Meine Freundin ist Vegetarierin und ich vertrage keine Nüsse.",
            "Meine Freundin ist Vegetarierin",
            "ich vertrage keine Nüsse.",
        ),
        (
            "Mon patron habite à Lyon, moi j'habite à Nantes.",
            "Mon patron habite à Lyon",
            "moi j'habite à Nantes.",
        ),
        ("Mi mujer bebe té pero yo bebo café.", "Mi mujer bebe té", "yo bebo café."),
    ],
)
def test_a_statement_of_oneself_is_apart_from_one_of_somebody_else(
    text: str, others: str, own: str
) -> None:
    assert apart(text) == f"{others}.\n{own}"


@pytest.mark.parametrize(
    "text",
    [
        "My wife and I live in Kiel.",
        "My sister Anna and I are twins.",
        "My boss from the bank and I play chess.",
        "When my wife works at home, I work in the garden.",
        "My brother lives in Rome and I in Milan.",
        "My son is six and I take him to judo.",
        "Mon fils a six ans et je l'emmène au judo.",
        "My boss says I talk too much and I agree.",
    ],
)
def test_a_statement_of_several_people_stays_in_one_piece(text: str) -> None:
    assert apart(text) == text
