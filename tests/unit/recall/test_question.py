"""A question is read in any language: what it is about, which topic and which time it names."""

from datetime import UTC, datetime

import pytest
from palimpsest.recall.question import (
    MAX_KEYS,
    Query,
    analysed,
    coverage,
    excerpt,
    scores,
    topic_keys,
)
from palimpsest.text.analyser import content_words, terms, topic_key

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)  # a Monday


def asked(text: str, *, user: str = "sarah") -> Query:
    return analysed(text, user=user, now=NOW)


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("Who is Sarah's manager?", "Who is manager?"),
        ("What is the user's favourite food?", "What is favourite food?"),
        ("Where does SARAH live?", "Where does live?"),
        (
            "Where is the sarah library?",
            "Where is the sarah library?",
        ),  # no name: it is not written as one
        ("Sarah", "Sarah"),  # nothing else would be left
    ],
)
def test_the_users_own_name_is_not_searched_for(question: str, searched: str) -> None:
    assert asked(question).searched == searched


@pytest.mark.parametrize(
    ("question", "put"),
    [
        ("Who is Sarah's manager?", "Who is my manager?"),
        ("Which phone does Sarah use?", "Which phone does I use?"),
        (
            "What is the user's favourite food, and does the user cook?",
            "What is my favourite food, and does I cook?",
        ),
        ("Sarah's", "Sarah's"),
        ("Who am I?", "Who am I?"),
    ],
)
def test_a_reranker_reads_the_question_in_the_first_person_as_statements_are_made(
    question: str, put: str
) -> None:
    assert asked(question).first_person == put


def test_a_name_is_known_without_its_accents_and_hyphens() -> None:
    assert asked("Does Lucía run?", user="lucia").searched == "Does run?"
    assert asked("When is Min-jun's exam?", user="minjun").searched == "When is exam?"
    assert asked("When is Miller's exam?", user="sarah.miller@acme").searched == "When is exam?"


def test_function_words_are_no_terms_unless_there_is_nothing_else() -> None:
    assert asked("What did I say about the running shoes?").terms == ("run", "shoe")
    assert asked("Who am I?").terms == ("who", "am", "i")
    assert asked("Où est mon vélo ?").terms == ("velo",)


def test_topics_are_looked_for_by_neighbouring_words_the_longest_first_and_without_plural() -> None:
    keys = asked("Which remote work days does Sarah have?").topic_keys
    assert keys[:2] == ("remote_work_days", "remote_work_day")
    assert {"remote_work", "work_days", "day"} <= set(keys)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Where does Sarah live?", "residence"),
        ("Wo wohnt sie?", "residence"),
        ("我住在哪里？", "residence"),
        ("Where do I work?", "employer"),
        ("彼女はどこで働いていますか", "employer"),
        ("When is my birthday?", "birthday"),
        ("¿Cuándo es mi cumpleaños?", "birthday"),
        ("What is my favourite colour?", "favorite_color"),
        ("How shall I call you?", "preferred_name"),
    ],
)
def test_common_topics_are_known_by_what_people_say_for_them(question: str, topic: str) -> None:
    assert topic in topic_keys(question)


def test_a_question_names_a_topic_by_the_words_that_the_topic_is_stored_under() -> None:
    assert topic_key("café préféré") in topic_keys("Quel est mon café préféré ?")
    assert topic_key("पसंदीदा भाषा") in topic_keys("पसंदीदा भाषा क्या है?")


def test_words_that_are_said_for_nothing_name_no_common_topic() -> None:
    assert topic_keys("Do I like tea?") == ("like_tea", "like", "tea")


