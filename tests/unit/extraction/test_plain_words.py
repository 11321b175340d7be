"""Changes, ends and corrections in the words that come to mind first, in four languages."""

from __future__ import annotations

import pytest

from tests.unit.extraction.test_other_speakers import said

MAIL = "From: Mike\nSubject: move\n\nHey, I moved to Denver last week.\n\nMike\n\n"


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ("I take 20 mg of citalopram.", "My doctor raised the citalopram to 40 mg.",
         "My doctor raised the citalopram to 40 mg."),
        ("Je prends 50 mg de sertraline.", "Mon médecin est passé à 100 mg de sertraline.",
         "Mon médecin est passé à 100 mg de sertraline."),
        ("I wake up at 6.", "I've been getting up at 7 lately.",
         "I've been getting up at 7 lately."),
        ("Ich stehe um 6 Uhr auf.", "Ich stehe jetzt um 7 auf.", "Ich stehe jetzt um 7 auf."),
        ("I have two sons.", "I have three sons now, baby Theo arrived on Sunday!",
         "I have three sons now, baby Theo arrived on Sunday!"),
        ("My daughter goes to Elm Primary.", "My daughter started at Oakfield High.",
         "My daughter started at Oakfield High."),
        ("Mon numéro est le 06 12 34 56 78.", "J'ai changé de numéro : 06 98 76 54 32.",
         "J'ai changé de numéro : 06 98 76 54 32."),
        ("Meine Nummer ist 0171 555123.", "Ich habe eine neue Nummer: 0171 999888.",
         "Ich habe eine neue Nummer: 0171 999888."),
        ("Mi cumpleaños es el 5 de mayo.", "Perdón, el 15 de mayo.",
         "Mi cumpleaños es el 15 de mayo."),
        ("Mon anniversaire est le 5 mai.", "Pardon, le 15 mai.", "Mon anniversaire est le 15 mai."),
        ("Wir haben 20 Gäste eingeladen.", "Stimmt nicht, es sind 25.",
         "Wir haben 25 Gäste eingeladen."),
        ("We're on Kubernetes 1.27 and Python 3.10.", "We upgraded to Python 3.12 yesterday.",
         "We're on Kubernetes 1.27 and Python 3.12."),
        ("Wir nutzen Python 3.10.", "Wir sind auf Python 3.12 umgestiegen.",
         "Wir nutzen Python 3.12."),
        ("Our main branch is called master.", "We renamed master to main.",
         "Our main branch is called main."),
        ("I work part-time.", "I work full-time again.", "I work full-time again."),
        ("Our stand-up is on Tuesday.",
         "They moved the stand-up to Thursday, can you redo my week plan?",
         "Our stand-up is on Thursday."),
        ("Soy alérgica a las almendras.", "Perdón, no a las almendras sino a las nueces.",
         "Soy alérgica a las nueces."),
        ("Ich arbeite Teilzeit.", "Ich arbeite wieder Vollzeit.", "Ich arbeite wieder Vollzeit."),
        ("I live in Leeds.", "We moved to the coast.", "We moved to the coast."),
        ("I live in Leeds.", "We moved into a small cottage in Devon.",
         "We moved into a small cottage in Devon."),
        ("Vivo en Madrid.", "Ya no vivo en Madrid, me mudé a Sevilla.",
         "Ya no vivo en Madrid, me mudé a Sevilla."),
    ],
)  # fmt: skip
def test_one_value_of_a_topic_is_current(before: str, after: str, known: str) -> None:
    assert said(before) == {before}
    assert said(before, after) == {known}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ich muss bis Freitag die Miete überweisen.", "Die Miete ist überwiesen."),
        ("I have to pay the rent by Friday.", "The rent is paid."),
        ("Je dois payer le loyer avant vendredi.", "Le loyer est payé."),
        ("Tengo que pagar el alquiler antes del viernes.", "El alquiler ya está pagado."),
        ("I'm studying law in Leiden.", "I dropped out of law school."),
        ("I smoke.", "I've been smoke-free since March."),
        (
            "I volunteer at the animal shelter.",
            "I don't have time for the animal shelter any more.",
        ),
        ("My dad is in hospital.", "Dad came home from hospital today."),
    ],
)
def test_what_is_over_is_not_known_any_more(before: str, after: str) -> None:
    assert said(before) == {before}
    assert said(before, after) == set()


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ("We have a dog and two cats.", "Our dog died.", "We have two cats."),
        ("Wir haben einen Hund und zwei Katzen.", "Unser Hund ist gestorben.",
         "Wir haben zwei Katzen."),
        ("J'ai un chien et deux chats.", "Mon chien est mort.", "J'ai deux chats."),
        ("Tenemos un perro y dos gatos.", "Nuestro perro murió.", "Tenemos dos gatos."),
    ],
)  # fmt: skip
def test_of_one_thing_and_several_others_the_others_stay(
    before: str, after: str, known: str
) -> None:
    assert said(before, after) == {known}


