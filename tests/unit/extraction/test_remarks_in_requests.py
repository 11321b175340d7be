"""What users say of themselves in passing, in the midst of a request, is remembered."""

from __future__ import annotations

import pytest

from tests.unit.memory.test_ends_and_corrections import current, told


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ("I use openSUSE and package this for our distro, so mention that first:", "openSUSE"),
        ("ok might be something for me, i'm lactose intolerant too.", "lactose intolerant"),
        ("who is Greg?? I never said that, I'm single.", "I'm single"),
        ("coach got me on the bench bc im 5'7. gimme a workout", "5'7"),
        ("mach 8 beispiele, ich fahre jeden Tag mit dem Rad zur Arbeit", "Rad zur Arbeit"),
        ("Bonjour, je viens de déménager à Nantes et je suis intolérante au gluten.", "gluten"),
        ("on a une étoile Michelin donc faut que ça claque", "Michelin"),
        ("I own a small house in Nevada and I just love it.", "Nevada"),
        ("Work gave me a ThinkPad.", "ThinkPad"),
        ("The doctor put me on statins.", "statins"),
        ("El médico me recetó metformina.", "metformina"),
    ],
)
def test_a_remark_is_known(message: str, known: str) -> None:
    assert any(known in content for content in current(told(message)))


@pytest.mark.parametrize(
    "message",
    [
        "Can I bring my dog, or is that not allowed?",
        "Give me few-shot prompts such as: User: I collect stamps from Peru.",
        "I live on the moon, only joking!",
        "It made me laugh, thanks.",
    ],
)
def test_a_question_a_quotation_and_a_joke_are_no_remarks(message: str) -> None:
    assert current(told(message)) == set()


@pytest.mark.parametrize(
    ("before", "now", "known"),
    [
        ("I'm a nurse.", "I'm no longer a nurse, now I work in a pharmacy.", "pharmacy"),
        ("Soy enfermera.", "Ya no soy enfermera. Ahora trabajo en una farmacia.", "farmacia"),
        ("Je suis infirmière.", "Je ne suis plus infirmière, je vends du pain maintenant.", "pain"),
    ],
)
def test_what_takes_the_place_of_what_ended_is_kept(before: str, now: str, known: str) -> None:
    contents = current(told(before, now))
    assert any(known in content for content in contents)
    assert before not in contents


@pytest.mark.parametrize(
    ("before", "now", "after"),
    [
        ("I have a meeting on the 14th at 2.", "*15th", "I have a meeting on the 15th at 2."),
        ("ich arbeite für eine firma in Ulm", "*Köln", "ich arbeite für eine firma in Köln"),
        ("I retired in 1998.", "I misremembered. It was 2008.", "I retired in 2008."),
        ("tengo 34 años", "tengo 35 años", "tengo 35 años"),
    ],
)
def test_a_correction_replaces_the_value_of_its_own_kind(before: str, now: str, after: str) -> None:
    assert after in current(told(before, now))
    assert before not in current(told(before, now))


def test_a_version_at_the_end_of_a_sentence_is_no_day() -> None:
    assert current(told("The server runs Ubuntu 20.04.")) == {"The server runs Ubuntu 20.04."}
    assert current(told("Ich fliege am 20.04. nach Rom.")) == {"Ich fliege am 20.04. nach Rom."}
