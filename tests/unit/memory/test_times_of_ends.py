"""When something ended: the time that its user named, or else the time at which it was said."""

from __future__ import annotations

from datetime import date

import pytest
from palimpsest.memory.ended_on import begin_of, is_label, label_of, shown
from palimpsest.memory.times import ended_on, is_to_come

from tests.unit.memory.over_http import Caller

SAID = date(2026, 6, 10)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I left the Harbour Museum in May.", "2026-05"),
        ("I quit on Monday.", "2026-06-08"),
        ("I sold it in 2024.", "2024"),
        ("I haven't lived there since March.", "2026-03"),
        ("Seit letzter Woche wohne ich nicht mehr in Jena.", "2026-W23"),
        ("Ich habe am 1. Juni gekündigt.", "2026-06-01"),
        ("Je ne travaille plus chez Morel depuis mars.", "2026-03"),
        ("Desde enero ya no vivo en Lugo.", "2026-01"),
        ("Vendí el piso de Triana en mayo.", "2026-05"),
        ("I don't live there any more.", None),
    ],
)
def test_the_named_time_is_as_exact_as_its_words(text: str, label: str | None) -> None:
    moment = ended_on(text, at=SAID)
    assert (None if moment is None else label_of(moment)) == label
    assert not is_to_come(text, at=SAID)


@pytest.mark.parametrize(
    "text",
    [
        "Je quitte Renault le 30 juin.",
        "Ab Juli wohne ich nicht mehr in Jena.",
        "From July on I won't live there.",
        "A partir de julio ya no trabajo en Repsol.",
        "I'm leaving Bosch at the end of June.",
        "My last day at Bosch is 30 June.",
    ],
)
def test_a_later_day_is_to_come(text: str) -> None:
    assert is_to_come(text, at=SAID)


def test_a_label_begins_with_its_first_day() -> None:
    labels = ("2026", "2026-05", "2026-W22", "2026-05-27")
    begins = [begin_of(label) for label in labels]
    assert begins == [1_767_225_600_000, 1_777_593_600_000, 1_779_667_200_000, 1_779_840_000_000]
    assert [shown(label) for label in labels][1:3] == ["2026-05", "in the week of 2026-05-25"]
    assert not any(map(is_label, ("", "May", "2026-13", "2026-05-40", "05")))


def test_recall_says_since_when_it_has_ended() -> None:
    call = Caller("2026-03-02")
    call.says("I work at Northwind.")
    call.waits_until("2026-06-10")
    call.says("I left Northwind in May.")
    (old,) = call.memories("superseded")
    assert (old["ended"], old["valid_to"]) == (True, "2026-05-01T00:00:00.000Z")
    found = call.recall("Where do I work?", format="context")
    assert "I work at Northwind. (ended 2026-05)" in found["context"]
    assert _is_held(call, as_of="2026-04-20T00:00:00Z")
    assert not _is_held(call, as_of="2026-05-20T00:00:00Z")
    assert _is_held(call, known_at="2026-05-20T00:00:00Z")


def _is_held(call: Caller, **then: str) -> bool:
    memories = call.recall("Where do I work?", **then)["memories"]
    (job,) = [memory for memory in memories if memory["content"] == "I work at Northwind."]
    return not job["ended"]


def test_a_time_before_it_was_said_is_not_that_of_its_end() -> None:
    call = Caller("2026-03-02")
    call.says("I have a blue car.")
    call.waits_until("2026-06-10")
    call.says("I sold my blue car from 2019.")
    (old,) = call.memories("superseded")
    assert old["valid_to"].startswith("2026-06-10T09:00")


@pytest.mark.parametrize(
    ("said", "plan"),
    [
        ("I work at Bosch.", "I'm leaving Bosch on 30 June."),
        ("Je travaille chez Renault.", "Je quitte Renault le 30 juin."),
        ("Ich wohne in Jena.", "Ab Juli wohne ich nicht mehr in Jena."),
        ("Trabajo en Repsol.", "A partir de julio ya no trabajo en Repsol."),
    ],
)
def test_an_end_on_a_later_day_ends_nothing_yet(said: str, plan: str) -> None:
    call = Caller("2026-06-10")
    call.says(said, plan)
    assert said in [memory["content"] for memory in call.memories()]
    assert call.memories("superseded") == []


def test_a_thing_of_a_later_day_may_be_cancelled_now() -> None:
    call = Caller("2026-06-10")
    call.says("I have a yoga class on Friday.", "I cancelled Friday's yoga class.")
    assert "I have a yoga class on Friday." not in str(call.memories())


def test_a_later_value_has_no_end() -> None:
    call = Caller("2026-03-02")
    call.says("I work at Northwind.")
    call.waits_until("2026-06-10")
    call.says("I left Northwind in May.", "I work at Contoso.")
    (current,) = call.memories()
    assert (current["content"], current["valid_to"]) == ("I work at Contoso.", None)


def test_an_export_keeps_when_it_ended() -> None:
    call = Caller("2026-03-02")
    call.says("I work at Northwind.")
    call.waits_until("2026-06-10")
    call.says("I left Northwind in May.")
    before = call.memories("superseded")
    text = call.export()
    other = Caller("2026-06-11")
    other("POST", f"{other.user}/import", {"data": text})
    assert [row["valid_to"] for row in other.memories("superseded")] == [before[0]["valid_to"]]
