"""What a recall costs as a user's memory grows, and whether memories of others change what is found."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from palimpsest.domain.remembering import Statement
from palimpsest.ports.embedder import Space, Vector
from palimpsest.ports.search_index import Document, Owner, SearchIndex

from benchmarks.dataset import Dataset
from benchmarks.report import Cell, Table
from benchmarks.retrieval_place import TENANT, Place, batches
from benchmarks.retrieval_scores import scored

SIZES, QUICK_SIZES = (100, 1_000, 10_000), (100, 1_000)
FOREIGNERS, FOREIGN_USERS = 100_000, 100
WRITTEN_AT_ONCE = 500
SAME = 0.01  # what foreigners may change
ROUNDS = 15


class Noise:
    """Implements `Embedder`: vectors without meaning, where only their number counts."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [noise(random.Random(text), self.space) for text in texts]


def noise(chance: random.Random, space: Space) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(space.dimension)]


def growth(place: Place, *, quick: bool) -> Table:
    """Clock times of one recall by a user with so many memories."""
    rows: list[list[Cell]] = []
    medians: dict[int, float] = {}
    space = place.index.space
    for size in QUICK_SIZES if quick else SIZES:
        user = f"user-{size}"
        made = place.remember(user, _statements(place.dataset, size))
        place.put(made, embedder=Noise(space) if space else None)
        times = [_timed(place, user, question.question) for question in place.dataset.questions[:ROUNDS]]
        medians[size] = statistics.median(times)
        rows.append([f"{size:,}", medians[size], max(times)])
    least, most = min(medians), max(medians)
    rows.append([f"growth x {most // least:,}", f"x {medians[most] / medians[least]:.2f}", None])
    return Table(
        "A recall as a user's memory grows",
        ("memories of the user", "median ms", "most ms"),
        rows,
        (
            f"{ROUNDS} questions of the labelled set each, by the clock, with the embedding of the question.",
            "Embedded index; tables on dynoxide, on the same machine. Memories are of the labelled set's words.",
        ),
    )


def _statements(dataset: Dataset, count: int) -> Iterator[Statement]:
    chance = random.Random(count)
    words = _vocabulary(dataset)
    for number in range(count):
        yield Statement("fact", f"{' '.join(chance.choices(words, k=12))} {number}")


@cache
def _vocabulary(dataset: Dataset) -> Sequence[str]:
    """Each word as often as it was said."""
    said = (message.content or "" for session in dataset.sessions() for message in session.messages)
    return tuple(word for text in said for word in text.split())


def _timed(place: Place, user: str, question: str) -> float:
    begun = time.perf_counter()
    place.recalled(user, question, k=5)
    return (time.perf_counter() - begun) * 1e3


def crowd(places: Mapping[str, Place], *, foreigners: int = FOREIGNERS) -> Table:
    """The same questions before and after many memories of others came into the index."""
    rows: list[list[Cell]] = []
    for engine, place in places.items():
        asked = [(question.user, question.question) for question in place.dataset.questions[:ROUNDS]]
        before, alone = scored(place.dataset, place.recall), [_timed(place, *each) for each in asked]
        add_foreigners(place.dataset, place.index, foreigners)
        time.sleep(1.5)  # until a server shows what was written
        after, crowded = scored(place.dataset, place.recall), [_timed(place, *each) for each in asked]
        assert abs(before.recall[10] - after.recall[10]) <= SAME, "foreigners changed what is found"
        cells = (f"{before.recall[10]:.3f}", f"{after.recall[10]:.3f}")
        rows.append([engine, *cells, statistics.median(alone), statistics.median(crowded)])
    return Table(
        f"Recall among {foreigners:,} foreign memories",
        ("index", "recall@10 alone", "among them", "median ms alone", "among them"),
        rows,
        ("They are of other users of the same tenant, have the same words, and random vectors.",),
    )


def add_foreigners(dataset: Dataset, index: SearchIndex, count: int) -> None:
    """Documents of others in the same index, of the same words: they change how rare each word is."""
    chance = random.Random(11)
    words = _vocabulary(dataset)
    for user in range(FOREIGN_USERS):
        part = index.of(Owner(TENANT.tenant, f"foreigner-{user}"))
        documents = (
            Document(
                key=f"f{number}",
                kind="fact",
                text=" ".join(chance.choices(words, k=8)),
                version=1,
                created_at=number,
                vector=noise(chance, index.space) if index.space else None,
            )
            for number in range(count // FOREIGN_USERS)
        )
        for batch in batches(documents, WRITTEN_AT_ONCE):
            assert not part.write(batch)
