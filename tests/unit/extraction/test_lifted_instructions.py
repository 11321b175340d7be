"""Standing instructions end when the user lifts them, and stay when the user speaks of something
else.
"""

from __future__ import annotations

import pytest

from tests.unit.extraction.test_other_speakers import said


@pytest.mark.parametrize(
    ("rule", "lifted"),
    [
        ("Always answer in bullet points.", "You don't need to use bullet points any more."),
        ("Always answer in bullet points.", "Drop the bullet points please, just write normally."),
        ("Always add a short summary at the end.", "I don't need the summary at the end any more."),
        ("Always end with a question.", "You don't have to end with a question every time."),
        ("Never use emojis.", "Emojis are fine now."),
        ("Stop using emojis.", "You can use emojis again."),
        ("Benutze nie Emojis.", "Emojis sind jetzt wieder okay."),
        ("N'utilise jamais de tableaux.", "Les tableaux sont autorisés maintenant."),
        ("Nunca uses emojis.", "Puedes usar emojis otra vez."),
    ],
)
def test_a_lifted_instruction_ends(rule: str, lifted: str) -> None:
    assert said(rule) == {rule}
    assert said(rule, lifted) == set()


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("Always answer in bullet points.", "Stop using bullet points."),
        ("Always answer in bullet points.", "No more bullet points please."),
        ("Always greet me with my name.", "Don't greet me with my name any more."),
        ("Stop using emojis.", "Always use emojis."),
        ("Antworte immer in Stichpunkten.", "Bitte keine Stichpunkte mehr."),
        ("Réponds toujours en vers.", "Arrête de répondre en vers."),
        ("From now on keep answers under 100 words.", "Answers can be longer again."),
    ],
)
def test_an_instruction_to_do_the_opposite_takes_the_place_of_the_first(
    rule: str, other: str
) -> None:
    assert said(rule, other) == {other}


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("Always answer in bullet points.", "I stopped using Slack."),
        ("Always answer in bullet points.", "Stop the timer please."),
        ("Always use emojis.", "Emojis are fine now."),
        ("Never use emojis.", "Stop using tables."),
        ("Never use emojis.", "Tables are fine now."),
        ("Benutze nie Emojis.", "Du brauchst Urlaub."),
    ],
)
def test_other_words_lift_nothing(rule: str, other: str) -> None:
    assert rule in said(rule, other)


@pytest.mark.parametrize(
    "rule",
    [
        "Don't use emojis.",
        "Schreib bitte immer in ganzen Sätzen.",
        "Utilise toujours le système métrique.",
        "No uses viñetas.",
    ],
)
def test_orders_that_hold_for_every_answer_are_known(rule: str) -> None:
    assert said(rule) == {rule}
