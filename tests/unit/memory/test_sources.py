"""A memory shows each time that it was said, in whatever words."""

from __future__ import annotations

import pytest

from tests.unit.memory.over_http import Caller

FIVE_WAYS = [
    "I live in Tromsø.",
    "My home is in Tromsø.",
    "I'm based in Tromsø.",
    "Tromsø is where I live.",
    "I'm living in Tromsø these days.",
]


def test_one_fact_said_five_ways_is_one_memory_with_five_sources() -> None:
    call = Caller("2026-03-02")
    call.says(*FIVE_WAYS)
    (memory,) = call.memories()
    assert [source["quote"] for source in memory["sources"]] == FIVE_WAYS
    assert [source["session_id"] for source in memory["sources"]] == [
        f"session-{number}" for number in range(1, 6)
    ]
    assert memory["source"] == memory["sources"][0]
    one = call("GET", f"{call.user}/memories/{memory['id']}")
    assert one["sources"] == memory["sources"]


@pytest.mark.parametrize(
    "said",
    [
        ("I'm a carpenter.", "By trade I'm a carpenter.", "My job is carpenter."),
        ("I work at the Tide Museum.", "The Tide Museum is my employer."),
        ("My wife is called Ines.", "Ines and I are married."),
        ("Mein Geburtstag ist der 4. Mai.", "Am 4. Mai habe ich Geburtstag."),
        ("Mein Hund heißt Fiete.", "Der Name meines Hundes ist Fiete."),
        ("Ich bin gegen Haselnüsse allergisch.", "Ich habe eine Haselnussallergie."),
        ("Mon chien s'appelle Filou.", "Filou est mon chien."),
        ("J'habite à Angers.", "Ma ville, c'est Angers."),
        ("Mon anniversaire est le 4 mai.", "Je fête mon anniversaire le 4 mai."),
        ("Vivo en Cádiz.", "Estoy viviendo en Cádiz."),
        ("Mi mujer se llama Inés.", "Inés es mi mujer.", "El nombre de mi mujer es Inés."),
        ("Soy alérgica al polen.", "Mi alergia es al polen."),
    ],
)
def test_the_same_in_other_words_is_one_more_source(said: tuple[str, ...]) -> None:
    call = Caller("2026-03-02")
    call.says(*said)
    (memory,) = call.memories()
    assert (memory["content"], len(memory["sources"])) == (said[0], len(said))


def test_each_version_has_its_own_sources() -> None:
    call = Caller("2026-03-02")
    call.says("I live in Tromsø.", "I moved to Bergen.", "Bergen is my home.", "I live in Tromsø.")
    (memory,) = call.memories()
    history = call("GET", f"{call.user}/memories/{memory['id']}/history")["versions"]
    said_in = [[source["session_id"] for source in version["sources"]] for version in history]
    assert said_in == [["session-4"], ["session-2", "session-3"], ["session-1"]]


@pytest.mark.parametrize("text", ["I play the harpsichord.", "My locker is on the third floor."])
def test_a_memory_without_a_topic_names_every_session(text: str) -> None:
    call = Caller("2026-03-02")
    call.says(text, text, text)
    (memory,) = call.memories()
    assert [source["session_id"] for source in memory["sources"]] == [
        "session-1",
        "session-2",
        "session-3",
    ]


def test_a_memory_that_a_caller_saved_has_the_source_of_the_caller() -> None:
    call = Caller("2026-03-02")
    memories = [{"type": "fact", "content": "Sarah leads the team.", "source": "HR, May 2026"}]
    (saved,) = call("POST", f"{call.user}/memories", {"memories": memories})["memories"]
    assert [source["text"] for source in saved["sources"]] == ["HR, May 2026"]


def test_the_last_twenty_times_are_shown() -> None:
    call = Caller("2026-03-02")
    call.says(*["I live in Tromsø.", "My home is in Tromsø."] * 11)
    (memory,) = call.memories()
    assert [source["session_id"] for source in memory["sources"]] == [
        f"session-{number}" for number in range(3, 23)
    ]
