import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.text.sentences import (
    LONGEST,
    clauses,
    is_terminated,
    says,
    sentences,
    tells_who_the_user_is,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm Sarah. I work in Marketing!", ["I'm Sarah.", "I work in Marketing!"]),
        ("It costs $3.50 a day. Really?", ["It costs $3.50 a day.", "Really?"]),
        ("Ask Dr. Lee, e.g. on Monday. Then go.", ["Ask Dr. Lee, e.g. on Monday.", "Then go."]),
        ("No. Never.", ["No.", "Never."]),
        ("1. Fill in the form.\n2. Send it", ["1. Fill in the form.", "2. Send it"]),
        ('She said "yes." Then she left.', ['She said "yes."', "Then she left."]),
        ("我是李雷。我住在北京！你呢？", ["我是李雷。", "我住在北京！", "你呢？"]),
        ("اسمي سارة. هل يمكنني العمل؟ نعم", ["اسمي سارة.", "هل يمكنني العمل؟", "نعم"]),
        ("मेरा नाम सारा है। मैं दिल्ली में हूँ।", ["मेरा नाम सारा है।", "मैं दिल्ली में हूँ।"]),
        ("Меня зовут Анна. Мне 30 лет.", ["Меня зовут Анна.", "Мне 30 лет."]),
        ("one\n\n  two   three \n", ["one", "two three"]),
        ("", []),
    ],
)
def test_a_sentence_ends_where_its_script_says(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


@given(st.text(max_size=400))
def test_sentences_hold_the_whole_text_but_its_blanks(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.text(alphabet="ab, é👩‍👧", max_size=300), st.integers(8, 40))
def test_a_long_sentence_is_taken_apart_without_losing_anything(text: str, longest: int) -> None:
    sentence = " ".join(text.split())
    parts = list(clauses(sentence, longest=longest))
    assert "".join(parts).replace(" ", "") == sentence.replace(" ", "")
    assert all(part.strip() == part != "" for part in parts)


def test_a_long_sentence_is_taken_apart_at_its_clauses_and_between_characters() -> None:
    assert list(clauses("first this is said, then that is said too", longest=25)) == [
        "first this is said,",
        "then that is said too",
    ]
    families = "👩‍👩‍👧‍👦" * 20
    assert all(len(part) % 7 == 0 for part in clauses(families, longest=24))


@pytest.mark.parametrize("unit", ["a", "a ", "a. ", "。", "\n", "é́", ", ", ".", '?"', "!x"])
def test_splitting_takes_linear_time(unit: str) -> None:
    begun = time.process_time()
    assert all(len(sentence) <= LONGEST for sentence in sentences(unit * 300_000 + "x"))
    assert time.process_time() - begun < 60  # a quadratic split takes minutes


@pytest.mark.parametrize(
    "said",
    [
        "my name is Sarah", "I'm Sarah", "I’m Ana from Oslo", "I am allergic", "I work here", "I have two dogs",
        "my dog barks", "I've worked at Acme", "My favorite tea is green", ("We think that I live "
                                                                           "in Rome"),
        "vivo en Roma", "j'habite Paris", "ICH WOHNE in Ulm", "io sono Ana", "eu sou Ana", "ik ben Jo",
        "Меня зовут Анна", "tôi là An", "我叫李雷", "私は学生です", "제 이름은 김", "मेरा नाम सारा है",
    ],
)  # fmt: skip
def test_who_the_user_is_is_seen_in_any_of_the_commonest_languages(said: str) -> None:
    assert tells_who_the_user_is(said)


@pytest.mark.parametrize(
    "said", ["", "I'm going home", "I am sarah", "He lives in Rome", "I work out", "我们去吧"]
)
def test_what_tells_of_something_else_is_not_who_the_user_is(said: str) -> None:
    assert not tells_who_the_user_is(said)


def test_a_sentence_without_its_stop_is_told_from_a_whole_one() -> None:
    assert is_terminated("It is.")
    assert is_terminated('He said "no."')
    assert is_terminated("好。")
    assert not is_terminated("my name is Sarah")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hi", "nothing"),
        ("Noted. Thanks a lot!", "nothing"),
        ("👍 ok", "nothing"),
        ("Rex", "little"),
        ("No", "little"),
        ("Who is Rex?", "question"),
        ("Hi, I am Rex the dog", "something"),
    ],
)
def test_what_a_text_says(text: str, expected: str) -> None:
    assert says(text) == expected