def test_a_long_question_names_no_more_topics_than_one_read_takes() -> None:
    keys = asked(" ".join(f"word{number}s" for number in range(400))).topic_keys
    assert MAX_KEYS - 10 < len(keys) <= MAX_KEYS


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What happened on 2026-03-14?", "2026-03-13", "2026-03-16"),
        ("What did I do in March 2026?", "2026-02-28", "2026-04-02"),
        ("What did I do in March?", "2026-02-28", "2026-04-02"),
        ("What did I do in August?", "2025-07-31", "2025-09-02"),  # the last one that has begun
        ("Was war am 14. März?", "2026-03-13", "2026-03-16"),
        ("Qu'ai-je dit le 3 avril 2026 ?", "2026-04-02", "2026-04-05"),
        ("¿Qué pasó el 5 de mayo de 2026?", "2026-05-04", "2026-05-07"),
        ("2026年3月に何をした?", "2026-02-28", "2026-04-02"),
        ("What was decided in 2025?", "2024-12-31", "2026-01-02"),
        ("What did I say yesterday?", "2026-06-13", "2026-06-16"),
        ("What did we talk about last week?", "2026-06-07", "2026-06-16"),
        ("Was habe ich letzte Woche gesagt?", "2026-06-07", "2026-06-16"),
        ("上周我说了什么？", "2026-06-07", "2026-06-16"),
        ("先週は何をした?", "2026-06-07", "2026-06-16"),
        ("What did I ask three weeks ago?", "2026-05-24", "2026-06-02"),
    ],
)
def test_a_time_is_understood_with_a_day_on_either_side(
    question: str, first: str, last: str
) -> None:
    period = asked(question).period
    assert period is not None
    assert [
        datetime.fromtimestamp(at / 1000, UTC).date().isoformat()
        for at in (period.start, period.end)
    ] == [first, last]


@pytest.mark.parametrize(
    "question",
    [
        "What may I eat?",
        "Who is my manager?",
        "Is 2026-13-41 a date?",
        "Where do I march?",
        "What's planned tomorrow?",
    ],
)
def test_no_time_is_read_into_a_question_that_names_none_behind_it(question: str) -> None:
    assert asked(question).period is None


@pytest.mark.parametrize(
    ("question", "is_past"),
    [
        ("Who was David's manager before Marcus?", True),
        ("Where did I live previously?", True),
        ("我以前住在哪里？", True),
        ("Wo habe ich früher gewohnt?", True),
        ("Who is my manager?", False),
        ("Where do I live?", False),
    ],
)
def test_a_question_of_the_past_is_told_from_one_of_now(question: str, *, is_past: bool) -> None:
    assert asked(question).asks_of_the_past is is_past


@pytest.mark.parametrize(
    ("question", "days_alone"),
    [
        ("What did I do on 1 November?", True),
        ("What happened last week?", True),
        ("Where was Sarah on 2026-03-02?", True),
        ("Was habe ich am 1. März gemacht?", True),
        ("What did I buy on 1 November?", False),
        ("What did I do?", False),
    ],
)
def test_a_question_for_days_alone_is_told_from_one_for_something_in_them(
    question: str, *, days_alone: bool
) -> None:
    assert asked(question).asks_for_days is days_alone


def test_query_languages_are_text() -> None:
    question = 'name:* OR {"match_all": {}} ; DROP TABLE memories -- MATCH (n) RETURN n'
    read = asked(question)
    assert read.searched == question
    assert "drop" in read.terms


def test_scripts_without_blanks_are_compared_by_pairs_of_characters() -> None:
    assert coverage(content_words("我的地铁"), frozenset(terms("每天坐地铁上班"))) == pytest.approx(
        1 / 3
    )
    assert coverage(content_words("猫"), frozenset(terms("猫"))) == 1


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    texts = [
        terms(text)
        for text in ("tea and cake", "tea and scones", "tea and biscuits", "coffee and cake")
    ]
    rated = scores(("coffe", "tea"), texts)
    assert rated.index(max(rated)) == 3
    assert scores(("tea",), []) == []


def test_an_excerpt_is_where_the_question_is_answered() -> None:
    text = (
        "nothing of interest here. " * 100
        + "The red bicycle stands in the cellar. "
        + "and so on. " * 100
    )
    found = excerpt(text, content_words("Where is the red bicycle?"), limit=200)
    assert "The red bicycle stands in the cellar." in found
    assert len(found) <= 200


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt("short", (("x",),), limit=10) == "short"
    assert len(excerpt("あ" * 5_000, (("いい",),), limit=100)) <= 100
