import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.text.analyser import (
    MAX_QUERY_PARTS,
    MAX_QUERY_TERMS,
    MAX_QUERY_WORDS,
    MAX_WORD,
    document_terms,
    needed,
    query_terms,
    term_set,
    terms,
    topic_key,
)
from palimpsest.text.bm25 import rounded
from palimpsest.text.folding import normalized
from palimpsest_local.embedded.writing import PART_SIGN

LUCENE_CLAUSES = 1_024


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sarah's remote-work policy: 3 days/week", "sarah s remot work polici 3 day week"),
        ("HR-101, 2024-05-03, user_name, a@b.com", "hr 101 2024 05 03 user name a b com"),
        ("Zoë ÅNGSTRÖM Straße ﬁne ＡＢ１ İstanbul", "zoe angstrom strass fine ab1 istanbul"),
        ("soft\u00adware zero\u200bwidth", "softwar zero width"),
        ("我有猫", "我 我有 有 有猫 猫"),
        ("3日", "3 日"),
        ("ｶﾀｶﾅ がぎ", "カ カタ タ タカ カ カナ ナ が がぎ ぎ"),
        ("집에서", "집 집에 에 에서 서"),
        ("أَحْمَد الكتـــاب مكتبة", "احمد الكتاب مكتب"),
        ("हिन्दी", "हिन्दी"),
        ("", ""),
        ("🎉 ?! \x00 \ud800 \u202e", ""),
    ],
)
def test_a_text_becomes_words(text: str, words: str) -> None:
    assert document_terms(text).words == words.split()


def test_longer_words_also_give_their_parts() -> None:
    assert document_terms("Häuser und Tür").parts == ["haus", "ause", "user"]
    assert document_terms("بيتي").parts == ["بيت", "يتي"]
    assert document_terms("20240503 我有猫").parts == []


def test_a_query_asks_each_word_once_and_leaves_function_words_out() -> None:
    query = query_terms("What is the dog's name? The name of the dog!")
    assert query.words == ["dog", "name"]
    assert query.parts == [["name"]]


def test_a_query_of_function_words_alone_asks_for_them() -> None:
    assert query_terms("Who is that?").words == ["who", "is", "that"]


def test_some_of_a_words_parts_are_needed_not_one_by_chance() -> None:
    assert [needed(["part"] * length) for length in (1, 2, 3, 5, 6, 10)] == [1, 1, 2, 2, 3, 4]


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_an_engine_can_take_apart_by_spaces(text: str) -> None:
    terms = document_terms(text)
    for term in terms.words + terms.parts:
        assert 0 < len(term) <= MAX_WORD
        assert term.split() == [term]
        assert not term.startswith(PART_SIGN)


@given(st.text(max_size=300))
def test_a_text_asks_for_nothing_that_it_does_not_hold(text: str) -> None:
    terms, query = document_terms(text), query_terms(text)
    assert set(query.words) <= set(terms.words)
    assert {part for group in query.parts for part in group} <= set(terms.parts)
    assert bool(query.words) == bool(terms.words)


@given(
    st.lists(
        st.sampled_from(["remote", "Krankenversicherung", "我住在北京每天", "البيت", "x1"]),
        max_size=2_000,
    )
)
def test_a_query_stays_below_the_limit_of_clauses(words: list[str]) -> None:
    query = query_terms(" ".join(f"{word}{number}" for number, word in enumerate(words)))
    asked = len(query.words) + sum(map(len, query.parts))
    assert len(query.parts) <= MAX_QUERY_WORDS
    assert asked <= MAX_QUERY_TERMS + MAX_QUERY_PARTS < LUCENE_CLAUSES


def test_threads_do_not_disturb_each_other() -> None:
    text = "running companies studies managed policies " * 200
    expected = document_terms(text).words
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(document_terms(text).words)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_lengths_are_rounded_as_lucene_rounds_them() -> None:
    assert [rounded(length) for length in (0, 1, 39, 40, 41, 56, 58, 1_000)] == [
        0,
        1,
        39,
        40,
        40,
        56,
        56,
        984,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("cities", "city"),
        ("baked", "baking"),
        ("boxes", "box"),
        ("Café", "cafe"),
        ("ＡＢＣ", "abc"),
    ],
)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_wide_letters_are_letters() -> None:
    assert terms("ＡＢＣ") == terms("abc")


def test_words_that_only_look_alike_stay_two() -> None:
    assert terms("bus") != terms("bu")
    assert terms("glass") == ["glass"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea.", "likes  tea"),
        (" LIKES\ttea! ", "likes tea"),
        ("Stra\N{LATIN SMALL LETTER SHARP S}e", "STRASSE"),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER A}1", "a1"),
        ("\u304a\u8336\u3002", "\u304a\u8336"),
    ],
)
def test_words_that_differ_in_form_alone_are_equal(one: str, other: str) -> None:
    assert normalized(one) == normalized(other)


def test_words_that_differ_are_not_equal() -> None:
    assert (
        len({normalized(text) for text in ("likes tea", "likes teas", "likes tea?", "like stea")})
        == 4
    )


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalized(normalized(text)) == normalized(text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Home Town", "home_town"),
        ("  user.employer-name ", "user_employer_name"),
        ("\u5bb6", "\u5bb6"),
        ("Café préféré", "cafe_prefere"),
        ("हिन्दी", "हिन्दी"),
        ("NuNet\u2122", "nunettm"),
        ("#/..", None),
        ("", None),
        ("a" * 79 + " b", "a" * 79),
    ],
)
def test_a_topics_key_is_folded_words(text: str, key: str | None) -> None:
    assert topic_key(text) == key


@given(st.text())
def test_a_topics_key_is_its_own_key_and_never_breaks_another_key(text: str) -> None:
    key = topic_key(text)
    assert key is None or (topic_key(key) == key and "#" not in key and len(key) <= 80)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4), st.sampled_from([1, 1_000]))
def test_what_is_remembered_of_a_text_is_what_it_is_compared_by(
    said: list[str], times: int
) -> None:
    text = " ".join(said * times)
    assert term_set(text) == term_set(text) == frozenset(terms(text))
