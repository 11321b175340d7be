"""Without a model, an answer is one sentence of the memories, with its speaker and day."""

from pathlib import Path
from typing import Any

import pytest
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
