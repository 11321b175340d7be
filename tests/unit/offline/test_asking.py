"""Statements beside questions and requests that lack their marks, as in chats."""

import pytest
from palimpsest.offline.asking import only_asks, without_asking

STATED = {
    "wife's a nurse, any gift ideas": "wife's a nurse",
    "wife's a nurse, gift ideas?": "wife's a nurse",
    "im a brickie, i drive a Transit, whats a fair mileage rate to charge": (
        "im a brickie, i drive a Transit"
    ),
    "our hamster's called Waffles how long do they live": "our hamster's called Waffles",
    "need a packed lunch plan, kids are 6 and 9, one hates cheese": (
        "kids are 6 and 9, one hates cheese"
    ),
    "I have a dog and can you write a poem about him": "I have a dog",
    "unsere kleine geht in die Sonnenblume, die schließen um 15 uhr, hast du tipps?": (
        "unsere kleine geht in die Sonnenblume, die schließen um 15 uhr"
    ),
    "la voiture c'est une Clio, voyant orange allumé, je roule ou pas": (
        "la voiture c'est une Clio, voyant orange allumé"
    ),
    "somos 4 y un gato, hazme una lista": "somos 4 y un gato",
}
UNCHANGED = [
    "I live in Kiel, right?",
    "I live in Kiel, is that right",
    "You said I live in Kiel, is that right?",
    "I'm 40, aren't I?",
    "Ich wohne in Kiel, stimmt das?",
    "j'habite à Lyon, c'est bien ça ?",
    "write a mail to my boss, I'm sick and can't come",
    "can you pretend that I live in Kiel, that I'm 40, and have two kids",
    "what bothers me is the noise",
    "when I was ten, we moved to Leeds",
    "I sing and write the newsletter",
    "gift ideas for my girlfriend Nadia, she's into ceramics",
    "kannst du dir merken: ich hab mich bei Kessler beworben, das Gespräch ist am 9. März.",
    "Was ich mag, ist Tee",
    "como soy vegana, nada de queso",
]


@pytest.mark.parametrize("sentence", STATED)
def test_questions_and_requests_are_taken_off_a_statement(sentence: str) -> None:
    assert without_asking(sentence) == STATED[sentence]


@pytest.mark.parametrize("sentence", UNCHANGED)
def test_a_sentence_stays_whole_if_its_request_may_be_about_its_words(sentence: str) -> None:
    assert without_asking(sentence) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "what do i wear",
        "where do i cut",
        "can they eat grapes.",
        "is tea the same",
        "any ideas",
        "give me 5 things that reheat well",
        "je fais quoi du poulailler",
        "was schenkt man zum ersten tag",
        "subeme la rutina a 4 días",
    ],
)
def test_a_question_without_its_mark_only_asks(sentence: str) -> None:
    assert only_asks(sentence)


@pytest.mark.parametrize("sentence", [*UNCHANGED[8:12], "I do yoga", "Is allergic to nuts, my son"])
def test_a_statement_does_not_only_ask(sentence: str) -> None:
    assert not only_asks(sentence)
