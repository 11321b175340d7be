"""What a benchmark asks of a memory depends on nothing but the memory: neither on the questions
before, nor on how busy the machine is.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from palimpsest.models.builtin import SPACE
from palimpsest.models.catalogue import THRESHOLDS
from palimpsest.models.ports import Reranker
from palimpsest.recall.weights import Weights
from palimpsest_local.embedded.index import EmbeddedIndex

from benchmarks.retrieval.front_door import FrontDoor
from benchmarks.retrieval.labelled.form import (
    Conversation,
    Dataset,
    Message,
    NewStatement,
    OldStatement,
    Session,
    Supersession,
)
from benchmarks.retrieval.place import TENANT, Place
from benchmarks.retrieval.ranking.ablation import CHANGES, Change
from tests.doubles.meanings import Meanings

START = datetime(2026, 1, 1, tzinfo=UTC)
SAID = ("My boss is Dana.", "My boss is Omar now.", "I like tea.")
MESSAGES = tuple(
    Message(f"m{number}", "user", START + timedelta(days=number), text)
    for number, text in enumerate(SAID)
)
CHANGED = Supersession(
    "s1",
    "ann",
    "changed",
    "boss",
    "Who is my boss?",
    (OldStatement("m0", "Dana", "My boss is Dana.", "Dana"),),
    NewStatement("m1", "Omar", "My boss is Omar now.", "Omar"),
)
DATASET = Dataset(
    name="small",
    conversations=(Conversation("c", "anything", (Session("s", "ann", MESSAGES),)),),
    questions=(),
    supersessions=(CHANGED,),
)


class Hurried:
    """Implements `Reranker`. It reads one text when it is first asked, and all texts later. `read`
    has the number of texts of each call.
    """

    def __init__(self) -> None:
        self.read: list[int] = []

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        self.read.append(len(texts) if self.read else 1)
        return [1.0] * self.read[-1]


def place(folder: Path, *, reranker: Reranker | None = None) -> Place:
    embedder = Meanings()
    index = EmbeddedIndex(folder / "index.sqlite", space=embedder.space)
    made = Place(DATASET, index=index, embedder=embedder, reranker=reranker)
    made.store(settle=lambda: None)
    return made


def test_a_question_uses_up_nothing_for_those_after_it(tmp_path: Path) -> None:
    asked = place(tmp_path)
    first = asked.recalled("ann", "Who is my boss?")
    records = [memory.id for memory in first.memories if memory.record is not None]
    assert records
    assert asked.memories.uses(TENANT.user("ann"), records) == {}
    assert asked.recalled("ann", "Who is my boss?").memories == first.memories


def test_the_api_is_asked_again_until_the_reranker_has_read_every_text(tmp_path: Path) -> None:
    hurried = Hurried()
    assert FrontDoor(place(tmp_path, reranker=hurried)).recall("ann", "Who is my boss?")
    assert hurried.read == [1, 3, 1]


def test_each_constant_that_the_ablation_changes_is_one_of_recall() -> None:
    shipped = Weights(near=THRESHOLDS[SPACE.model])
    first, *others = CHANGES.values()
    assert first == Change()
    for change in others:
        before = [getattr(module, name) for module, name, _ in change.names]
        with change.made():
            made = [getattr(module, name) for module, name, _ in change.names]
        assert (change.weights_of(shipped), made) != (shipped, before)
        assert [getattr(module, name) for module, name, _ in change.names] == before
