"""Statements that begin with a time or without a pronoun are memories too."""

from __future__ import annotations

import pytest

from tests.unit.memory.over_http import Caller


@pytest.mark.parametrize(
    ("said", "kind", "day"),
    [
        ("Bis Freitag muss ich die Miete überweisen.", "task", "2026-06-12"),
        ("Bis zum 20. Juni muss ich mich zurückmelden.", "task", "2026-06-20"),
        ("La semana que viene viajo a Lima.", "event", "2026-06-15"),
        ("Tomo litio.", "fact", None),
        ("Cultivo olivos en Jaén.", "fact", None),
        ("Les chiens me font peur.", "fact", None),
        ("Me dan miedo las arañas.", "fact", None),
    ],
)
def test_it_is_known_with_its_day(said: str, kind: str, day: str | None) -> None:
    call = Caller("2026-06-10")
    call.says(said)
    (memory,) = call.memories()
    assert (memory["type"], memory["due_at"] or memory["occurs_at"]) == (kind, day)


def test_a_clause_that_waits_for_something_alone_is_no_memory() -> None:
    call = Caller("2026-06-10")
    call.says("Bis ich fertig bin.")
    assert call.memories() == []


def test_what_had_to_be_done_leaves_the_profile_after_its_day() -> None:
    call = Caller("2026-06-10")
    memory = {"type": "fact", "content": "Sarah owes Tom 40 euros.", "due_at": "2026-06-14"}
    call("POST", f"{call.user}/memories", {"memories": [memory]})
    assert "40 euros" in call("GET", f"{call.user}/profile")["text"]
    call.waits_until("2026-06-20")
    assert call("GET", f"{call.user}/profile")["text"] == ""
