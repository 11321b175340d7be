"""How well memories are recalled: the labelled set on both search indexes, by words, by meaning, and by all together.

python -m benchmarks.retrieval [PATH] [--quick]      # PATH: another set in the same JSON form
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from palimpsest.adapters.caching_embedder import CachingEmbedder
from palimpsest.adapters.dynamodb.memories import DynamoDbMemories
from palimpsest.adapters.dynamodb.sessions import DynamoDbSessions
from palimpsest.adapters.embedded_index import EmbeddedIndex
from palimpsest.adapters.minilm import MiniLM
from palimpsest.adapters.opensearch import OpenSearchIndex, connected
from palimpsest.ports.embedder import Embedder
from palimpsest.ports.memories import Memories
from palimpsest.ports.search_index import SearchIndex
from palimpsest.ports.sessions import Sessions

from benchmarks import report
from benchmarks.dataset import OURS, Dataset, load
from benchmarks.report import Cell, Table
from benchmarks.retrieval_growth import crowd, growth
from benchmarks.retrieval_place import Place
from benchmarks.retrieval_scores import Ask, Scores, scored
from tests.contract.tables import memories_table, sessions_table
from tests.engines import dynoxide, minilm, opensearch

KEPT = 4_096  # vectors: a set is stored several times
FAMILY = "retrieval"
SAME = 0.01  # what the two indexes may differ by
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
MEASURES = ("mrr", "new_first", "stale_records", "stale_messages", "silent", "lost")
COLUMNS = (
    "retriever, index", "recall@5", "recall@10", "recall@20", "MRR", "new before old", "stale records",
    "stale messages", "abstention", "lost",
)  # fmt: skip


def embedder() -> Embedder | None:
    """MiniLM, where it can be built."""
    return None if minilm.install() else CachingEmbedder(MiniLM(minilm.FOLDER), kept=KEPT)


@contextlib.contextmanager
def indexes(model: Embedder | None) -> Iterator[Mapping[str, SearchIndex]]:
    """An empty index of each kind that can be had here, by its name."""
    space = model.space if model else None
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        found: dict[str, SearchIndex] = {"embedded": EmbeddedIndex(Path(folder) / "index.sqlite", space=space)}
        if opensearch.missing() is None:
            opensearch.install()
            client = connected(stack.enter_context(opensearch.running()))
            found["opensearch"] = OpenSearchIndex(client, family=FAMILY, space=space)
        yield found


@contextlib.contextmanager
def tables_on(endpoint: str | None) -> Iterator[tuple[Sessions, Memories]]:
    """Empty tables on the engine at `endpoint`, or on one of our own."""
    for name, value in CREDENTIALS.items():
        os.environ.setdefault(name, value)
    with contextlib.ExitStack() as stack:
        at = endpoint or stack.enter_context(dynoxide.running())
        sessions = sessions_table(at)
        memories = DynamoDbMemories(memories_table(at), jobs_table=sessions, endpoint=at)
        yield DynamoDbSessions(sessions, endpoint=at), memories


def tables(dataset: Dataset, *, quick: bool, endpoint: str | None = None) -> list[Table]:
    model = embedder()
    with indexes(model) as engines:
        places = {name: Place(dataset, index=index, embedder=model) for name, index in engines.items()}
        for place in places.values():
            place.store(settle=lambda: time.sleep(1.5))  # until a server shows what was written
        found = [quality(dataset, places, model)]
        with tables_on(endpoint) as stores:
            place = Place(dataset, index=engines["embedded"], embedder=model, stores=stores)
            found.append(growth(place, quick=quick))
        return found if quick else [*found, crowd(places)]


def modes(place: Place, *, has_vectors: bool) -> Mapping[str, Ask]:
    """The ways to ask, by name."""
    alone: dict[str, Ask] = {"lexical": lambda user, question: place.search(user, question, mode="keyword")}
    if has_vectors:
        alone["vector"] = lambda user, question: place.search(user, question, mode="vector")
    return alone | {"hybrid": place.recall}


def quality(dataset: Dataset, places: Mapping[str, Place], model: Embedder | None) -> Table:
    rows: list[list[Cell]] = []
    by_mode: dict[str, list[Scores]] = {}
    for engine, place in places.items():
        for mode, ask in modes(place, has_vectors=model is not None).items():
            whole = scored(dataset, ask)
            by_mode.setdefault(mode, []).append(whole)
            rows.append([f"{mode}, {engine}", *_cells(whole)])
    for half, name in ((0, "tuned on"), (1, "held out")):
        rows.append([f"hybrid, {name}", *_cells(scored(dataset, places["embedded"].recall, half=half))])
    for mode, (first, *others) in by_mode.items():
        assert all(differs(first, other) <= SAME for other in others), f"the indexes differ by {mode}"
    counts = dataset.counts()
    size = (
        f"{counts['questions']} questions, {counts['messages']} messages of {counts['users']} users in"
        f" {counts['sessions']} sessions, {counts['supersessions']} supersessions; recall is fractional."
    )
    meaning = (
        "Stale: an old statement told as if it held, as a record, or among the first five as a message that is not"
        " marked outdated. Abstention: unanswerable questions that nothing was told to; lost: answerable ones."
    )
    halves = (
        f"The indexes agree within {SAME}. Weights were chosen on one half of the questions, by the digest of their id;"
        " the other half was held out."
    )
    vectors = f"Vectors: {model.space.model if model else 'none, the model could not be built'}."
    return Table(f"Recall on {dataset.name}", COLUMNS, rows, (size, vectors, meaning, halves))


def _cells(scores: Scores) -> list[Cell]:
    return [f"{value:.3f}" for value in (*scores.recall.values(), *(getattr(scores, name) for name in MEASURES))]


def differs(one: Scores, other: Scores) -> float:
    """The largest difference of any measure."""
    pairs = [*zip(one.recall.values(), other.recall.values(), strict=True)]
    pairs += [(getattr(one, name), getattr(other, name)) for name in MEASURES]
    return max(abs(mine - others) for mine, others in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("path", nargs="?", default=OURS, help="a JSON file or a folder of them; ours if left out")
    parser.add_argument("--quick", action="store_true", help="without the largest sizes and the crowd")
    asked = parser.parse_args()
    for table in tables(load(asked.path), quick=asked.quick):
        print(report.for_terminal(table), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
