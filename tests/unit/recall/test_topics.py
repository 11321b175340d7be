"""A question finds a topic that it means without naming it."""

from array import array
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

import pytest
from palimpsest.models.builtin import SPACE
from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.offline.extractor import states
from palimpsest.recall.topics import descriptions, topics_meant

from tests.doubles.meanings import Meanings
from tests.unit.recall.service import RecallService

STORED = descriptions()
VECTORS: Sequence[Vector] = [
    unit(array("b", b64decode(text)).tolist()) for text in STORED["vectors"][SPACE.model]
]
PLACES = {topic["keys"][0]: place for place, topic in enumerate(STORED["topics"])}


class Asking(Meanings):
    """Every question means the topic, every text means nothing."""

    def __init__(self, topic: str) -> None:
        super().__init__(SPACE.model, SPACE.dimension)
        self._meant = VECTORS[PLACES[topic]]

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        nothing = unit([1.0] * SPACE.dimension)
        return [self._meant if as_questions else nothing for _ in texts]


def test_a_topic_s_own_description_means_the_topic() -> None:
    for place, topic in enumerate(STORED["topics"]):
        meant = topics_meant(VECTORS[place], model=SPACE.model)
        assert meant[: len(topic["keys"])] == tuple(topic["keys"])


def test_a_question_about_nothing_of_these_means_no_topic() -> None:
    assert topics_meant([0.0] * SPACE.dimension, model=SPACE.model) == ()
    assert topics_meant(VECTORS[0], model="of another model") == ()


def test_keys_are_stored_as_topics_are_and_belong_to_one_topic() -> None:
    keys = [key for topic in STORED["topics"] for key in topic["keys"]]
    assert len(keys) == len(set(keys))
    assert all(key == key.lower() and " " not in key for key in keys)


@pytest.mark.parametrize(("topic", "is_found"), [("department", True), ("salary", False)])
def test_the_record_of_a_topic_that_is_meant_is_found(
    tmp_path: Path, topic: str, *, is_found: bool
) -> None:
    service = RecallService(tmp_path, embedder=Asking(topic))
    record = service.keep("Logistics", topic="team")
    service.index_all()
    memories = service.recall("Where does she belong?").memories
    found = {memory.id: memory.candidate.scores for memory in memories}
    assert ("topic_key" in found.get(record.id, {})) == is_found


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("allergy", "I'm allergic to nuts."),
        ("salary", "My salary is 2,900 euros."),
        ("manager", "My new lead is Femke."),
        ("children", "I have two kids."),
        ("pet", "We have a dog called Rex."),
        ("language", "My native language is Swahili."),
        ("phone", "My phone number is 0151 23456."),
        ("school", "I study marine biology."),
    ],
)
def test_what_extraction_stores_is_found_by_its_topic(
    tmp_path: Path, topic: str, said: str
) -> None:
    (stated,) = states(said)
    service = RecallService(tmp_path, embedder=Asking(topic))
    record = service.keep(said, topic=stated.topic)
    service.index_all()
    memories = service.recall("What about it?").memories
    found = {memory.id: memory.candidate.scores for memory in memories}
    assert "topic_key" in found.get(record.id, {})


@pytest.mark.parametrize(
    "question", ["Where do I live?", "Wo wohne ich?", "Où est-ce que j'habite ?"]
)
def test_a_question_finds_a_fact_in_another_language_by_its_topic(
    tmp_path: Path, question: str
) -> None:
    service = RecallService(tmp_path)
    record = service.keep("Ich bin nach Altona gezogen", topic="residence")
    service.index_all()
    assert [memory.id for memory in service.recall(question).memories] == [record.id]
