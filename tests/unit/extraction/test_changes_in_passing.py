"""Changes as users mention them in passing, often without a subject and beside a request. The old
statement ends, and what else was said stays.
"""

from __future__ import annotations

import pytest

from tests.unit.memory.test_ends_and_corrections import current, told

ENDS = [
    ("I work at Tesco head office as an analyst, mostly SQL.", "not at Tesco anymore since May"),
    ("I drive a 2012 Ford Focus and the engine light is on.", "gave up on the Focus in the end"),
    ("I go to PureGym three times a week.", "cancelled my PureGym membership, too expensive."),
    ("I take lisinopril 10mg every morning.", "doctor took me off lisinopril because of a cough."),
    ("I take sertraline 50 mg.", "I've been off sertraline completely since Thursday."),
    ("We use MongoDB for bookings.", "Mongo is out."),
    ("I use Sublime Text.", "Sublime is uninstalled."),
    ("Our CI runs on Jenkins.", "the last Jenkins job was shut off today."),
    ("I drink two coffees before noon.", "I don't touch coffee any more."),
    ("We're flying to Lisbon in October.", "we're not going to Lisbon after all."),
    ("We have a dog called Biscuit.", "we had to put Biscuit down in the end."),
    ("My girlfriend Jess and I want a puppy.", "Jess and I broke up on Sunday."),
    ("I need to file my tax return.", "Tax return is submitted, phew!"),
    ("I have to renew my passport.", "New passport arrived in the post this morning."),
    ("We use React.", "Threw out React."),
    ("We use React.", "the React experiment failed."),
    ("Wir nehmen Redis als Warteschlange.", "Redis fliegt raus."),
    ("Ich arbeite bei der Sparkasse.", "Bei der Sparkasse habe ich aufgehört."),
    ("ich fahr einen Golf 7 Diesel", "Den Golf haben wir verkauft."),
    ("Wir fahren im August nach Kroatien.", "doch nicht Kroatien."),
    ("Ich habe Netflix.", "Netflix gekündigt."),
    ("Ich muss den Keller ausräumen.", "Keller ist leer!"),
    ("Ich mache Yoga.", "Yoga lasse ich sein."),
    ("Ich bin seit drei Jahren mit Lukas zusammen.", "Lukas und ich haben uns getrennt."),
    ("Je travaille chez Orange.", "j'ai quitté Orange fin mai."),
    ("Je fais du yoga le mercredi.", "Le yoga, j'ai laissé tomber."),
    ("Je dois rendre le dossier CAF.", "Dossier CAF envoyé."),
    ("J'ai une Clio.", "vendue la Clio !"),
    ("Uso Windows.", "Windows lo he borrado del todo."),
    ("Tomo ibuprofeno cada día.", "La médica me quitó el ibuprofeno por el estómago."),
    ("Tengo que pasar la ITV.", "Pasada la ITV a la primera."),
]

NEW_VALUES = [
    ("I live in Leeds.", "What should I sort out first now that I'm living in Bristol?", "Bristol"),
    ("I live in Leeds.", "we've moved over to Bristol", "Bristol"),
    ("I'm on the payments team.", "I switched over to the search team on Monday.", "search"),
    ("I'm a junior analyst.", "Got promoted yesterday, I'm a team lead now!", "team lead"),
    ("My boss is Priya.", "Tom, he's who I report to since the reorg.", "Tom"),
    ("I get up at 5:30.", "my alarm goes off at 7:00 now", "7:00"),
    ("I usually go to bed at 1 am.", "I'm asleep by 10:30 every night now.", "10:30"),
    ("I cycle to work.", "I take the train in every day since the bike was stolen.", "train"),
    ("My phone is a Pixel 7.", "switched over to an iPhone 15 last night", "iPhone 15"),
    ("My GP is Dr Patel.", "I'm registered with Dr Owens now.", "Owens"),
    ("My sister lives in Lisbon.", "My sister has moved to Madrid for her job.", "Madrid"),
    ("My brother works at Siemens.", "My brother left for Bosch.", "Bosch"),
    ("I take 50 mg sertraline.", "They put my dose up to 100 mg.", "100 mg"),
    ("Ich wohne in Kassel.", "sind jetzt übrigens nach Leipzig gezogen", "Leipzig"),
    ("Ich wohne in Köln.", "seit Samstag bin ich in Freiburg zu Hause.", "Freiburg"),
    (
        "Mein Bruder wohnt in Hamburg.",
        "Mein Bruder ist der Liebe wegen nach Leipzig gezogen.",
        "Leipzig",
    ),
    ("J'habite à Nantes.", "On est installés à Grenoble depuis mardi.", "Grenoble"),
    ("Vivo en Sevilla.", "ya nos mudamos a Málaga", "Málaga"),
]

