"""Sentences about the user's life without a word of the first person."""

import pytest
from palimpsest.offline.implied import implies_the_user
from palimpsest.offline.people import people_named, subject_of

ABOUT_THE_USER = [
    "wife's a nurse",
    "husband works nights at the Royal Infirmary",
    "Also the kids go to St Mary's.",
    "the dog is called Pip",
    "dog's a whippet",
    "mum and dad live in Cork",
    "landlord's name is Obi",
    "work is in Sheffield, home is Rotherham",
    "the office is closed on Fridays",
    "vegetarian btw",
    "no dairy please, lactose intolerant",
    "colour blind so don't use red and green",
    "retired plumber here, bad back",
    "coffee gives me headaches",
    "it takes me 40 minutes to get to work",
    "no meat for me",
    "die Kinder gehen auf die Waldorfschule",
    "der Hund heißt Pip",
    "Papa hat Diabetes",
    "keine Milch bitte, laktoseintolerant",
    "das Büro ist freitags zu",
    "les enfants vont à l'école Pasteur",
    "le chien s'appelle Pip",
    "végétarienne au fait",
    "le bus me dépose devant le bureau",
    "los niños van al colegio San José",
    "el perro se llama Pip",
    "vegetariana por cierto",
    "la oficina cierra los viernes",
]
ABOUT_NOBODY = [
    "Kids in those households are healthier.",
    "Kids are expensive.",
    "The dog is a mammal.",
    "Dad jokes and puns.",
    "Vegan lasagne with spinach.",
    "Vegan, quick and cheap.",
    "The office was built in 1990.",
    "Home is where the heart is.",
    "That makes me think.",
    "Translate this for me.",
    "Sign here, then there.",
    "Der Hund gilt als Freund des Menschen.",
    "Kinder wie diese lernen schnell.",
    "Le chien de berger vit longtemps.",
    "El perro ladra.",
]


@pytest.mark.parametrize("sentence", ABOUT_THE_USER)
def test_a_sentence_about_the_speakers_people_home_or_body_implies_the_user(sentence: str) -> None:
    assert implies_the_user(sentence)


@pytest.mark.parametrize("sentence", ABOUT_NOBODY)
def test_a_sentence_about_things_in_general_implies_nobody(sentence: str) -> None:
    assert not implies_the_user(sentence)


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("wife's a nurse", "wife"),
        ("The kids go to St Mary's.", "kids"),
        ("Papa hat Diabetes", "papa"),
        ("le chien s'appelle Pip", "chien"),
        ("mamá vive en Cádiz", "mamá"),
        ("the boss of Acme was fired", "user"),
        ("According to my wife I talk too much.", "wife"),
        ("Laut meiner Frau schnarche ich.", "frau"),
        ("Selon ma femme, je ronfle.", "femme"),
        ("Según mi mujer, ronco.", "mujer"),
    ],
)
def test_a_relative_without_my_is_the_subject(sentence: str, subject: str) -> None:
    assert subject_of(sentence) == subject


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("My son Tom is six.", {"Tom"}),
        ("My girlfriend is called Ines and our dog's named Pip.", {"Ines", "Pip"}),
        ("Mon fils s'appelle Gaspard.", {"Gaspard"}),
        ("Meine Tochter Lea ist acht.", {"Lea"}),
        ("My son likes Tom.", set()),
        ("Tom is six.", set()),
    ],
)
def test_names_of_the_users_people_are_read(sentence: str, names: set[str]) -> None:
    assert people_named(sentence) == names
