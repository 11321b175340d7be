"""A search ends when the thing is found, and a state ends when the opposite is said."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.searches import found_in, is_search_for

from tests.unit.memory.test_ends_and_corrections import current, told

ENDED = [
    ("I'm looking for an apartment.", "We found a great apartment."),
    ("I'm looking for a new bike.", "I bought a bike."),
    ("I'm on the waiting list for a kidney transplant.", "I got my transplant!"),
    ("Ich suche eine neue Wohnung.", "Wir haben eine schöne Wohnung gefunden!"),
    ("Je cherche un appartement.", "J'ai enfin trouvé un bel appartement."),
    ("Estoy buscando piso.", "¡Ya he encontrado piso!"),
    ("Je suis au chômage.", "J'ai trouvé du travail."),
    ("I have a broken leg.", "My leg is fine now."),
    ("My car is in the garage for repairs.", "I got the car back."),
    ("Mein Knöchel ist verstaucht.", "Mein Knöchel ist wieder gut."),
    ("I don't drink alcohol.", "I started drinking again."),
    ("I'm getting married in September.", "The wedding is off."),
    ("Wir fahren im Juli nach Griechenland.", "Die Reise nach Griechenland ist abgesagt."),
    ("On part en Grèce en juillet.", "Le voyage en Grèce est annulé."),
    ("Vamos a Grecia en julio.", "Se canceló el viaje a Grecia."),
    ("Wir heiraten im August.", "Die Hochzeit ist abgesagt."),
    ("Ich bin schwanger.", "Unser Baby ist da!"),
    ("Estoy embarazada.", "¡Ya nació el bebé!"),
    ("I manage a team of six people.", "I'm no longer a manager."),
    ("We have a dog called Buster.", "We had to give Buster away."),
    ("Voy al gimnasio todos los lunes.", "He dejado de ir al gimnasio."),
]
STAYS = [
    ("I'm married to Ana.", "The wedding is off."),
    ("I'm looking for a garage for my car.", "I bought a car."),
    ("I'm looking for a new flat.", "My sister found a flat."),
    ("I'm looking for a new flat.", "I bought a lamp."),
    ("My wrist is sprained.", "My ankle is fine again."),
    ("I have a dog called Buster.", "I gave the old lamp away."),
    ("We're flying to Lisbon in June.", "The trip to Porto is off."),
]


@pytest.mark.parametrize(("before", "now"), ENDED)
def test_it_has_ended(before: str, now: str) -> None:
    assert not any(content.startswith(before[:-1]) for content in current(told(before, now)))


@pytest.mark.parametrize(("before", "now"), STAYS)
def test_it_has_not_ended(before: str, now: str) -> None:
    assert any(content.startswith(before[:-2]) for content in current(told(before, now)))


def test_what_is_found_is_known() -> None:
    believed = current(told("I'm looking for a new bike.", "I bought a bike."))
    assert believed == {"I bought a bike."}


def test_only_the_sought_thing_can_be_found() -> None:
    assert found_in("We found a great apartment in Leeds.") == ("apartment",)
    assert found_in("If I found an apartment, I'd move.") == ()
    assert is_search_for("I'm looking for a flat near my office.", ("apartment",))
    assert not is_search_for("I'm looking for a flat near my office.", ("office",))
