"""What users say in plain words about what has changed: the new value is believed, and the old one
is not.
"""

from __future__ import annotations

import pytest

from tests.unit.memory.test_ends_and_corrections import current, told

CHANGES = [
    ("I use Vim.", "I switched from Vim to Zed.", "I use Zed."),
    ("I use Vim.", "I replaced Vim with Zed last week.", "I use Zed."),
    ("My boss is Karen.", "Karen was replaced by Tom.", "My boss is Tom."),
    ("My boss is Karen.", "Karen left; Tom is my manager now.", "Tom is my manager now."),
    ("I drive a Skoda Octavia.", "I traded the Skoda for a Volvo.", "Volvo"),
    ("I have a MacBook.", "I swapped my MacBook for an Acer.", "I have an Acer."),
    ("Ich nutze Vim.", "Ich bin von Vim auf Zed umgestiegen.", "Ich nutze Zed."),
    ("J'utilise Firefox.", "Je suis passé de Firefox à Chrome.", "J'utilise Chrome."),
    ("Uso Gmail.", "He cambiado Gmail por Proton.", "Uso Proton."),
    ("I work from home.", "I'm back in the office five days a week now.", "office"),
    ("I bank with Barclays.", "I closed my Barclays account and went to Monzo.", "Monzo"),
    ("I weigh 82 kilos.", "I'm down to 78 kilos.", "78"),
    ("I'm on the night shift.", "They put me on days from this week.", "days"),
    ("I eat meat.", "I became vegetarian in January.", "vegetarian"),
    ("I use Python 3.10 at work.", "We upgraded to Python 3.12 at work.", "Python 3.12"),
    ("My standup is at 9:30.", "Standup moved to 10.", "10"),
    ("My daughter is 5.", "My daughter just turned 6.", "6"),
    ("Our backend is written in Django.", "We rewrote the backend in FastAPI.", "FastAPI"),
    ("We live on the third floor.", "We moved down to the ground floor.", "ground floor"),
    ("I use Windows.", "I'm on Linux now.", "Linux"),
    ("My laptop is a Dell.", "The Dell died, I got a MacBook.", "MacBook"),
    ("My landlord is Frank.", "The house was sold, the new landlord is called Doris.", "Doris"),
    ("I study chemistry.", "I switched my major to physics.", "physics"),
    (
        "My phone is a Pixel 7.",
        "I dropped my Pixel and replaced it with an iPhone 15.",
        "iPhone 15",
    ),
]
ENDS = [
    ("I'm learning Italian.", "I dropped the Italian course."),
    ("I drive a Skoda Octavia.", "The Skoda went to the scrapyard last week."),
    ("I have braces.", "My braces came off today!"),
    ("I want to buy a house.", "We decided against buying a house."),
    ("I have an appointment with Dr. Klein on Thursday.", "Her office cancelled my appointment."),
    ("I'm in the middle of a divorce.", "The divorce is final."),
    ("I'm staying at my sister's.", "I've moved out of my sister's place."),
    ("I'm reading Dune.", "Finished Dune last night."),
    ("I need to finish the report by Friday.", "I finished the report."),
    ("I need to buy milk.", "I bought the milk."),
    ("I'm studying for the bar exam.", "I passed the bar exam!"),
    ("I'm working on the billing feature.", "The billing feature shipped."),
    ("I'm in Berlin this week.", "I'm back home from Berlin."),
    ("I wear glasses.", "I had laser surgery, no glasses needed any more."),
    ("I live alone.", "My boyfriend moved in with me."),
    ("I'm in the rowing club.", "I left the rowing club because my shoulder couldn't take it."),
    ("Ich habe ein Tagesgeldkonto bei der ING.", "Das Konto bei der ING ist aufgelöst."),
    ("Je suis bénévole à la banque alimentaire.", "J'ai arrêté le bénévolat."),
    ("Je vais au bureau avec mon scooter.", "Mon scooter, je l'ai revendu à un collègue."),
]
STAYS = [
    ("I use Vim.", "My brother switched from Vim to Zed."),
    ("I use Vim.", "I wouldn't switch from Vim to Zed."),
    ("My sister lives in Ghent.", "I moved from Ghent to Bruges."),
    ("I live in Berlin.", "I'm back home from Berlin Zoo."),
    ("I have to call the plumber.", "I paid the plumber."),
    ("I love Italian food.", "I dropped the Italian course."),
    ("I work from home.", "I'm in the office today."),
    ("I play tennis.", "If I left the tennis club, I could run."),
]


@pytest.mark.parametrize(("before", "now", "known"), CHANGES)
def test_the_new_value_replaces_the_old_one(before: str, now: str, known: str) -> None:
    believed = current(told(before, now))
    assert before not in believed
    assert any(known in content for content in believed)


@pytest.mark.parametrize(("before", "now"), ENDS)
def test_what_is_over_is_not_believed(before: str, now: str) -> None:
    assert before not in current(told(before, now))


@pytest.mark.parametrize(("before", "now"), STAYS)
def test_what_is_said_of_something_else_changes_nothing(before: str, now: str) -> None:
    assert before in current(told(before, now))
