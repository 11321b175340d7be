"""Recall over both search indexes: a part of the labelled set is found alike, and foreigners change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from palimpsest.models.builtin import BuiltinEmbedder
from palimpsest.models.cached import CachingEmbedder
from palimpsest.models.ports import Embedder
from palimpsest.search.payloads import ReindexPayload

from benchmarks.retrieval.growth import add_foreigners
from benchmarks.retrieval.labelled.dataset import Dataset, load
from benchmarks.retrieval.place import Place
from benchmarks.retrieval.quality import differs, modes
from benchmarks.retrieval.scores import scored
from tests.contract.search_index.conftest import EMBEDDED, place_in
from tests.doubles.meanings import Meanings
from tests.engines import builtin_models
from tests.engines.npm import required
from tests.service import SARAH
from tests.unit.recall.service import RecallService

USERS = ("mei", "claire")
SAME = 0.01


def part_of(dataset: Dataset) -> Dataset:
    """Two users who plan the same journey with the same agent."""
    return Dataset(
        name=dataset.name,
        conversations=tuple(
            conversation
            for conversation in dataset.conversations
            if conversation.sessions[0].user in USERS
        ),
        questions=tuple(question for question in dataset.questions if question.user in USERS),
        supersessions=tuple(
            supersession for supersession in dataset.supersessions if supersession.user in USERS
        ),
    )


@dataclass(frozen=True)
class Stored:
    """The same part of the set in an engine, and what makes writes findable there."""

    place: Place
    settle: Any


@pytest.fixture(scope="module")
def stored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Stored]]:
    reason = builtin_models.install()
    if reason is not None:
        pytest.fail(reason) if required() else pytest.skip(reason)
    embedder: Embedder = CachingEmbedder(BuiltinEmbedder(builtin_models.FOLDER), kept=4_096)
    dataset = part_of(load())
    with ExitStack() as stack:
        found = {}
        for engine in (EMBEDDED, "opensearch"):
            folder = tmp_path_factory.mktemp("recall")
            at = stack.enter_context(place_in(engine, folder, request))
            place = Place(dataset, index=at.open(embedder.space), embedder=embedder)
            place.store(settle=at.settle)
            found[engine] = Stored(place, at.settle)
        yield found


@pytest.mark.parametrize("mode", ["lexical", "vector", "fused"])
def test_both_indexes_find_the_same(stored: dict[str, Stored], mode: str) -> None:
    scores = {
        engine: scored(each.place.dataset, modes(each.place, has_vectors=True)[mode])
        for engine, each in stored.items()
    }
    assert differs(scores[EMBEDDED], scores["opensearch"]) <= SAME
    assert scores[EMBEDDED].recall[10] > 0.6


def test_all_retrievers_together_find_more_than_each_alone_and_tell_nothing_stale(
    stored: dict[str, Stored],
) -> None:
    place = stored[EMBEDDED].place
    by_mode = {
        mode: scored(place.dataset, ask) for mode, ask in modes(place, has_vectors=True).items()
    }
    assert by_mode["fused"].recall[10] >= max(
        by_mode["lexical"].recall[10], by_mode["vector"].recall[10]
    )
    assert by_mode["fused"].new_first == 1
    assert (by_mode["fused"].stale_records, by_mode["fused"].stale_messages) == (0, 0)


def test_no_question_finds_what_the_other_user_said(stored: dict[str, Stored]) -> None:
    for each in stored.values():
        dataset = each.place.dataset
        for question in dataset.questions:
            told = {
                name
                for one in each.place.recall(question.user, question.question)
                for name in one.messages
            }
            assert {dataset.session_of(name).user for name in told} <= {question.user}


def test_foreigners_change_nothing_that_is_found(stored: dict[str, Stored]) -> None:
    for each in stored.values():
        before = scored(each.place.dataset, each.place.recall)
        add_foreigners(each.place.dataset, each.place.index, 2_000)
        each.settle()
        after = scored(each.place.dataset, each.place.recall)
        assert abs(before.recall[10] - after.recall[10]) <= SAME


@pytest.mark.parametrize("engine", [EMBEDDED, "opensearch"])
def test_a_correction_is_recalled_and_a_deletion_is_not_on_either_index(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    embedder = Meanings()
    with place_in(engine, tmp_path, request) as at:
        service = RecallService(tmp_path, index=at.open(embedder.space), embedder=embedder)
        service.keep("works at Acme", topic="employer")
        gone = service.keep("likes green tea")
        service.index_all()
        service.keep("works at Bolt", topic="employer")
        service.manage.delete(SARAH, gone.id)
        at.settle()
        assert service.found("Where does she work?") == ["works at Bolt"]
        assert service.found("green tea") == []
        assert service.index_all() == ()
        at.settle()
        assert service.found("Where does she work?") == ["works at Bolt"]
        assert service.indexed() == 2  # the deletion's own change has not come yet


@pytest.mark.parametrize("engine", [EMBEDDED, "opensearch"])
def test_a_rebuilt_index_answers_alike_on_either_engine(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    embedder = Meanings()
    with place_in(engine, tmp_path, request) as at:
        service = RecallService(tmp_path, index=at.open(embedder.space), embedder=embedder)
        for number in range(12):
            service.keep(f"fact number {number} about tea")
            service.say(f"tea was said {number} times", session=f"s{number}")
        service.index_all()
        at.settle()
        before = sorted(service.found("tea", k=30))
        (old,) = service.index.indexes()
        state = ReindexPayload()
        while not state.is_done:
            state = service.reindex(state)
        at.settle()
        assert service.index.indexes() != (old,)
        assert sorted(service.found("tea", k=30)) == before
        assert len(before) == 24
