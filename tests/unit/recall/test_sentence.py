"""Without a model, an answer is one sentence of the memories, with its speaker and day."""

from pathlib import Path
from typing import Any

import pytest
from palimpsest.recall.about import person_asked_for
from palimpsest.recall.sentence import MOST_CHARACTERS

from tests.doubles.reranker import Rating
from tests.unit.recall.service import RecallService


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


def answer(service: RecallService, question: str, **more: Any) -> str:
    recalled = service.recall(question, answer=True, k=20, **more)
    assert recalled.method == "quoted"
    assert bool(recalled.answer) == bool(recalled.citations)
    return recalled.answer or ""


def test_it_is_the_sentence_that_answers_with_its_speaker_and_day(service: RecallService) -> None:
    service.say(
        "The weather was fine and we walked a lot. My dog is called Rex. Then it rained.",
        role="user",
    )
    service.index_all()
    assert answer(service, "What is my dog called?") == "Sarah, 2026-01-01: My dog is called Rex."


def test_a_reranker_chooses_between_sentences(service: RecallService) -> None:
    service.say("My dog is a dachshund. We named him Rex.", role="user")
    service.index_all()
    question = "What is my dog called?"
    assert "dachshund" in answer(service, question)
    named = Rating(lambda text: float("named" in text and "dachshund" not in text))
    assert answer(service, question, reranker=named) == "Sarah, 2026-01-01: We named him Rex."
    assert "dachshund" in answer(service, question, reranker=named, rerank=False)


@pytest.mark.parametrize(
    "said",
    [
        "What is my dog called?",
        "what's the name of my dog",
        "Remind me what my dog is called.",
        "Tell me what my dog is called",
        "Ha. My dog!",
        "wie heißt mein dog",
        "My dog ate the moon, just kidding.",
    ],
)
def test_a_question_a_greeting_and_a_joke_are_no_answer(service: RecallService, said: str) -> None:
    service.say(said, role="user")
    service.index_all()
    assert answer(service, "How is my dog called now?") == ""


def test_a_tool_s_output_is_no_answer(service: RecallService) -> None:
    service.say("The dog is called Rex.", role="tool")
    service.index_all()
    assert answer(service, "What is my dog called?") == ""


def test_a_long_sentence_is_cut_and_a_long_name_too(service: RecallService) -> None:
    service.say("My dog is called Rex" + " and my dog is called Rex" * 40, role="user")
    service.index_all()
    found = answer(service, "What is my dog called?")
    assert "My dog is called Rex" in found
    assert len(found) <= MOST_CHARACTERS


def test_an_outdated_statement_is_no_answer(service: RecallService) -> None:
    old, new = service.say("My manager is Tom.", "Dana leads the group now.")
    service.keep("The manager is Tom", topic="manager", messages=[old], quote="manager is Tom")
    service.keep("The manager is Dana", topic="manager", messages=[new], quote="Dana leads")
    service.index_all()
    assert "Tom" not in answer(service, "Who is my manager?")


@pytest.mark.parametrize(
    "said",
    [
        "I wonder who my boss is.",
        "Not sure who my boss is, can you look it up for me",
        "I forgot who my boss is.",
        "Guess who my boss is!",
        "My boss question again, sorry.",
        "Ha, my boss again.",
        "I asked you yesterday who my boss is.",
    ],
)
def test_a_sentence_that_adds_no_word_to_the_question_is_no_answer(
    service: RecallService, said: str
) -> None:
    service.say(said, role="user")
    service.index_all()
    assert answer(service, "Who is my boss?") == ""


@pytest.mark.parametrize(
    "copied",
    [
        "boss: Odalys Prenn",
        "| Odalys Prenn | my boss |",
        'boss = load("Odalys Prenn")  # my boss',
        "- boss: Odalys Prenn",
    ],
)
def test_lines_that_an_assistant_copied_are_no_answer(service: RecallService, copied: str) -> None:
    service.say("Please look up my boss.", copied, role=("user", "assistant"))
    service.index_all()
    assert answer(service, "Who is my boss?") == ""


def test_the_assistant_answers_only_if_it_is_asked_or_nobody_else_does(
    service: RecallService,
) -> None:
    service.say("Your boss is Odalys Prenn.", role="assistant")
    service.index_all()
    assert "Odalys" in answer(service, "Who is my boss?")
    service.say("My boss is Casimir Lund.", role="user")
    service.index_all()
    assert "Casimir" in answer(service, "Who is my boss?")


@pytest.mark.parametrize(
    ("question", "first"),
    [("What is my day rate?", "465"), ("What was my day rate in January?", "420")],
)
def test_the_latest_statement_about_the_thing_is_the_answer(
    service: RecallService, question: str, first: str
) -> None:
    service.say("My day rate is 420 pounds.", session="winter", role="user")
    service.time.advance(30 * 24 * 3600)
    service.say("From now on I bill 465 pounds as my day rate.", session="spring", role="user")
    service.index_all()
    likes_the_old = Rating(lambda text: float("420" in text))
    assert first in answer(service, question, reranker=likes_the_old)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("I work as a nurse.", "What is Bob's job?"),
        ("I live in Kiel.", "Where does Anna live?"),
        ("I'm vegan.", "What does Sarah's husband eat?"),
    ],
)
def test_what_the_user_says_of_themselves_answers_no_question_about_another(
    service: RecallService, said: str, question: str
) -> None:
    service.say(said, role="user")
    service.keep(said)
    service.index_all()
    assert answer(service, question) == ""


def test_a_question_about_another_is_answered_by_what_names_them(service: RecallService) -> None:
    service.say("I work as a nurse. My brother Bob works as a baker.", role="user")
    service.index_all()
    assert "baker" in answer(service, "What does Bob work as?")


@pytest.mark.parametrize(
    ("question", "person"),
    [
        ("What is Bob's job?", "bob"),
        ("Which languages does my wife speak?", "wife"),
        ("What's my mother's job?", "mother"),
        ("What is my job?", None),
        ("Who is my boss?", None),
        ("What is my wife called?", None),
        ("What is the name of Tom's sister?", None),
        ("Where did I meet my wife?", None),
    ],
)
def test_the_person_of_a_question_is_whose_doings_it_asks_for(
    question: str, person: str | None
) -> None:
    assert person_asked_for(question) == person


def test_what_follows_a_request_after_a_colon_is_a_statement(service: RecallService) -> None:
    service.say("Please update the invoice: my day rate is 465 pounds.", role="user")
    service.index_all()
    assert answer(service, "What is my day rate?").endswith(": my day rate is 465 pounds.")
