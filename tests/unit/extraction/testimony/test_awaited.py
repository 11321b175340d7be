"""A request that lacks its text awaits it in the next message."""

from __future__ import annotations

import pytest
from palimpsest.conversations.message import Chat, text_of
from palimpsest.extraction.chunk import chunk_of
from palimpsest.extraction.testimony.reading import Reader, reader_after

from tests.unit.conversations.window.transcripts import assistant, conversation, user


def read(*chats: Chat) -> str:
    chunk = chunk_of(
        conversation(*chats), first=1, last=len(chats), room=None, reader=Reader("sarah")
    )
    return "\n".join(text_of(message.chat) for message in chunk.messages)


@pytest.mark.parametrize(
    "request_",
    [
        "Fix the spelling:",
        "Translate this into French",
        "Make this cover letter less stiff",
        "Into Polish, informal:",
        "Proofread the paragraph below.",
        "Kannst du das kürzer machen?",
        "Corrige ce texte :",
        "Traduce esto al inglés",
    ],
)
def test_the_message_after_a_request_without_text_is_its_text(request_: str) -> None:
    assert "Bonn" not in read(user(request_), user("I live in Bonn and I have two cats."))
    asked = assistant("Please paste the text.")
    assert "Bonn" not in read(user(request_), asked, user("I live in Bonn and I have two cats."))


@pytest.mark.parametrize(
    "request_",
    [
        "Put it in the oven.",
        "Fix the roof.",
        "Translate this: 'Good morning'",
        "Translate this later.",
        "Yes, put it in the freezer.",
        "Save this for me.",
        "Wie findest du das?",
    ],
)
def test_after_other_messages_the_speaker_speaks(request_: str) -> None:
    assert "Bonn" in read(user(request_), user("I live in Bonn and I have two cats."))


def test_an_answer_that_asks_for_no_text_ends_the_wait() -> None:
    answered = assistant("Bonjour, je m'appelle Tom.")
    assert "Bonn" in read(user("Translate this into French"), answered, user("I live in Bonn."))


def test_a_speaker_who_declines_to_give_the_text_speaks() -> None:
    declined = user("Never mind, I'm in Bonn today.")
    asked = assistant("Please paste the text.")
    assert "Bonn" in read(user("Translate this into French"), asked, declined)


def test_a_request_after_a_message_of_the_speaker_is_about_that_message() -> None:
    assert "Ghent" in read(user("Hello."), user("Translate this."), user("I live in Ghent."))


def test_whoever_wants_to_answer_somebody_shows_the_letter_next() -> None:
    wish = user("I need a reply to my landlord.")
    assert "Ghent" not in read(wish, user("Hi Sarah, I moved to Ghent. When do you pay?"))
    assert "Ghent" in read(wish, user("I moved to Ghent, so he shall send the papers there."))


def test_a_wait_from_before_the_chunk_is_known() -> None:
    reader = reader_after(conversation(user("Translate this into French")), user="sarah")
    chunk = chunk_of(
        conversation(user("I live in Bonn.")), first=1, last=1, room=None, reader=reader
    )
    assert chunk.skipped == {1: "material"}
