"""Conversations in plain text and Markdown."""

from typing import Any

import pytest
from palimpsest_client.chats.conversation import Chat
from palimpsest_client.chats.dialogue import chats_of
from palimpsest_client.chats.speakers import Speakers
from palimpsest_client.chats.stamps import AmbiguousDays, DayOrder


def read(
    text: str, *, me: str = "sarah", named: tuple[str, ...] = (), dates: DayOrder | None = None
) -> list[Chat]:
    return chats_of(text, name="talk", speakers=Speakers.of([me], named), dates=dates)


def said(text: str, **options: Any) -> list[tuple[str, str | None, str]]:
    return [
        (message["role"], message.get("name"), message["content"])
        for chat in read(text, **options)
        for message in chat.messages
    ]


@pytest.mark.parametrize(
    "text",
    [
        "You: I live in Kiel.\nChatGPT: Noted.",
        "**You:** I live in Kiel.\n\n**ChatGPT:** Noted.\n",
        "**You**\nI live in Kiel.\n\n**ChatGPT**\n\nNoted.",
        "# A talk\n\n## User\n\nI live in Kiel.\n\n---\n\n## Assistant\n\nNoted.",
        "## 👤 User\nI live in Kiel.\n## 🤖 Claude (3.5)\nNoted.",
        "#### You said:\nI live in Kiel.\n#### ChatGPT said:\nNoted.",
        "Sarah: I live in Kiel.\nassistant: Noted.",
        "[10:02] sarah: I live in Kiel.\n[10:03] Bot: Noted.",
    ],
)
def test_the_usual_forms_of_speakers_are_read(text: str) -> None:
    assert said(text) == [("user", None, "I live in Kiel."), ("assistant", None, "Noted.")]


def test_other_people_keep_their_names() -> None:
    assert said("Sarah: Hello\nTom Müller: Hi!\nSarah: How are you?") == [
        ("user", None, "Hello"), ("user", "Tom Müller", "Hi!"), ("user", None, "How are you?"),
    ]  # fmt: skip


def test_a_line_with_a_colon_is_no_speaker() -> None:
    text = "You: A cake, please.\nIngredients: flour\nhttps://example.com: a page\nClaude: Here."
    assert said(text) == [
        ("user", None, "A cake, please.\nIngredients: flour\nhttps://example.com: a page"),
        ("assistant", None, "Here."),
    ]


def test_speakers_in_code_are_code() -> None:
    text = "You: Fix this:\n```yaml\nYou: x\nClaude: y\n```\nClaude: Done."
    assert said(text) == [
        ("user", None, "Fix this:\n```yaml\nYou: x\nClaude: y\n```"),
        ("assistant", None, "Done."),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[05.01.24, 10:02:11] Sarah: ", "[05.01.24, 10:03:00] Tom: "),
        ("25/01/2024, 10:02 - Sarah: ", "25/01/2024, 10:03 - Tom: "),
        ("1/25/24, 10:02 AM - Sarah: ", "1/25/24, 10:03 AM - Tom: "),
        ("2024-01-25 10:02 Sarah: ", "2024-01-25 10:03 Tom: "),
        ("[2024-01-25T10:02:00Z] Sarah: ", "[2024-01-25T10:03:00Z] Tom: "),
    ],
)
def test_times_of_messengers_are_read(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    (chat,) = read(f"{first}Hello\n{second}Hi\nagain")
    assert [message["content"] for message in chat.messages] == ["Hello", "Hi\nagain"]
    day = "2024-01-05" if "05.01" in first else "2024-01-25"
    assert [message["timestamp"][:13] for message in chat.messages] == [f"{day}T10"] * 2


def test_days_that_can_be_read_in_two_ways_are_asked_for() -> None:
    text = "05/01/2024, 10:02 - Sarah: Hello"
    with pytest.raises(AmbiguousDays, match="--dates day-first"):
        read(text)
    (chat,) = read(text, dates="month-first")
    assert chat.messages[0]["timestamp"].startswith("2024-05-0")


def test_notices_of_a_messenger_are_left_out() -> None:
    text = (
        "25/01/2024, 10:00 - Messages are encrypted.\n"
        "25/01/2024, 10:02 - Sarah: Hello\n"
        "25/01/2024, 10:04 - Tom left"
    )
    assert said(text) == [("user", None, "Hello")]


def test_after_a_silence_a_new_conversation_begins_whose_name_stays() -> None:
    day = "2024-01-25 10:02 Sarah: Hello\n2024-01-25 10:03 Tom: Hi\n"
    (one,) = read(day)
    first, second = read(f"{day}2024-01-26 09:00 Sarah: Good morning\n")
    assert (first.name, len(first.messages)) == (one.name, 2)
    assert second.name not in (None, first.name)


def test_a_text_without_speakers_is_refused_and_they_can_be_named() -> None:
    text = "A note.\n\nTom: once"
    with pytest.raises(ValueError, match="names no speakers"):
        read(text)
    assert said(text, named=("tom",)) == [("user", "Tom", "once")]


def test_it_is_known_whether_a_speaker_is_the_user() -> None:
    (chat,) = read("Anna: Hello\nTom: Hi")
    assert not chat.has_user
    assert chat.speakers == ("Anna", "Tom")
    (chat,) = read("Anna: Hello\nTom: Hi", me="anna")
    assert chat.has_user
