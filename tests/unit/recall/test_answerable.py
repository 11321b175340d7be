"""Recall says how likely it answers, and an answer says that it does not know below a floor."""

from dataclasses import replace
from datetime import UTC, datetime
from math import log
from pathlib import Path
from typing import Any

import pytest
from palimpsest.errors import Unavailable
from palimpsest.memory.record import Source
from palimpsest.recall.answerable import SIGNS, answerable, covered, learned_weights
from palimpsest.recall.found import Candidate, FoundMemory
from palimpsest.recall.question import RecallRequest, analysed
from palimpsest.recall.ranking import Ranked
from palimpsest.recall.recall import Recall
from palimpsest.scope import Scope

from tests.doubles.answers import ScriptedAnswers, cited
from tests.service import SARAH
from tests.unit.recall.service import RecallService, Words


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    made = RecallService(tmp_path)
    made.say("My dog is called Rex and my cat is called Tom.", "I live in Hamburg.", role="user")
    made.index_all()
    return made


def test_a_question_that_the_memories_answer_is_more_answerable(service: RecallService) -> None:
    answered = service.recall("What is my dog called?").answerable
    other = service.recall("What is my doctor called?").answerable
    unrelated = service.recall("Which blood type is it?").answerable
    assert 1 > answered > other > learned_weights().floor > unrelated > 0


def test_nothing_found_answers_nothing(tmp_path: Path) -> None:
    recalled = RecallService(tmp_path).recall("What is my dog called?")
    assert (recalled.memories, recalled.answerable) == ((), 0)


def test_a_word_that_nobody_said_counts_in_full() -> None:
    texts = [{"dog", "rex"}, {"cat"}, {"dog", "walk"}]
    assert covered([("dog",)], texts[:1], every=texts) == 1
    half = covered([("dog",), ("cat",)], texts[:1], every=texts)
    unknown = covered([("dog",), ("zebra",)], texts[:1], every=texts)
    assert 1 > half > unknown > 0
    assert covered([], texts, every=texts) == 0


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("¿De qué equipo de fútbol es?", "es"),
        ("Welche Haustiere hat sie?", "de"),
        ("Which pets does she have?", "en"),
    ],
)
def test_likeness_of_a_language_that_the_model_does_not_know_counts_no_more_than_equal_words(
    question: str, language: str
) -> None:
    query = analysed(question, user="sarah", now=datetime(2026, 1, 1, tzinfo=UTC))
    assert query.language == language
    candidate = Candidate("one", {"vector": 0.8}, said_at=0)
    place = Ranked(candidate, 0.3, 0.6, {"meaning": 0.6}, {"constant": -1.0})
    memory = FoundMemory("one", "message", "Something else", Source(), 0, candidate)
    known = answerable(query, [memory], [place])
    unknown = answerable(query, [memory], [place], only_english=True)
    assert known.signs["meaning"] == 0.6
    assert unknown.signs["meaning"] == (0.6 if language == "en" else 0)
    assert (unknown.likelihood < learned_weights().floor) == (language != "en")


def test_the_trace_has_the_signs_and_the_terms_add_up(service: RecallService) -> None:
    recalled = service.recall("What is my dog called?", explain=True)
    told = (recalled.trace or {})["answerable"]
    assert set(told["signs"]) == set(SIGNS)
    assert told["likelihood"] == recalled.answerable
    odds = recalled.answerable / (1 - recalled.answerable)
    assert sum(told["terms"].values()) == pytest.approx(log(odds))


def recall_of(service: RecallService, floor: float | None, **more: Any) -> Recall:
    made = Recall(
        service.memories,
        service.sessions,
        service.index,
        service.index,
        service.embedder,
        Words(),
        service.time,
        answer_floor=lambda _: floor,
    )
    return replace(made, **more)


ASKS = RecallRequest("What is my dog called?", answer=True, rerank=False)


def test_below_the_tenant_s_floor_an_answer_is_empty_and_no_model_is_asked(
    service: RecallService,
) -> None:
    model = ScriptedAnswers([cited("Rex.", "m1")])
    silent = recall_of(service, 1.0, model=model)(SARAH, ASKS)
    assert (silent.answer, silent.citations, silent.method) == ("", (), "model")
    assert silent.memories
    assert model.asked == []
    assert recall_of(service, 0.0, model=model)(SARAH, ASKS).answer == "Rex."
    assert "Rex" in (recall_of(service, 0.0)(SARAH, ASKS).answer or "")


def test_without_a_floor_of_its_own_a_tenant_has_the_learned_one(service: RecallService) -> None:
    assert 0 < learned_weights().floor < 0.5
    is_known = service.recall(ASKS.query).answerable >= learned_weights().floor
    assert bool(recall_of(service, None)(SARAH, ASKS).answer) == is_known


def test_settings_that_can_t_be_read_cost_no_answer(service: RecallService) -> None:
    def unread(_: Scope) -> float | None:
        raise Unavailable("The store did not answer.")

    recall = recall_of(service, None, answer_floor=unread)
    assert recall(SARAH, ASKS).answer == recall_of(service, None)(SARAH, ASKS).answer
