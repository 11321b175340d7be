"""What other people in a conversation say changes nothing that the user said, and nothing that
anybody else said.
"""

from __future__ import annotations

import pytest
from palimpsest.conversations.message import Chat
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.extraction.service import ExtractionService
from tests.unit.memory.test_ends_and_corrections import current

USER = ""
Said = tuple[str, str]
SAID_BY_TOM = [
    ("I work at Acme.", "I quit my job."),
    ("I have a dog.", "I don't have a dog anymore."),
    ("I'm allergic to nuts.", "I'm no longer allergic to nuts."),
    ("I'm married to Anna.", "I'm divorced."),
    ("I live in Leeds.", "No, in Hull."),
    ("I live in Leeds.", "Not Leeds, Hull."),
    ("My meeting is on Friday.", "The meeting was moved to Monday."),
    ("I live in Bath.", "just kidding"),
    ("I live in Bath.", "Forget what I just said."),
    ("Ich wohne in Kiel.", "Nein, in Husum."),
    ("Ich arbeite bei Siemens.", "Ich habe gekündigt."),
    ("J'ai un chien.", "Je n'ai plus de chien."),
    ("Tengo un perro.", "Ya no tengo perro."),
]


def chat(said: Said) -> Chat:
    name, text = said
    return {"role": "user", "content": text, **({"name": name} if name else {})}


def reading_patterns() -> ExtractionService:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    return service


def believed(*said: Said) -> set[str]:
    """What is believed after these words, each by the speaker of this name, in one append."""
    service = reading_patterns()
    service.put(*map(chat, said))
    service.handle_to_the_end(service.ask())
    return current(service)


def said(*texts: str) -> set[str]:
    """What is believed after these words of the user, in one append."""
    return believed(*((USER, text) for text in texts))


@pytest.mark.parametrize(("before", "now"), SAID_BY_TOM)
def test_what_somebody_else_says_ends_and_corrects_nothing_of_the_user(
    before: str, now: str
) -> None:
    assert before in believed((USER, before), ("Tom", now))
    assert before not in believed((USER, before), (USER, now))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("I live in Leeds.", "I live in Hull."),
        ("I'm vegan.", "I'm not vegan, I eat meat."),
        ("I live in Bath.", "just kidding"),
        ("Ich wohne in Kiel.", "Ich wohne in Husum."),
    ],
)
def test_what_the_user_says_ends_nothing_of_somebody_else(before: str, now: str) -> None:
    assert f"Tom: {before}" in believed(("Tom", before), (USER, now))


def test_others_end_correct_and_take_back_their_own_words() -> None:
    dog = ("Tom", "I have a dog.")
    assert "Tom: I have a dog." in believed(dog)
    assert "Tom: I have a dog." not in believed(dog, ("Tom", "I don't have a dog anymore."))
    leeds = ("Tom", "I live in Leeds.")
    assert "Tom: I live in Hull." in believed(leeds, ("Tom", "Sorry, I meant Hull."))
    debt, mine = ("Tom", "I owe Jo 50 euros."), (USER, "I live in Bath.")
    forgotten = ("Tom", "Forget what I just said.")
    assert believed(debt, mine, forgotten) == {"I live in Bath."}


def test_somebody_takes_back_their_own_turn_of_an_earlier_append() -> None:
    service = reading_patterns()
    service.put(chat(("Tom", "I owe Jo 50 euros.")), chat((USER, "I live in Bath.")))
    service.put(chat(("Tom", "Forget what I just said.")))
    service.handle_to_the_end(service.ask())
    assert current(service) == {"I live in Bath."}