MOVED = [
    (
        "I've got the dentist on 4 March at 9 and a flight to Oslo on 6 March.",
        "the dentist is on 11 March now",
        "I've got the dentist on 11 March at 9 and a flight to Oslo on 6 March.",
    ),
    (
        "J'ai rendez-vous le 8 avril pour l'échographie.",
        "La clinique a décalé l'échographie au 22 avril.",
        "J'ai rendez-vous le 22 avril pour l'échographie.",
    ),
    (
        "Mein Zahnarzttermin ist am 3. Juni.",
        "der Zahnarzt hat den Termin auf den 10. Juni verschoben",
        "Mein Zahnarzttermin ist am 10. Juni.",
    ),
    (
        "Am 12. April hab ich Zahnarzt, um 9 Uhr.",
        "die Praxis hat verschoben, der Termin ist jetzt am 26. April.",
        "Am 26. April hab ich Zahnarzt, um 9 Uhr.",
    ),
    (
        "mi cita con el dentista es el 3 de junio",
        "me han movido la cita del dentista al 10 de junio",
        "mi cita con el dentista es el 10 de junio",
    ),
]

STAY = [
    ("Ich arbeite bei Bosch.", "Mein Kollege hat bei Bosch gekündigt."),
    ("Vivo en Valencia con mi hermana.", "Ya no trabajo en Valencia."),
    ("Je fume un paquet par jour.", "mon père a arrêté de fumer"),
    ("I'm dating a guy called Owen.", "Owen and I are over at his mum's tonight."),
    ("I'm allergic to fin fish.", "I don't eat fish anymore."),
    (
        "I'm looking for a laptop.",
        "I dropped off my laptop last Wednesday because of the rattling.",
    ),
    ("Der Termin beim Steuerberater ist am 8. April.", "Der Termin beim Friseur ist am 15. April."),
    ("My dentist appointment is on Wednesday at 9.", "My haircut is on Thursday."),
    ("J'aime le vin.", "plus de vin, s'il vous plaît"),
]

HALVES = [
    ("We use MongoDB, backend is in Go.", "Mongo is out.", "Backend is in Go."),
    ("We use Redis, the frontend is in React.", "React is gone.", "We use Redis."),
    ("Tengo la cuenta en el Santander y soy autónoma.", "He cerrado lo del Santander.", "autónoma"),
]


@pytest.mark.parametrize(("before", "end"), ENDS)
def test_what_is_said_in_passing_ends_a_statement(before: str, end: str) -> None:
    assert any(before[:-1] in content for content in current(told(before)))
    assert not any(before[:-1] in content for content in current(told(before, end)))


@pytest.mark.parametrize(("before", "now", "value"), NEW_VALUES)
def test_a_new_value_in_passing_takes_the_place_of_the_old_one(
    before: str, now: str, value: str
) -> None:
    believed = current(told(before, now))
    assert before not in believed
    assert any(value in content for content in believed)


@pytest.mark.parametrize(("before", "moves", "after"), MOVED)
def test_one_day_of_a_statement_is_moved(before: str, moves: str, after: str) -> None:
    assert current(told(before, moves)) == {after}


@pytest.mark.parametrize(("before", "other"), STAY)
def test_what_is_about_something_else_ends_nothing(before: str, other: str) -> None:
    assert before in current(told(before, other))


@pytest.mark.parametrize(("before", "end", "left"), HALVES)
def test_the_clause_that_does_not_end_stays(before: str, end: str, left: str) -> None:
    believed = current(told(before, end))
    assert before not in believed
    assert any(left in content for content in believed)


def test_a_name_beside_the_speaker_is_not_one_of_several_things() -> None:
    believed = current(told("My girlfriend Jess and I want a puppy.", "Jess and I broke up."))
    assert not any("girlfriend I" in content for content in believed)


def test_what_two_verbs_say_is_no_list_of_things() -> None:
    assert current(told("Ich esse vegetarisch und vertrage keine Laktose.")) == {
        "Ich esse vegetarisch und vertrage keine Laktose."
    }


@pytest.mark.parametrize(
    ("elided", "whole"),
    [
        ("switched over to a Pixel 9.", "I switched over to a Pixel 9."),
        ("dropped Netflix after the price hike.", "I dropped Netflix after the price hike."),
        ("bin Entwickler bei Bosch.", "Ich bin Entwickler bei Bosch."),
        ("sind jetzt nach Leipzig gezogen.", "Wir sind jetzt nach Leipzig gezogen."),
    ],
)
def test_a_statement_gets_the_subject_that_it_leaves_out(elided: str, whole: str) -> None:
    assert current(told(elided)) == {whole}
    assert current(told(f"{elided.rstrip('.')}, how do I begin?")) == {whole.rstrip(".")}
