"""Measures how well memories are recalled. A labelled set is searched in each search index by
words, by meaning, and by all retrievers together.

The embedded index and DynamoDB are asked through the library. OpenSearch is asked through the API,
with tables on a DynamoDB engine.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path

from palimpsest import parallel
from palimpsest.conversations.ports import Sessions
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.search.index import DynamoDbIndex
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.opensearch.client import connected
from palimpsest.engines.opensearch.index import OpenSearchIndex
from palimpsest.memory.ports import Memories
from palimpsest.models.builtin import BuiltinEmbedder, BuiltinReranker
from palimpsest.models.cached import CachingEmbedder
from palimpsest.models.ports import Embedder, Reranker
from palimpsest.recall.rerank import FIRST
from palimpsest.search.ports import SearchIndex
from palimpsest_local.embedded.index import EmbeddedIndex

from benchmarks.report import Cell, Table
from benchmarks.retrieval.front_door import FrontDoor
from benchmarks.retrieval.labelled.dataset import Dataset
from benchmarks.retrieval.place import Place
from benchmarks.retrieval.scores import ANOTHER, Ask, Scores, answered, by_language, scored
from tests.contract.tables import memories_table, search_table, sessions_table, vectors_table
from tests.engines import builtin_models, opensearch

KEPT = 4_096  # vectors: a set is stored several times
FAMILY = "retrieval"
SAME = 0.01  # what the indexes may differ by
REFRESH_SECONDS = 1.5  # until OpenSearch shows what was written
PATIENCE = 60  # seconds for one of its answers, while it is filled
MEASURES = (
    "mrr",
    "new_first",
    "new_first_told",
    "stale_records",
    "stale_messages",
    "silent",
    "lost",
)
COLUMNS = (
    "retriever, index",
    "recall@5",
    "recall@10",
    "recall@20",
    "MRR",
    "new before old",
    "the same, from messages",
    "stale records",
    "stale messages",
    "abstention",
    "lost",
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A set that is stored in one search index, and the way in which it is asked."""

    place: Place
    door: Place | FrontDoor


@cache
def model() -> Embedder | None:
    """Return the built-in embedding model, if it is installed."""
    return None if builtin_models.install() else BuiltinEmbedder(builtin_models.FOLDER)


@cache
def embedder() -> Embedder | None:
    """Return the same model with a cache, which embeds no text twice."""
    own = model()
    return None if own is None else CachingEmbedder(own, kept=KEPT)


class PatientReranker:
    """Implements `Reranker` over another reranker. All texts are read together, as for a user,
    however long that takes, on a thread whose processor time does not count as the caller's. No
    list of texts is read twice. A caller who did not wait finds the texts read the next time.
    """

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._scores: dict[tuple[str, ...], Sequence[float]] = {}
        self._lock = threading.Lock()

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        with self._lock:
            pair = (question, *texts)
            if pair not in self._scores:
                read = partial(self._reranker.scores, question, texts, until=math.inf)
                self._scores[pair] = parallel.begin(read).result()
            return self._scores[pair]


@cache
def reranker() -> Reranker | None:
    return None if model() is None else PatientReranker(BuiltinReranker(builtin_models.FOLDER))


def tables_on(endpoint: str) -> tuple[Sessions, Memories]:
    """Return empty tables on the engine."""
    sessions = sessions_table(endpoint)
    memories = DynamoDbMemories(memories_table(endpoint), jobs_table=sessions, endpoint=endpoint)
    return DynamoDbSessions(sessions, endpoint=endpoint), memories


@contextlib.contextmanager
def stored(dataset: Dataset, endpoint: str) -> Iterator[Mapping[str, Engine]]:
    """Store the set in each search index that is available here, and yield these by name."""
    vectors = embedder()
    space = vectors.space if vectors else None
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        index: SearchIndex = EmbeddedIndex(Path(folder) / "index.sqlite", space=space)
        place = Place(dataset, index=index, embedder=vectors, reranker=reranker())
        engines = {"embedded": Engine(place, place)}
        if space is not None:
            tables = search_table(endpoint), vectors_table(space.dimension, endpoint)
            index = DynamoDbIndex(*tables, space=space, endpoint=endpoint, region="us-east-1")
            place = Place(dataset, index=index, embedder=vectors, reranker=reranker())
            engines["dynamodb"] = Engine(place, place)
        if opensearch.missing() is None:
            opensearch.install()
            client = connected(stack.enter_context(opensearch.running()), seconds=PATIENCE)
            index = OpenSearchIndex(client, family=FAMILY, space=space)
            place = Place(
                dataset,
                index=index,
                embedder=vectors,
                stores=tables_on(endpoint),
                reranker=reranker(),
            )
            engines["opensearch"] = Engine(place, FrontDoor(place))
        for engine in engines.values():
            engine.place.store(settle=lambda: time.sleep(REFRESH_SECONDS))
        yield engines


