"""What sounds like a correction or an end in ordinary talk changes nothing that is still so."""

from __future__ import annotations

import pytest

from benchmarks.truth.form import Case
from benchmarks.truth.run import believed_in_process


def known_after(*said: str | tuple[str, str]) -> list[str]:
    """The current memories after these messages, each a user's or (role, text)."""
    each = [one if isinstance(one, tuple) else ("user", one) for one in said]
    messages = [{"role": role, "content": text} for role, text in each]
    case = Case.model_validate(
        {
            "id": "talk",
            "kind": "talk",
            "user": "sarah",
            "language": "en",
            "held_out": False,
            "sessions": [
                {"day": "2026-03-02", "messages": messages[:1]},
                {"day": "2026-03-03", "messages": messages[1:]},
            ],
            "checks": [{"known": ["-"]}],
        }
    )
    return [memory.content for memory in believed_in_process(case) if memory.is_current]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I bought a second padel racket because of this job.", "Sunday, no padel."),
        ("I'd rather ask around than put up the flat white.", "Prices, then. Not flat white!"),
        ("I have two kids, 6 and 9.", "What's in Lille? I mean for swimming."),
        (
            "Our kitchen has one dishwasher and a fish man, so I cook and swear.",
            "We salt it for forty minutes, not one more.",
        ),
        ("I train with 20 single raises without pain.", "My heel was quiet on the bike, no pain."),
        (
            "In October I sent Sandy in Leeds an invoice for a hedgehog book.",
            "I've moved all the books into FreeAgent at the weekend.",
        ),
        (
            "I get overwhelmed if they're longer than about eight points.",
            "A plan, please, no more than eight points.",
        ),
        ("I have two bikes.", "We sold one! Four students came."),
        ("I leave tomorrow.", "Back at work: three church halls want a tuning."),
        ("We give about 45 bags a week.", "Six weeks no driving for Derek now."),
        ("I have one sister.", "I mean I never told you."),
        ("Neil is 66 and I nearly cried.", "Also Neil's gone now, his farewell was on Friday."),
        ("My accountant Neil wants everything by Friday.", "Also Neil's gone now."),
        ("I'm wearing the bakery clogs then.", "I quit the bakery."),
        ("I'm wrecked after Lisburn, it is a long day.", "I'm done with Lisburn."),
        ("I'm sick of campsites in the heat.", "Back at work: three church halls want a tuning."),
        ("I said I'd ask the neighbours.", "I'm not asking."),
        ("I smoke about ten a day.", "Day 40 in the new office btw."),
        (
            "We paid the conductor $9,200, insurance $420, scores $900.",
            "Insurance: the renewal is $465 instead of 420.",
        ),
        (
            "So a demo by then, three nights of play, 15 minutes.",
            "Median length 19 minutes though and not 15.",
        ),
        ("I normally take £320 a day.", "From 6 April I want my day rate to be £350."),
        ("I'm alive and so is the cat.", '8B now starts chemistry: "particles".'),
        ("My notes are on a server in Bonn, one of two.", "We sold one!"),
        ("We live in Cardiff.", "The new place is 2.1 km from his school."),
    ],
)
def test_what_is_still_so_stays_known(known: str, said: str) -> None:
    assert any(one.startswith(known.rstrip(".")) for one in known_after(known, said))


def test_a_number_after_an_answer_is_a_reply_and_no_correction() -> None:
    known, answer = (
        "We're four, one is five and one's nine.",
        ("assistant", "It cost 1,138 pounds."),
    )
    assert known in known_after(known, answer, "1,138!! What does she find under there?")


@pytest.mark.parametrize("said", ["No, nine!", "Sorry, nine."])
def test_a_number_that_corrects_still_does(said: str) -> None:
    found = known_after("My niece turns eight on Saturday.", said)
    assert [one.casefold() for one in found] == ["my niece turns nine on saturday."], found


def test_what_stands_in_another_clause_of_a_long_statement_keeps_its_value() -> None:
    long = "I've got Almere 189, Zwolle 79, club 38 x 4 (nov-feb), helmet 149, new running shoes."
    said = "I should land less on the forefoot, and get new shoes with 10 mm drop instead of 4."
    assert long in known_after(long, said)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I have a gym membership.", "The gym is over."),
        ("I play padel on Fridays.", "Padel is over."),
        ("I do tennis training twice a week.", "I quit tennis."),
        ("I'm on a keto diet.", "I quit keto, too hard."),
        ("I'm on citalopram tablets.", "I stopped taking citalopram."),
        ("We have a caravan parked in Whitby.", "The caravan is gone."),
        ("My insurance is $420.", "My insurance is $465 instead of 420."),
    ],
)
def test_what_is_about_the_ended_thing_ends_with_it(known: str, said: str) -> None:
    assert known not in known_after(known, said)


def test_a_repetition_that_says_less_hides_nothing() -> None:
    said = "I'm 24 and never learned to swim."
    assert known_after(said, "And I'm 24.") == [said]
    assert known_after(said, "I'm 25.") != [said]