@pytest.mark.parametrize(
    "texts",
    [
        ("My birthday is 4 May.", "My birthday's on May 4th.", "I was born on 4 May.",
         "I have my birthday on the 4th of May."),
        ("I'm 34.", "I'm 34 years old.", "My age is 34.", "I turned 34 this year."),
        ("I have two kids.", "I've got two children.", "We have 2 kids."),
        ("My number is 0171 555 11.", "You can reach me at 0171 555 11.",
         "My phone number is 0171 555 11."),
        ("J'habite à Lyon.", "Lyon est ma ville."),
        ("Vivo en Bilbao.", "Bilbao es mi ciudad."),
    ],
)  # fmt: skip
def test_one_fact_in_several_wordings_is_one_memory(texts: tuple[str, ...]) -> None:
    assert len(said(*texts)) == 1


def test_a_deed_on_a_day_ends_the_preparation_and_is_known_itself() -> None:
    assert said(
        "I'm training for the Berlin marathon.", "I ran the Berlin marathon on Sunday!"
    ) == {"I ran the Berlin marathon on Sunday!"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Leeds.", "I moved to the window seat."),
        ("Ich arbeite bei Bosch.", "Meine Firma ist 10 Jahre alt geworden."),
        ("I get up at 6 on weekdays.", "I get up at 9 on weekends."),
        ("I take 20 mg of citalopram.", "My mum takes 40 mg of citalopram."),
        ("We're on Python 3.10.", "We upgraded to Postgres 16."),
        ("Trabajo en Indra.", "Voy al trabajo en metro."),
        ("My phone is a Pixel 7.", "My mum upgraded to a Pixel 9."),
        ("I own a sailing boat.", "I don't have time for the boat this week."),
        ("I work part-time.", "My wife works full-time."),
        ("My dad is in hospital.", "My mum came home from hospital today."),
        ("I have to pay the rent by Friday.", "The gas bill is paid."),
    ],
)
def test_what_is_about_something_else_changes_nothing(before: str, after: str) -> None:
    assert before in said(before, after)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Quiz question: I have four legs and I sleep all day. What am I?", set()),
        ('My sister Kate forwarded me this: "I got the job at Siemens!" So happy for her.', set()),
        ('Mein Chef schreibt: "Ich bin im Urlaub." Was soll ich antworten?', set()),
        (MAIL + "Can you write a nice reply? I live in Berlin now.", {"I live in Berlin now."}),
        ("Just between you and me I hate my boss.", set()),
        ("Write a diary entry for a lighthouse keeper. I live alone on the rock.", set()),
        ("Write a poem about the sea. I live in Brest.", {"I live in Brest."}),
        ('Mein Bruder meinte gestern: "Ich kündige."', set()),
        ('Mi compañera de piso me dijo: "Soy celíaca".', set()),
        ("I bank with Monzo and my PIN is 4411.", {"I bank with Monzo"}),
        ("Between us I hate my boss.", set()),
        ("Between us we have four kids.", {"Between us we have four kids."}),
    ],
)  # fmt: skip
def test_whose_words_these_are(text: str, known: set[str]) -> None:
    assert said(text) == known


def test_the_days_of_every_week_are_one_topic() -> None:
    assert said("My gym days are Monday and Thursday.", "My gym days are Tuesday and Friday.") == {
        "My gym days are Tuesday and Friday."
    }


def test_a_contrast_repeats_no_word_of_the_corrected_statement() -> None:
    assert said("My sister's birthday is 3 June.", "Sorry, 13 June, not 3.") == {
        "My sister's birthday is 13 June."
    }
