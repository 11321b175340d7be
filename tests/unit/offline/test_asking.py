"""Statements beside questions and requests that lack their marks, as in chats."""

import pytest
from palimpsest.offline.asking import asks_for_confirmation, only_asks, without_asking
from palimpsest.offline.clauses import as_oneself, own_clauses
from palimpsest.offline.subjects import with_subject

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
    "Question 5 about remote work: what does the handbook say, and where does it say so?",
    "The report has 12 pages, can you shorten it?",
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


@pytest.mark.parametrize(
    ("sentence", "oneself"),
    [
        ("As a vegetarian, what can I eat in Japan?", "I'm a vegetarian."),
        ("As an expat, which bank should I pick?", "I'm an expat."),
        ("Als Vegetarierin, was kann ich essen?", "Ich bin Vegetarierin."),
        ("En tant que végétarienne, que manger au Japon ?", "Je suis végétarienne."),
        ("Como vegetariana, ¿qué puedo comer?", "Soy vegetariana."),
        ("As a nurse, how would you treat this?", None),
        ("As a teacher, explain fractions to a child.", None),
        ("As a result, we left.", None),
    ],
)
def test_who_asks_says_who_they_are(sentence: str, oneself: str | None) -> None:
    assert as_oneself(sentence) == oneself


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("Since I'm lactose intolerant, which milk is best?", "I'm lactose intolerant"),
        ("Puisque je suis végétarien, que faire ?", "je suis végétarien"),
        ("Since we moved to Leipzig my commute is awful", None),
    ],
)
def test_the_reason_of_a_question_is_a_statement(sentence: str, stated: str | None) -> None:
    assert without_asking(sentence) == (stated or sentence)


@pytest.mark.parametrize(
    ("sentence", "whole"),
    [
        ("Now looking for jobs in biotech.", "I'm now looking for jobs in biotech."),
        ("Living in Leeds.", "I'm living in Leeds."),
        ("Born in 1990.", "I was born in 1990."),
        ("Allergic to nuts.", "I'm allergic to nuts."),
        ("Sold my car.", "I sold my car."),
    ],
)
def test_a_left_out_subject_has_the_verb_that_goes_with_it(sentence: str, whole: str) -> None:
    assert with_subject(sentence) == whole


@pytest.mark.parametrize(
    "sentence",
    [
        "I live in Kiel, right?",
        "My flight is at 9, isn't it?",
        "Ich wohne in Kiel, oder?",
        "J'habite à Lyon, non ?",
        "Vivo en Soria, ¿verdad?",
    ],
)
def test_who_asks_whether_it_is_right_states_nothing(sentence: str) -> None:
    assert asks_for_confirmation(sentence)
    assert not own_clauses(sentence)


@pytest.mark.parametrize("sentence", ["I'm vegan, ok?", "I live in Bonn now, you know?"])
def test_a_tag_that_only_asserts_asks_nothing(sentence: str) -> None:
    assert not asks_for_confirmation(sentence)
