"""Short answers to the assistant's questions about the user."""

from __future__ import annotations

import pytest
from palimpsest.extraction.chunk import chunk_of
from palimpsest.offline.answered import answered
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.conversations.window.transcripts import assistant, conversation, user


@pytest.mark.parametrize(
    ("question", "answer", "statement"),
    [
        ("Nice! Where do you live?", "In Oslo", "I live in Oslo."),
        ("What's your name?", "Ada", "My name is Ada."),
        ("What's your dog called?", "Max", "My dog is called Max."),
        ("Any allergies?", "Yes, peanuts.", "I'm allergic to peanuts."),
        ("How old are you?", "34 years old", "I'm 34 years old."),
        ("What do you do for a living?", "engineer", "I work as an engineer."),
        ("Do you have kids?", "yes, two", "I have two kids."),
        ("Wo wohnst du denn?", "In Kassel", "Ich wohne in Kassel."),
        ("Wie heißt deine Katze?", "Mia", "Meine Katze heißt Mia."),
        ("Hast du Allergien?", "Ja, gegen Nüsse", "Ich bin allergisch gegen Nüsse."),
        ("Tu habites où ?", "À Metz", "J'habite à Metz."),
        ("Tu as quel âge ?", "34 ans", "J'ai 34 ans."),
        ("¿Dónde vives?", "En Vigo", "Vivo en Vigo."),
        ("¿Cómo se llama tu perro?", "Toby", "Mi perro se llama Toby."),
    ],
)
def test_a_short_answer_states_what_was_asked(question: str, answer: str, statement: str) -> None:
    assert answered(question, answer) == statement


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where do you live?", "not telling you"),
        ("Where do you live?", "Why?"),
        ("Where do you live?", "thanks!"),
        ("Where do you live?", "London but moving soon"),
        ("Where do you live? You can also tell me later.", "Oslo"),
        ("Where do you want to go next?", "Rome"),
        ("Do you have any allergies?", "no, none"),
        ("How old are you?", "old"),
        ("Wo wohnst du?", "Sag ich nicht"),
    ],
)
def test_an_answer_that_states_nothing_is_none(question: str, answer: str) -> None:
    assert answered(question, answer) is None


def test_the_answer_is_the_quote_and_its_topic_is_that_of_the_statement() -> None:
    what = chunk_of(
        conversation(assistant("Where do you live?"), user("Oslo")), first=1, last=2, room=None
    )
    (found,) = PatternExtractor().extract(what, prompt=None).findings
    assert (found.content, found.quote, found.topic) == ("I live in Oslo.", "Oslo", "residence")


def test_a_number_alone_is_an_answer() -> None:
    told = conversation(assistant("How old are you?"), user("34"))
    (found,) = (
        PatternExtractor().extract(chunk_of(told, first=1, last=2, room=None), prompt=None).findings
    )
    assert found.content == "I'm 34 years old."


def test_a_question_before_another_message_is_not_answered() -> None:
    told = conversation(assistant("Where do you live?"), user("Translate: I'm Tom."), user("Oslo"))
    what = chunk_of(told, first=1, last=3, room=None)
    assert PatternExtractor().extract(what, prompt=None).findings == ()
