"""The built-in model puts paraphrased questions beside the descriptions of their topics."""

from __future__ import annotations

from pathlib import Path

import pytest
from palimpsest.models.builtin import BuiltinEmbedder
from palimpsest.recall.topics import descriptions, topics_meant

from benchmarks.retrieval.topics import with_vectors
from tests.engines import builtin_models
from tests.engines.npm import required
from tests.unit.recall.service import RecallService


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    if reason := builtin_models.install():
        pytest.fail(reason) if required() else pytest.skip(reason)
    return BuiltinEmbedder(builtin_models.FOLDER)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Which department does she belong to now?", "team"),
        ("Which city is she based in these days?", "residence"),
        ("What do I do for a living?", "occupation"),
        ("Who do I report to?", "manager"),
        ("Whom is he married to?", "partner"),
        ("What vehicle does she own?", "car"),
        ("Which firm employs me?", "employer"),
        ("What helps against stiff calves?", None),
        ("How much would mending the cooling cost?", None),
        ("What is the plot of Amara's book?", None),
        ("Which colour was the sofa?", None),
    ],
)
def test_a_paraphrase_means_its_topic(
    embedder: BuiltinEmbedder, question: str, topic: str | None
) -> None:
    (vector,) = embedder.embed([question], as_questions=True)
    meant = topics_meant(vector, model=embedder.space.model)
    assert topic in meant if topic else meant == ()


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("I got moved to the growth team.", "Which department does she belong to now?"),
        ("We'll stay in Rotterdam, I'll take the train.", "Which city is she based in these days?"),
        ("I'm a nurse on the night shift at St Mary's.", "What do I do for a living?"),
        ("I'm allergic to nuts.", "What must she not eat?"),
    ],
)
def test_a_paraphrase_finds_what_was_said_in_other_words(
    tmp_path: Path, embedder: BuiltinEmbedder, said: str, question: str
) -> None:
    service = RecallService(tmp_path, embedder=embedder)
    service.say(said, role="user")
    service.say("The weather was lovely, we walked along the river.", role="user", session="two")
    service.index_all()
    assert service.recall(question).memories[0].content == said


def test_the_vectors_that_ship_are_those_of_the_descriptions(embedder: BuiltinEmbedder) -> None:
    assert with_vectors(descriptions(), embedder) == descriptions()
