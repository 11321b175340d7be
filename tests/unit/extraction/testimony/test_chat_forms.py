"""Forms of chats and confidences that earlier rules did not know."""

from __future__ import annotations

from datetime import date

import pytest
from palimpsest.extraction.testimony.blocks import blocks
from palimpsest.extraction.testimony.turns import turns
from palimpsest.memory.times import moment_of
from palimpsest.privacy.wishes import wish_of


def test_a_picture_after_a_name_is_no_part_of_the_name() -> None:
    talk = "Dina \N{CHERRY BLOSSOM}: I teach yoga\nMax: no way"
    assert [turn.name for turn in turns(talk)] == ["Dina", "Max"]


def test_a_role_in_angle_brackets_is_a_role() -> None:
    assert list(blocks("<speaker 1> I have two dogs.", user=None))


@pytest.mark.parametrize(
    "said",
    ["Das bleibt zwischen dir und mir: Ich gehe.", "This stays strictly between you and me."],
)
def test_what_stays_between_two_is_off_the_record(said: str) -> None:
    assert wish_of(said).is_off_record


@pytest.mark.parametrize(
    "said", ["Am 2. Mai habe ich die Miete überwiesen.", "On 2 May I paid the rent."]
)
def test_a_day_of_the_past_without_a_year_is_the_last_one(said: str) -> None:
    moment = moment_of(said, at=date(2026, 5, 12))
    assert moment is not None
    assert moment.first == date(2026, 5, 2)
