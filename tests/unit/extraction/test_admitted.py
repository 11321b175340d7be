"""A correction that says that it is one replaces the known statement that is likest to it."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.admitted import admits, likeness, only_admits, without_announcement

from benchmarks.truth.form import Case
from benchmarks.truth.run import believed_in_process


def known_after(known: str, said: str) -> list[str]:
    """The current memories after these two messages of two days."""
    case = Case.model_validate(
        {
            "id": "admitted",
            "kind": "correction",
            "user": "sarah",
            "language": "en",
            "held_out": False,
            "sessions": [
                {"day": "2026-03-02", "messages": [{"role": "user", "content": known}]},
                {"day": "2026-03-03", "messages": [{"role": "user", "content": said}]},
            ],
            "checks": [{"known": ["-"]}],
        }
    )
    return [memory.content for memory in believed_in_process(case) if memory.is_current]


@pytest.mark.parametrize(
    ("known", "said", "right"),
    [
        ("The recipe needs three spoons of salt.", "I misread that. {}", "spoons of sugar"),
        ("I bought the tent at Decathlon.", "I got that wrong yesterday. {}", "at Intersport"),
        (
            "Ich habe das Zelt bei Decathlon gekauft.",
            "Da habe ich was verwechselt. {}",
            "Intersport",
        ),
        ("J'ai acheté la tente chez Decathlon.", "Je me suis trompée. {}", "Intersport"),
    ],
)
def test_an_admitted_correction_replaces_what_it_is_like(known: str, said: str, right: str) -> None:
    better = known.replace("spoons of salt", right).replace("at Decathlon", right)
    better = better.replace("Decathlon", right)
    assert known_after(known, said.format(better)) == [better]


@pytest.mark.parametrize(
    ("known", "said", "better"),
    [
        (
            "My locker number is 318.",
            "Typo from me the other day, my locker number is 381.",
            "My locker number is 381.",
        ),
        (
            "I'm allergic to walnuts.",
            "I wrote the wrong nut before, I'm allergic to hazelnuts.",
            "I'm allergic to hazelnuts.",
        ),
        (
            "Mein Sohn Jonas geht in die Klasse 3b.",
            "Das war ein Tippfehler, Jonas geht in die Klasse 4b.",
            "Jonas geht in die Klasse 4b.",
        ),
    ],
)
def test_the_words_before_a_comma_may_only_admit_a_mistake(
    known: str, said: str, better: str
) -> None:
    assert known_after(known, said) == [better]


@pytest.mark.parametrize(
    "said",
    [
        "That was wrong of my boss. I work at a bakery on Mondays.",
        "I bought the second tent at Intersport and a stove at Globetrotter.",
    ],
)
def test_what_is_like_nothing_known_or_admits_nothing_replaces_nothing(said: str) -> None:
    known = "I bought the tent at Decathlon."
    assert known in known_after(known, said)


def test_words_that_only_admit_a_mistake_are_no_part_of_the_statement() -> None:
    said = "Correction to what I told you: I start on Monday."
    assert without_announcement(said) == "I start on Monday."
    assert without_announcement("I'd like this: I start on Monday.").startswith("I'd like")
    assert only_admits("My mistake, sorry.")
    assert not only_admits("My mistake cost us 40 euros.")
    assert not admits("We forget nothing here.")


def test_statements_are_alike_by_their_words_if_a_value_of_one_form_differs() -> None:
    known = "The recipe needs three spoons of salt."
    assert likeness("The recipe needs three spoons of sugar.", known) > 0
    assert likeness(known, known) == 0
    assert likeness("We drive to Ghent on Monday.", known) == 0
