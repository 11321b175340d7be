import pytest
from palimpsest.memory.meaning.corrections import begins_as_correction, corrected, correction_of
from palimpsest.memory.meaning.frames import (
    contrasted,
    contrasts_of,
    differ_in_value,
    may_move,
    move_of,
    moved,
)
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.offline.subjects import with_subject


def result(content: str, said: str) -> str | None:
    move = move_of(said) if may_move(said) else None
    return None if move is None else moved(content, move)


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("Our standup is at 9:30.", "The standup moved to 10:00", "Our standup is at 10:00."),
        ("My rent is 800 euros", "rent went up to 850", "My rent is 850 euros"),
        ("I go to yoga on Mondays", "I go to yoga on Thursdays now", "I go to yoga on Thursdays"),
        (
            "Der Termin beim Arzt ist am 8. April.",
            "Der Termin beim Arzt wurde auf den 15. April verschoben",
            "Der Termin beim Arzt ist am 15. April.",
        ),
        (
            "Notre réunion est le mardi 14 avril.",
            "La réunion est reportée au jeudi 16 avril",
            "Notre réunion est le jeudi 16 avril.",
        ),
        ("Mi vuelo sale a las 9:40.", "me cambiaron el vuelo, ahora sale a las 11:15", "Mi vuelo sale a las 11:15."),
    ],
)  # fmt: skip
def test_a_sentence_that_says_so_gives_a_thing_a_new_value(
    content: str, said: str, expected: str
) -> None:
    assert result(content, said) == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Our standup is at 9:30.", "The retro moved to 10:00"),
        ("My flight lands at 18:40.", "they changed my mum's train, it leaves at 20:15 now"),
        ("Der Termin beim Arzt ist am 8. April.", "Der Termin beim Friseur ist jetzt am 9. April"),
        ("Our standup is at 9:30.", "If the standup moved to 10:00, I could come"),
        ("Our standup is at 9:30.", "We also have a standup at 10:00 now"),
        ("My team won on Monday", "My team won on Thursday"),
        ("My flight is on 3 May", "My flight back is on 10 May"),
    ],
)
def test_another_thing_or_what_is_only_supposed_leaves_the_value(content: str, said: str) -> None:
    assert result(content, said) is None


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("My room number is 14.", "my room number is 41, not 14, I mix that up", "My room number is 41."),
        ("My physio is called Marten.", "It's Maarten with two a's, not Marten", "My physio is called Maarten."),
        ("I work from home on Fridays", "I work from home on Mondays instead of Fridays", "I work from home on Mondays"),
        ("Our budget is 7,800 pounds.", "Our budget is not 7,800 but 6,900.", "Our budget is 6,900 pounds."),
        ("El alquiler es de 900 euros.", "No es de 900 sino de 950 euros.", "El alquiler es de 950 euros."),
        ("My room number is 14.", "I have 41 emails, not 14", None),
        ("I live in Valencia", "Ya no vivo en Valencia", None),
    ],
)  # fmt: skip
def test_a_contrast_puts_the_new_value_in_the_place_of_the_old_one(
    content: str, said: str, expected: str | None
) -> None:
    results = [better for each in contrasts_of(said) if (better := contrasted(content, each))]
    assert results[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("Our budget is 7,800 pounds.", "Sorry, it's 6,900, not 7,800.", "Our budget is 6,900 pounds."),
        ("Our budget is 7,800 pounds.", "not 7,800 but 6,900", "Our budget is 6,900 pounds."),
        ("Our budget is 7,800 pounds.", "I meant 6,900.", "Our budget is 6,900 pounds."),
        ("Our budget is 7,800 pounds.", "*6,900", "Our budget is 6,900 pounds."),
        ("Ich wiege 82,5 kg.", "Nicht 82,5, sondern 81,5.", "Ich wiege 81,5 kg."),
        ("Der Kredit hat 3,4 Prozent.", "Quatsch, 3,9 Prozent.", "Der Kredit hat 3,9 Prozent."),
        ("Le loyer est de 1 250 euros.", "Pardon, 1 350 euros.", "Le loyer est de 1 350 euros."),
        ("My number is 07700 900123.", "I meant 07700 900132.", "My number is 07700 900132."),
        ("I have 2 rooms and 450 euros.", "Sorry, 3 rooms.", "I have 3 rooms and 450 euros."),
    ],
)  # fmt: skip
def test_a_number_is_corrected_as_a_whole_and_by_its_unit(
    content: str, said: str, expected: str
) -> None:
    correction = correction_of(said)
    assert correction is not None
    assert corrected(content, correction) == expected


@pytest.mark.parametrize("content", ["I study from 6 to 7.", "The stand costs 7,800 kroner."])
@pytest.mark.parametrize(
    "said", ["6,900 instead of 7,850", "It's 9 instead of 7.", "It's 9, not 7"]
)
def test_a_part_of_a_number_is_no_value(content: str, said: str) -> None:
    results = {contrasted(content, each) for each in contrasts_of(said)}
    correction = correction_of(said)
    assert correction is not None
    results.add(corrected(content, correction))
    assert results <= {None, "I study from 6 to 9."}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("I need a two line mail for my list, 212 people on it.", "240 on the mail list now."),
        ("I have 1,900 for the pots in another tin than the 4,000 for the bathroom.", "The tin's at 2,140 now."),
    ],
)  # fmt: skip
def test_one_of_several_numbers_that_counts_something_else_is_left(content: str, said: str) -> None:
    assert result(content, said) is None


def test_a_sentence_is_no_value_in_the_place_of_a_number() -> None:
    assert correction_of("I slept 5 hours, not 4") is None
    assert correction_of("It's 5, not 4") is not None


def test_two_sentences_with_other_days_do_not_say_the_same() -> None:
    assert differ_in_value("I go to yoga on Mondays", "I go to yoga on Thursdays")
    assert not differ_in_value("I go to yoga on Mondays", "I go to yoga")


def test_a_correction_may_begin_a_message_that_says_more() -> None:
    found = begins_as_correction("sorry, Kiel, I only work in Bonn")
    assert found == ("sorry, Kiel", "I only work in Bonn")


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("I switched my bank to Monzo", "bank"),
        ("I've got a new doctor now, Dr. Wong", "doctor"),
        ("my dad moved to Truro", "residence_of_dad"),
        ("my son turned 7", "age_of_son"),
        ("Inzwischen bin ich Erzieherin", "occupation"),
        ("tengo novia nueva, se llama Inés", "partner"),
        ("My daughter's new teacher is Ms Quill", "held_by_daughter_s_teacher"),
        ("My friend lives in Rome.", None),
        ("If I move, I live in Rome.", None),
    ],
)
def test_what_has_changed_and_what_relatives_do_has_its_topic(text: str, topic: str | None) -> None:
    slot = slot_of(text)
    assert (slot.topic if slot else None) == topic


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Got a new car.", "I got a new car."),
        ("Wohne in Kiel.", "Ich wohne in Kiel."),
        ("Got it, thanks.", "Got it, thanks."),
        ("Work on the second point.", "Work on the second point."),
    ],
)
def test_a_sentence_without_its_subject_is_the_user_s(text: str, expected: str) -> None:
    assert with_subject(text) == expected
