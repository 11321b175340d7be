"""A new value replaces an old one only where the result is what the user would say."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.corrections import corrected, correction_of
from palimpsest.memory.meaning.frames import contrasted, contrasts_of, move_of, moved


def changed(new: str, known: str) -> str | None:
    """Return the known statement after the new one has corrected it, given it a value or moved it."""
    correction = correction_of(new)
    results = [corrected(known, correction)] if correction else []
    results += [contrasted(known, contrast) for contrast in contrasts_of(new)]
    move = move_of(new)
    results += [moved(known, move)] if move else []
    return next((result for result in results if result is not None), None)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        (
            "no, the house is mine, mortgage finished in 2022.",
            "I do about 25,000 steps in a night shift, so I'm not unfit, but flat corridors.",
        ),
        (
            "My mum's prayer group is on it, 30 women in Ibadan, so the NHS has no chance.",
            "My mum is a retired headmistress, 67, hard to please, and hates flowers.",
        ),
        ("One more, sorry.", "There's Pure Gym in town, but I get intimidated."),
        ("Not flat white!", "I'd rather ask around than put up the flat white."),
        ("Welcome to Wales.)", "My colleague Gwyn says never, go to your bank."),
        ("It's Ewan!!", "Date: 6th of June or 13th."),
        ("So mum gives us ten thousand, not more.", "I thought we were saving more than that!"),
        ("Six weeks no driving now.", "We give about 45 bags a week."),
        ("The committee decides on Wednesday, December 17 now.", "The committee met on Friday."),
        ("We have five now.", "We'd like to buy a flat this year (2025)."),
    ],
)
def test_a_value_of_something_else_leaves_a_statement_as_it_is(new: str, known: str) -> None:
    assert changed(new, known) is None


@pytest.mark.parametrize(
    ("new", "known", "expected"),
    [
        ("its 6 people actually not 4", "the booking is for 4 people", "the booking is for 6 people"),
        ("I meant Bremen.", "I live in Kiel.", "I live in Bremen."),
        ("Actually no, Thursday is fine.", "The report is for Tuesday.", "The report is for Thursday."),
        ("Nicht bei Bayer, sondern bei Merck.", "Ich arbeite bei Bayer.", "Ich arbeite bei Merck."),
        ("The standup is at 9:45 now.", "Our standup is at 9:30.", "Our standup is at 9:45."),
        ("my rent is $465 instead of 420", "My rent is $420.", "My rent is $465."),
        ("We live in Bonn, not Bremen", "Bremen is where we live.", "Bonn is where we live."),
        ("Nicht bei Bayer, sondern bei Merck.", "Meine Firma ist Bayer.", "Meine Firma ist Merck."),
    ],
)  # fmt: skip
def test_a_value_of_the_same_thing_replaces_the_old_one(
    new: str, known: str, expected: str
) -> None:
    assert changed(new, known) == expected
