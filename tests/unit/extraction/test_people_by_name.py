"""A statement that begins with the name of one of the user's people changes what is known of them,
if an earlier session introduced them.
"""

from __future__ import annotations

import pytest

from tests.unit.memory.test_ends_and_corrections import current, told, versions

SISTER = "My sister Anna lives in Graz."
BROTHER = "My brother Ben works for Shell."
CHANGES = [
    (SISTER, "Anna has moved to Linz.", "Linz"),
    (SISTER, "Anna's moved to Linz.", "Linz"),
    (SISTER, "My sister has moved to Linz.", "Linz"),
    (BROTHER, "Ben joined BP in March.", "BP"),
    ("My friend Carla is a nurse.", "Carla retrained as a teacher.", "teacher"),
    ("Meine Schwester Anna wohnt in Graz.", "Anna ist nach Linz gezogen.", "Linz"),
    ("Mi hermana Ana vive en Sevilla.", "Ana se ha mudado a Cádiz.", "Cádiz"),
]
ENDS = [
    (BROTHER, "Ben got laid off last month."),
    (BROTHER, "My brother got laid off."),
    ("My son Leo plays football.", "Leo stopped playing football."),
    ("My sister Anna is a vegetarian.", "Anna eats meat again."),
    ("My boss Petra is on holiday.", "Petra is back from holiday."),
]
STAYS = [
    (SISTER, "My friend Anna has moved to Linz."),
    (SISTER, "Anna's boyfriend has moved to Linz."),
    (SISTER, "Tom has moved to Linz."),
    (SISTER, "Has Anna moved to Linz?"),
    (SISTER, "Anna might move to Linz."),
    ("My son Leo plays football.", "Leo stopped playing chess."),
    ("I live in Graz.", "Anna has moved to Linz."),
]


@pytest.mark.parametrize(("before", "now", "known"), CHANGES)
def test_a_name_is_enough_to_change_what_is_known_of_a_person(
    before: str, now: str, known: str
) -> None:
    believed = current(told(before, now))
    assert before not in believed
    assert any(known in content for content in believed)


@pytest.mark.parametrize(("before", "now"), ENDS)
def test_a_name_is_enough_to_end_what_is_known_of_a_person(before: str, now: str) -> None:
    assert before not in current(told(before, now))


@pytest.mark.parametrize(("before", "now"), STAYS)
def test_nothing_changes_for_anybody_else(before: str, now: str) -> None:
    assert before in current(told(before, now))


def test_of_two_people_of_one_name_nothing_is_changed() -> None:
    believed = current(told(SISTER, "My colleague Anna lives in Wien.", "Anna has moved to Linz."))
    assert {SISTER, "My colleague Anna lives in Wien."} <= set(believed)


def test_an_instruction_keeps_the_words_before_its_please() -> None:
    order = "From now on give me long, detailed answers please."
    assert set(current(told(order))) == {order}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("My dog is called Rex.", "Rex is scared of fireworks."),
        ("My sister is called Jane.", "Jane lives in Oslo."),
        ("My sister is called Jane.", "Jane's a nurse."),
        ("Mein Hund heißt Rex.", "Rex hat Angst vor Feuerwerk."),
        ("Mon chat s'appelle Milo.", "Milo déteste les chiens."),
        ("Mi perro se llama Rex.", "Rex tiene miedo a los petardos."),
        ("My horse is called Star.", "Star only eats apples."),
    ],
)
def test_what_is_said_of_somebody_by_name_is_known(before: str, now: str) -> None:
    service = told(before, now)
    assert current(service) == {before, now}
    (record,) = [version.record for version in versions(service) if version.record.content == now]
    assert record.subject == now.split(maxsplit=1)[0].split("'", maxsplit=1)[0].casefold()


@pytest.mark.parametrize(
    "text", ["Python is a great language.", "Jane lives in Oslo.", "Is Rex ill?"]
)
def test_what_is_said_of_an_unknown_name_is_not_known(text: str) -> None:
    assert current(told("My dog is called Rex.", text)) == {"My dog is called Rex."}
