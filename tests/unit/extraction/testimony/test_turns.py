"""Whose words a line of a pasted conversation is."""

from __future__ import annotations

import pytest
from palimpsest.extraction.testimony.questions import questions_apart
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
