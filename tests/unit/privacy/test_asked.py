"""A secret that only answers a question for it."""

from __future__ import annotations

import pytest
from palimpsest.conversations.off_record import ASKED, ON_RECORD, marked
from palimpsest.privacy.asked import asks_for_secret, gives_it, is_bare_secret, names_secret

from tests.unit.conversations.window.transcripts import conversation


@pytest.mark.parametrize(
    "text",
    [
        "What's the password for the router?",
        "Please enter your password to continue.",
        "Could you give me the wifi password?",
        "Quel est votre code PIN ?",
        "¿Cuál es la contraseña del wifi?",
        "Wie lautet dein Passwort?",
    ],
)
def test_a_question_for_a_secret_is_known(text: str) -> None:
    assert asks_for_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you use a password manager?",
        "You should never share your password.",
        "Which language do you code in?",
        "What's your favourite animal?",
    ],
)
def test_other_questions_ask_for_no_secret(text: str) -> None:
    assert not asks_for_secret(text)


@pytest.mark.parametrize(
    "text",
    ["bluewhale77", "5931", "it's Tr0ub4dor&3x", "swordfish", "correct horse battery staple"],
)
def test_a_bare_answer_is_the_secret(text: str) -> None:
    assert is_bare_secret(text)


@pytest.mark.parametrize("text", ["no", "I live in Kiel.", "why?", "Forgot it", "Bitwarden", ""])
def test_other_answers_are_no_secret(text: str) -> None:
    assert not is_bare_secret(text)


def test_the_answer_is_off_the_record_and_the_next_message_is_not() -> None:
    messages = conversation(
        {"role": "assistant", "content": "What's your password?"},
        {"role": "user", "content": "bluewhale77"},
        {"role": "assistant", "content": "Thanks, bluewhale77 works."},
        {"role": "user", "content": "I live in Kiel."},
    )
    done = marked(messages, reach=ON_RECORD)
    assert [message.is_off_record for message in done.messages] == [False, True, True, False]


def test_a_question_of_an_earlier_append_still_counts() -> None:
    first = marked(
        conversation({"role": "assistant", "content": "Your PIN, please?"}), reach=ON_RECORD
    )
    assert first.reach == ASKED
    answer = conversation({"role": "user", "content": "5931"})
    assert marked(answer, reach=first.reach).messages[0].is_off_record


@pytest.mark.parametrize(
    ("named", "given"),
    [
        ("forgot my PIN again", "ah wait, it's 8306!"),
        ("Wie war noch die PIN vom Tablet?", "Ach ja, es ist 4471."),
        ("j'ai oublié mon mot de passe", "Ah, c'est Tournesol!42"),
        ("he olvidado la contraseña del router", "ya la tengo, es Mn7kk2Zq"),
    ],
)
def test_a_secret_that_is_it_after_its_name_is_off_the_record(named: str, given: str) -> None:
    messages = conversation(
        {"role": "user", "content": named},
        {"role": "assistant", "content": "Best to reset it."},
        {"role": "user", "content": given},
        {"role": "user", "content": "I live in Kiel."},
    )
    done = marked(messages, reach=ON_RECORD)
    assert [message.is_off_record for message in done.messages] == [False, False, True, False]


@pytest.mark.parametrize(
    ("named", "given"),
    [
        ("forgot my PIN again", "It's Monday, so I ask at the desk."),
        ("We live in Bonn now.", "The number of the house? It's 8306."),
        ("Which password manager is good?", "It's 2026!"),
    ],
)
def test_other_numbers_and_days_are_no_secret(named: str, given: str) -> None:
    assert not (names_secret(named) and gives_it(given))