def tables(dataset: Dataset, *, endpoint: str) -> list[Table]:
    with stored(dataset, endpoint) as engines:
        embedded = engines["embedded"]
        return [
            quality(dataset, engines),
            answers(dataset, embedded.place),
            *in_languages(dataset, embedded.door),
        ]


def answers(dataset: Dataset, place: Place) -> Table:
    """Return the table of the answers without a model."""
    scores = asdict(answered(dataset, place.cited))
    note = (
        "Right: it quotes a message that answers. Spoke: not empty where nothing answers. New and "
        "old: of the questions about changes, those whose answer quotes the new statement, or an "
        "old one. On the embedded index, with the reranker."
    )
    row = [f"{share:.3f}" for share in scores.values()]
    return Table(f"Answers without a model on {dataset.name}", tuple(scores), [row], (note,))


def in_languages(dataset: Dataset, door: Place | FrontDoor) -> Iterator[Table]:
    """Yield the table of recall by language, if the set's questions are in several languages."""
    scores = by_language(dataset, door.recall)
    if len(scores) == 1:
        return
    rows: list[list[Cell]] = [
        [name, own.questions, f"{own.recall:.3f}", f"{own.mrr:.3f}"]
        for name, own in sorted(scores.items(), key=lambda pair: (-pair[1].questions, pair[0]))
    ]
    note = (
        "Questions with an answer, through all steps of a recall, on the embedded index. "
        f'"{ANOTHER}": asked in another language than it was said in.'
    )
    columns = ("asked in", "questions", "recall@10", "MRR")
    yield Table(f"Recall by language on {dataset.name}", columns, rows, (note,))


def modes(door: Place | FrontDoor, *, has_vectors: bool) -> Mapping[str, Ask]:
    """Return the ways to ask, by name."""
    alone: dict[str, Ask] = {
        "lexical": lambda user, question: door.search(user, question, mode="keyword")
    }
    if has_vectors:
        alone["vector"] = lambda user, question: door.search(user, question, mode="vector")
    return alone | {"fused": partial(door.recall, rerank=False), "recall": door.recall}


def quality(dataset: Dataset, engines: Mapping[str, Engine]) -> Table:
    """Return the table of quality. Raises `AssertionError` if the indexes do not find the same."""
    rows: list[list[Cell]] = []
    by_mode: dict[str, list[Scores]] = {}
    for name, engine in engines.items():
        for mode, ask in modes(engine.door, has_vectors=embedder() is not None).items():
            whole = scored(dataset, ask)
            by_mode.setdefault(mode, []).append(whole)
            rows.append([f"{mode}, {name}", *_cells(whole)])
    for mode, (first, *others) in by_mode.items():
        assert all(differs(first, other) <= SAME for other in others), (
            f"the indexes differ by {mode}: {by_mode[mode]}"
        )
    return Table(f"Recall on {dataset.name}", COLUMNS, rows, _notes(dataset, engines))


def _notes(dataset: Dataset, engines: Mapping[str, Engine]) -> tuple[str, ...]:
    counts = dataset.counts()
    size = (
        f"{counts['questions']} questions, {counts['messages']} messages of {counts['users']} "
        f"users in"
        f" {counts['sessions']} sessions, {counts['supersessions']} supersessions; recall is "
        f"fractional."
    )
    vectors = embedder()
    made_by = vectors.space.model if vectors else "none, the model could not be had"
    notes = (
        f"Vectors: {made_by}. The embedded index and dynoxide's, as DynamoDB, are asked"
        " through the library, OpenSearch through the API, with its tables on dynoxide."
    )
    meaning = (
        "Stale: an old statement told as if it held, as a record, or among the first five as a "
        "message that is not"
        " marked outdated. Abstention: unanswerable questions that nothing was told to; lost: "
        "answerable ones."
    )
    order = (
        "Fused: words, meaning and topics, `rerank: false`. Recall: the built-in cross-encoder has "
        "read the first"
        f" {FIRST},"
        " however long that took here."
    )
    agreement = f"The indexes agree within {SAME} in every measure."
    if "opensearch" not in engines:
        agreement = f"OpenSearch was not measured: {opensearch.missing()}."
    training = "Nothing of recall was trained or chosen on this set."
    if dataset.name in _trained_sets():
        training = "The ranker was trained on this set; `make train` measures it without the set."
    return size, notes, order, meaning, agreement, training


def _trained_sets() -> Collection[str]:
    """Return the names of the sets that the shipped ranker was trained on."""
    text = resources.files("palimpsest.recall").joinpath("ranker.json").read_text("utf-8")
    return frozenset(json.loads(text)["sets"])


def _cells(scores: Scores) -> list[Cell]:
    return [
        f"{value:.3f}"
        for value in (*scores.recall.values(), *(getattr(scores, name) for name in MEASURES))
    ]


def differs(scores: Scores, other: Scores) -> float:
    """Return the largest difference in any measure."""
    pairs = [*zip(scores.recall.values(), other.recall.values(), strict=True)]
    pairs += [(getattr(scores, name), getattr(other, name)) for name in MEASURES]
    return max(abs(mine - others) for mine, others in pairs)
