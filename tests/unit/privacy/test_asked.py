"""A secret that only answers a question for it."""

from __future__ import annotations

import pytest
from palimpsest.conversations.off_record import ASKED, ON_RECORD, marked
from palimpsest.privacy.asked import asks_for_secret, is_bare_secret

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
