"""When something happens or is due, in four languages, seen from the day on which it was said."""

from datetime import date

import pytest
from palimpsest.memory.times import lasts_until, moment_of, tense_of

WEDNESDAY = date(2026, 3, 4)


def days(text: str) -> tuple[str, str] | None:
    moment = moment_of(text, at=WEDNESDAY)
    return (moment.first.isoformat(), moment.last.isoformat()) if moment else None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I'm moving to Bremen on 1 October.", "2026-10-01"),
        ("The deadline is October 1st.", "2026-10-01"),
        ("My exam is on Friday.", "2026-03-06"),
        ("Tomorrow I fly to Oslo.", "2026-03-05"),
        ("I've got an interview this Thursday.", "2026-03-05"),
        ("The appointment was moved to Thursday.", "2026-03-05"),
        ("Bis Ende des Monats muss ich die Steuer zahlen.", "2026-03-31"),
        ("I have to finish by the end of the week.", "2026-03-08"),
        ("Nous partons ce week-end.", "2026-03-07"),
        ("I booked a flight for 3 June.", "2026-06-03"),
        ("My passport expires on 3 May 2027.", "2027-05-03"),
        ("See you on Friday, 12 June.", "2026-06-12"),
        ("The wedding is on Saturday 15 August, and I said I'd do the seating.", "2026-08-15"),
        ("We met in Kiel on Tuesday, 5 August.", "2025-08-05"),
        ("Die Feier ist am Samstag, den 15. August, sagte sie.", "2026-08-15"),
        ("Ich ziehe am 1. Oktober nach Bremen.", "2026-10-01"),
        ("Der Termin ist am 12.05.", "2026-05-12"),
        ("Am Freitag treffe ich Bob.", "2026-03-06"),
        ("Ich muss übermorgen zum Zahnarzt.", "2026-03-06"),
        ("Je déménage le 1er octobre à Lyon.", "2026-10-01"),
        ("J'ai un rendez-vous vendredi.", "2026-03-06"),
        ("Me mudo a Lugo el 1 de octubre.", "2026-10-01"),
        ("Mi cita es pasado mañana.", "2026-03-06"),
    ],
)
def test_what_is_to_come_is_on_the_next_such_day(text: str, day: str) -> None:
    assert days(text) == (day, day)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I moved to Bremen on 1 October.", "2025-10-01"),
        ("I met Bob on Friday.", "2026-02-27"),
        ("I met him on Wednesday.", "2026-02-25"),
        ("I finished my thesis yesterday.", "2026-03-03"),
        ("We got married on June 5, 2019.", "2019-06-05"),
        ("Ich bin am 1. Oktober nach Bremen gezogen.", "2025-10-01"),
        ("Am Freitag habe ich Bob getroffen.", "2026-02-27"),
        ("J'ai déménagé à Lyon le 1er octobre.", "2025-10-01"),
        ("J'ai rencontré Paul vendredi.", "2026-02-27"),
        ("Me mudé a Lugo el 1 de octubre.", "2025-10-01"),
        ("El viernes conocí a Ana.", "2026-02-27"),
    ],
)
def test_what_has_happened_was_on_the_last_such_day(text: str, day: str) -> None:
    assert days(text) == (day, day)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Wir fliegen nächste Woche nach Rom.", "2026-03-09", "2026-03-15"),
        ("I'm moving to Bremen next month.", "2026-04-01", "2026-04-30"),
        ("I'll start at Google in May.", "2026-05-01", "2026-05-31"),
        ("I started at Google in May.", "2025-05-01", "2025-05-31"),
        ("La semana que viene empiezo en Zara.", "2026-03-09", "2026-03-15"),
        ("Me caso en junio.", "2026-06-01", "2026-06-30"),
    ],
)
def test_a_week_and_a_month_have_a_first_and_a_last_day(text: str, first: str, last: str) -> None:
    assert days(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "I need to send the report by Friday.",
        "Ich muss den Bericht bis Freitag abgeben.",
        "Je dois rendre le rapport d'ici vendredi.",
        "Tengo que entregar el informe para el viernes.",
    ],
)
def test_what_must_be_done_by_a_day_is_due_then(text: str) -> None:
    moment = moment_of(text, at=WEDNESDAY)
    assert moment is not None
    assert (moment.last, moment.is_limit) == (date(2026, 3, 6), True)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Kiel.",
        "I play football every Friday.",
        "On Fridays I play football.",
        "Je vais au yoga le vendredi.",
        "Los viernes juego al fútbol.",
        "I've lived in Kiel since 3 May 2020.",
        "My contract runs until 31 December.",
        "I'm on holiday until Friday.",
        "I may go to Rome.",
        "Version 1.2.3 is out.",
        "I have 2 cats and 3 dogs.",
        "The 31 February is no day.",
    ],
)
def test_what_comes_again_or_lasts_has_no_moment(text: str) -> None:
    assert days(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Idris can't have sesame, he broke out in hives on Saturday, so they must stop.",
         "2026-02-28"),
        ("I'm flying to Rome on Friday because my aunt died.", "2026-03-06"),
        ("We should tell Anna, she was ill on Monday.", "2026-03-02"),
        ("Ich brauche Ruhe, ich war am Samstag im Krankenhaus.", "2026-02-28"),
    ],
)  # fmt: skip
def test_a_date_has_the_tense_of_its_clause(text: str, day: str) -> None:
    assert days(text) == (day, day)


@pytest.mark.parametrize(
    "text",
    [
        "My rate is 420 pounds a day, payment in 30 days.",
        "Mein Tagessatz ist 420 Euro, zahlbar in 30 Tagen.",
    ],
)
def test_a_term_is_no_event(text: str) -> None:
    assert days(text) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I'm on vacation until Sunday.", date(2026, 3, 8)),
        ("Ich bin bis Freitag krankgeschrieben.", date(2026, 3, 6)),
        ("Je suis en congé jusqu'au 15 mars.", date(2026, 3, 15)),
        ("Estoy de vacaciones hasta el domingo.", date(2026, 3, 8)),
        ("I have to hand in the essay until Friday.", None),
        ("I'm on vacation.", None),
    ],
)
def test_a_state_lasts_until_the_day_that_it_names(text: str, day: date | None) -> None:
    assert lasts_until(text, at=WEDNESDAY) == day


def test_a_german_plan_in_the_present_tense_has_its_month() -> None:
    assert tense_of("Wir fahren im Juli nach Griechenland.") == "planned"
    assert tense_of("Wir fahren jedes Jahr im Juli nach Griechenland.") == "none"
