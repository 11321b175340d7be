"""The built-in model puts paraphrased questions beside the descriptions of their topics."""

from __future__ import annotations

import pytest
from palimpsest.models.builtin import BuiltinEmbedder
from palimpsest.recall.topics import descriptions, topics_meant

from benchmarks.retrieval.topics import with_vectors
from tests.engines import builtin_models
from tests.engines.npm import required


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


def test_the_vectors_that_ship_are_those_of_the_descriptions(embedder: BuiltinEmbedder) -> None:
    assert with_vectors(descriptions(), embedder) == descriptions()
