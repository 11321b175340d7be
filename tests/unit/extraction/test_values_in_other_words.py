"""A value that is told again in other words takes the place of the old one, in four languages."""

from __future__ import annotations

import pytest
from palimpsest.memory.meaning.reading import without_present

from tests.unit.memory.test_ends_and_corrections import current, told

OF_THE_PRESENT = [
    ("I get up at 6 every day.", "I get up at 7 now."),
    ("Ich mag kein Sushi.", "Ich mag jetzt Sushi."),
    ("Ich mag kein Sushi.", "Jetzt mag ich Sushi."),
    ("Je n'aime pas les sushis.", "J'aime les sushis maintenant."),
    ("Antworte mir auf Englisch.", "Antworte ab jetzt auf Deutsch."),
    ("Réponds en français.", "Désormais, réponds en espagnol."),
    ("Respóndeme en inglés.", "A partir de ahora respóndeme en español."),
    ("Je déteste les champignons.", "Désormais j'aime les champignons."),
    ("Sprich Englisch mit mir.", "In Zukunft bitte Deutsch mit mir sprechen."),
]
AGES = [
    ("My mom is 60.", "My mom turned 61 today."),
    ("My dad is 70 years old.", "My dad just turned 71."),
    ("My cat is 7.", "My cat turned 8 in May."),
    ("Meine Mutter ist 60.", "Meine Mutter ist heute 61 geworden."),
    ("Ich bin 29 Jahre alt.", "Ich bin gestern 30 geworden."),
    ("Ma mère a 60 ans.", "Ma mère a eu 61 ans aujourd'hui."),
    ("Mi madre tiene 60 años.", "Mi madre cumplió 61 hoy."),
    ("Tengo 29 años.", "Ayer cumplí 30."),
]
MAKES = [
    ("I have a Samsung phone.", "I switched to an iPhone."),
    ("I have a Samsung phone.", "I have an iPhone now."),
    ("I have an Android phone.", "I switched to iPhone."),
    ("My internet provider is Vodafone.", "I changed to O2."),
    ("My mobile provider is T-Mobile.", "I moved over to Verizon."),
    ("Mein Handyanbieter ist O2.", "Ich bin zu Vodafone gewechselt."),
    ("I bank with Barclays.", "I moved my account to Monzo."),
    ("J'utilise Windows.", "Je suis passé à Linux."),
    ("Uso Windows.", "Me he pasado a Linux."),
    ("I have a MacBook.", "I switched to a ThinkPad."),
    ("I drive a Ford.", "I have a new car, a Kia."),
    ("My car is a Golf.", "I bought a Tesla to replace the Golf."),
]
ANSWERS = [
    ("I prefer short answers.", "I prefer long answers."),
    ("Keep your answers short.", "Please give me long answers from now on."),
    ("I prefer formal answers.", "Keep your replies casual please."),
    ("Halte deine Antworten kurz.", "Ich möchte ab jetzt ausführliche Antworten."),
    ("Je préfère les réponses courtes.", "Je préfère les réponses longues."),
    ("Prefiero respuestas cortas.", "Prefiero respuestas largas."),
    ("Antworte mir auf Englisch.", "Ab jetzt bitte auf Deutsch antworten."),
]
DEPARTMENTS = [
    ("Ich arbeite in der Marketing-Abteilung.", "Ich bin jetzt im Vertriebsteam."),
    ("Je travaille au service marketing.", "Je suis maintenant dans l'équipe commerciale."),
]
OF_OTHERS = [
    ("I prefer short answers.", "I prefer formal answers."),
    ("Keep your answers short.", "Give me a long answer this time."),
    ("Keep your answers short.", "Give me detailed explanations of these three words."),
    ("Ich arbeite in der Marketing-Abteilung.", "Ich bin jetzt in der Laufgruppe."),
    ("I have a Samsung TV.", "I have an iPhone now."),
    ("I have a Samsung phone.", "I switched to Linux."),
    ("I have a Samsung phone.", "I also have an iPhone now."),
    ("My sister has a Samsung phone.", "I switched to an iPhone."),
    ("I live in Leeds.", "I moved to Vodafone."),
    ("My bank is Chase.", "I switched to decaf."),
    ("Ich mag Kaffee.", "Ich mag jetzt auch Tee."),
    ("Respóndeme en español.", "A partir de ahora usa tablas."),
    ("My daughter is 7.", "My daughter turned 8 pages of the book."),
    ("My mother is 62.", "My aunt turned 63 today."),
    ("I'm 30.", "My company turned 10 today."),
    ("Je me lève à 6 heures tous les jours.", "Je me suis levé à 9 heures aujourd'hui."),
]


@pytest.mark.parametrize(
    ("before", "now"), [*OF_THE_PRESENT, *AGES, *MAKES, *ANSWERS, *DEPARTMENTS]
)
def test_the_new_value_is_believed_and_the_old_one_is_not(before: str, now: str) -> None:
    believed = current(told(before, now))
    assert len(believed) == 1
    assert before not in believed


@pytest.mark.parametrize(("before", "now"), OF_OTHERS)
def test_what_is_said_of_something_else_changes_nothing(before: str, now: str) -> None:
    assert before in current(told(before, now))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("From now on, answer in German.", "Answer in German."),
        ("Ich mag jetzt Sushi.", "Ich mag Sushi."),
        ("I know Tom.", "I know Tom."),
        ("Now!", "Now!"),
    ],
)
def test_words_of_the_present_are_taken_off(text: str, left: str) -> None:
    assert without_present(text) == left


@pytest.mark.parametrize(
    ("said", "meant", "right"),
    [
        ("I play bass.", "Sorry, I meant drums.", "I play drums."),
        ("I play the bass.", "I meant the drums.", "I play the drums."),
        ("I live in Kent.", "That should be Essex.", "I live in Essex."),
        ("Je joue de la basse.", "Je voulais dire de la batterie.", "Je joue de la batterie."),
        ("Toco el bajo.", "Quería decir la batería.", "Toco la batería."),
    ],
)
def test_a_bare_value_corrects_the_only_value_before(said: str, meant: str, right: str) -> None:
    assert current(told(said, meant)) == {right}


@pytest.mark.parametrize(
    "meant", ["I meant no harm.", "That should be fun.", "I meant to ask you."]
)
def test_words_that_are_no_value_correct_nothing(meant: str) -> None:
    assert "I walk dogs." in current(told("I walk dogs.", meant))


def test_what_is_liked_in_two_wordings_is_one_memory() -> None:
    assert current(told("I love hiking.", "I really like to hike.")) == {"I love hiking."}
    assert len(current(told("I love hiking.", "I love jazz."))) == 2
