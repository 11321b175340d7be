"""Measures what a recall, and a context with memory, cost as a user's memory grows, and whether the
memories of other users change the results.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from palimpsest.clock import milliseconds
from palimpsest.engines.dynamodb.search.index import DynamoDbIndex
from palimpsest.memory.ports import MemoryCommit
from palimpsest.memory.record import Record, record_id
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.search.documents import of_record
from palimpsest.search.ports import Document, SearchIndex
from palimpsest_local.embedded.index import EmbeddedIndex

from benchmarks.measure import exponent
from benchmarks.meter import READS
from benchmarks.report import Cell, Table, for_terminal, shown
from benchmarks.report import growth as written
from benchmarks.retrieval.front_door import FrontDoor
from benchmarks.retrieval.labelled.dataset import Dataset
from benchmarks.retrieval.place import TENANT, Place, batches
from benchmarks.retrieval.quality import REFRESH_SECONDS, SAME, Engine, model, stored, tables_on
from benchmarks.retrieval.scores import scored
from tests.contract.tables import search_table

SIZES, QUICK_SIZES = (100, 1_000, 10_000), (100, 1_000)
# what is filled within a few minutes
FOREIGNERS = {"embedded": 100_000, "dynamodb": 5_000, "opensearch": 20_000}
QUICK_FOREIGNERS, FOREIGN_USERS = 5_000, 100
RECORDS_AT_ONCE = 80  # in one transaction
WRITTEN_AT_ONCE = 500
VECTORS = 1_000  # different vectors; they mean nothing, because only their number counts
ROUNDS = 15
MOST_UNITS, MOST_REQUESTS = 100, 3
BLOCKS = [{"type": "static"}, {"type": "extractive"}, {"type": "vector"}]
MOST_GROWTH = 0.15
"""The upper limit of k in the time of a recall ~ memories^k. A hundred times as many memories take
less than twice the time.
"""
MOST_TIMES = 1.5  # as long as among the fewest memories may a context take among the most


def growth(dataset: Dataset, *, endpoint: str, quick: bool) -> list[Table]:
    """Return the clock times of one call by users with different numbers of memories. Raises
    `AssertionError` if they grow too much.
    """
    with tempfile.TemporaryDirectory() as folder:
        vectors = model()
        index = EmbeddedIndex(
            Path(folder) / "index.sqlite", space=vectors.space if vectors else None
        )
        place = Place(dataset, index=index, embedder=vectors, stores=tables_on(endpoint))
        index.prepare()
        door = FrontDoor(place)
        sizes = QUICK_SIZES if quick else SIZES
        for size in sizes:
            remember(place, f"user-{size}", size)
        calls = {
            "recall": recall(door, dataset),
            "context with three blocks": context(door, dataset),
        }
        medians = {name: _medians(call, sizes) for name, call in calls.items()}
    rows: list[list[Cell]] = [
        [
            f"{name}, median ms",
            *points.values(),
            points[sizes[-1]] / points[sizes[0]],
            written(exponent(points)),
        ]
        for name, points in medians.items()
    ]
    notes = (
        (
            f"{ROUNDS} questions of the labelled set each, by the clock, through the API with the "
            f"question's embedding."
        ),
        (
            "Embedded index; tables on dynoxide, on the same machine. The memories have the set's "
            "words."
        ),
        (
            "They were written into table and index directly, as if saved long ago, with vectors that "
            "have no meaning."
        ),
        "Growth is k in time ~ memories^k.",
        f"Asserted: at most {MOST_GROWTH} of it for a recall, and {MOST_TIMES} times for a context.",
    )
    columns = ["memories of the user", *map(shown, sizes), "times", "growth"]
    table = Table("Recall and context as a user's memory grows", columns, rows, notes)
    _assert_flat(medians, table)
    return [table]


def _assert_flat(medians: Mapping[str, Mapping[int, float]], table: Table) -> None:
    recalls, contexts = medians.values()
    k = exponent(recalls)
    assert k is not None, "one size shows no growth"
    assert k <= MOST_GROWTH, for_terminal(table)
    assert contexts[max(contexts)] <= MOST_TIMES * contexts[min(contexts)], for_terminal(table)


def remember(place: Place, user: str, count: int) -> None:
    """Write records of the set's words directly into table and index, as if they had been saved
    long ago.
    """
    scope = TENANT.user(user)
    now = milliseconds(place.clock.now())
    vectors = _noise(place.index.space)
    for batch in batches(_records(place.dataset, user, count, now=now), RECORDS_AT_ONCE):
        place.memories.commit(scope, MemoryCommit(epoch=0, new=batch))
        _write(
            place.index,
            scope,
            [of_record(record).with_vector(next(vectors), is_whole=True) for record in batch],
        )


def _records(dataset: Dataset, user: str, count: int, *, now: int) -> Iterator[Record]:
    chance = random.Random(count)
    words = _vocabulary(dataset)
    for number in range(count):
        content = f"{' '.join(chance.choices(words, k=12))} {number}"
        name = record_id(tenant=TENANT.tenant, user=user, kind="fact", content=content)
        moment = now - (count - number) * 60_000
        yield Record(
            name, "fact", content, created_at=moment, valid_from=moment, index_state="done"
        )


def recall(door: FrontDoor, dataset: Dataset) -> Callable[[int, int], object]:
    """Return a function that makes a recall. Its arguments are the size of the user's memory and
    the number of the question.
    """
    questions = [question.question for question in dataset.questions]
    return lambda size, number: door(
        "POST", f"/v1/users/user-{size}/recall", {"query": questions[number]}
    )


def context(door: FrontDoor, dataset: Dataset) -> Callable[[int, int], object]:
    """Return a function that reads a context for a question, with every block of memory, of a
    conversation of six messages.
    """
    questions = [question.question for question in dataset.questions]

    def begun(size: int) -> str:
        path = f"/v1/sessions/context-{size}"
        memory = {"strategy": "summarize", "blocks": BLOCKS}
        door(
            "POST",
            "/v1/sessions",
            {"session_id": f"context-{size}", "user_id": f"user-{size}", "memory": memory},
        )
        chats = [
            {"role": role, "content": "What about that?"} for role in ("user", "assistant") * 3
        ]
        door("POST", f"{path}/messages", {"messages": chats})
        return path

    session = cache(begun)
    return lambda size, number: door(
        "POST", f"{session(size)}/context", {"message": questions[number]}
    )


def _medians(call: Callable[[int, int], object], sizes: Sequence[int]) -> dict[int, float]:
    """Return the median time of the call for each size. It goes round by round over all sizes, so
    that the machine's other work affects them alike. The first round warms up.
    """
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(ROUNDS + 1):
        for size in sizes:
            begun = time.perf_counter()
            call(size, number)
            times[size].append((time.perf_counter() - begun) * 1e3)
    return {size: statistics.median(taken[1:]) for size, taken in times.items()}


def crowd(dataset: Dataset, *, endpoint: str, quick: bool) -> list[Table]:
    """Return the table of the same questions before and after many memories of other users were
    added to the index.
    """
    with stored(dataset, endpoint) as engines:
        rows = [
            _crowded(name, engine, dataset, QUICK_FOREIGNERS if quick else FOREIGNERS[name])
            for name, engine in engines.items()
        ]
    columns = (
        "index",
        "foreign memories",
        "recall@10 alone",
        "among them",
        "median ms alone",
        "among them",
        "times",
    )
    note = (
        "They are of other users of the same tenant, of the set's words and as long as its "
        "messages; their vectors have"
        " no meaning."
    )
    same = f"Recall@10 among them within {SAME} of alone is asserted, the time is not."
    return [Table("Recall among foreign memories", columns, rows, (note, same))]


def _crowded(name: str, engine: Engine, dataset: Dataset, foreigners: int) -> list[Cell]:
    calls = [(question.user, question.question) for question in dataset.questions[:ROUNDS]]
    before, alone = (
        scored(dataset, partial(engine.door.recall, rerank=False)),
        [_timed(engine, *call) for call in calls],
    )
    add_foreigners(dataset, engine.place.index, foreigners)
    time.sleep(REFRESH_SECONDS)
    after, crowded = (
        scored(dataset, partial(engine.door.recall, rerank=False)),
        [_timed(engine, *call) for call in calls],
    )
    assert abs(before.recall[10] - after.recall[10]) <= SAME, "foreigners changed what is found"
    first, then = statistics.median(alone), statistics.median(crowded)
    return [
        name,
        foreigners,
        f"{before.recall[10]:.3f}",
        f"{after.recall[10]:.3f}",
        first,
        then,
        then / first,
    ]


def _timed(engine: Engine, user: str, question: str) -> float:
    return _taken(lambda: engine.door.recall(user, question, rerank=False))


def add_foreigners(dataset: Dataset, index: SearchIndex, count: int) -> None:
    """Add documents of other users to the same index. They consist of the set's words and are as
    long as its messages.
    """
    chance = random.Random(11)
    vectors = _noise(index.space)
    for user in range(FOREIGN_USERS):
        _fill(
            dataset,
            index,
            TENANT.user(f"foreigner-{user}"),
            count // FOREIGN_USERS,
            chance,
            vectors=vectors,
        )


def _fill(
    dataset: Dataset, index: SearchIndex, scope: UserScope, count: int, chance: random.Random,
    *, vectors: Iterator[Sequence[float] | None],
) -> None:  # fmt: skip
    words, lengths = _vocabulary(dataset), _lengths(dataset)
    texts = (" ".join(chance.choices(words, k=chance.choice(lengths))) for _ in range(count))
    names = (
        record_id(tenant=scope.tenant, user=scope.user, kind="fact", content=str(number))
        for number in range(count)
    )
    documents = (
        Document(name, "fact", text, version=1, created_at=number, vector=next(vectors))
        for number, (name, text) in enumerate(zip(names, texts, strict=True))
    )
    for batch in batches(documents, WRITTEN_AT_ONCE):
        _write(index, scope, batch)


def in_tables(dataset: Dataset, *, endpoint: str, quick: bool) -> Table:
    """Return the cost of a question by words in DynamoDB's tables. Raises `AssertionError` if it
    reads more than its limit.
    """
    sizes = QUICK_SIZES if quick else SIZES
    texts = [question.question for question in dataset.questions[:ROUNDS]]
    spent: Counter[str] = Counter()

    def meter(operation: str, consumed: Any) -> None:
        spent["requests"] += 1
        for capacity in consumed if isinstance(consumed, list) else [consumed]:
            spent["read" if operation in READS else "written"] += capacity["CapacityUnits"]

    index = DynamoDbIndex(search_table(endpoint), "", space=None, endpoint=endpoint, meter=meter)
    index.prepare()
    rows: list[list[Cell]] = []
    for size in sizes:
        scope = TENANT.user(f"tables-{size}")
        spent.clear()
        _fill(dataset, index, scope, size, random.Random(size), vectors=repeat(None))
        written = spent["written"] / size
        index.by_words(scope, texts[0], k=50)
        spent.clear()
        begun = time.process_time()
        taken = [_taken(partial(index.by_words, scope, question, k=50)) for question in texts]
        cpu = (time.process_time() - begun) * 1e3 / len(texts)
        units, requests = spent["read"] / len(texts), spent["requests"] / len(texts)
        assert units <= MOST_UNITS, (
            f"a question by words reads {units:.0f} units among {size} documents"
        )
        assert requests <= MOST_REQUESTS, (
            f"a question by words makes {requests:.1f} requests among {size} documents"
        )
        rows.append([size, statistics.median(taken), max(taken), cpu, units, requests, written])
    columns = (
        "documents of the user", "median ms", "longest ms", "mean CPU ms", "read units a question",
        "requests a question", "write units a document",
    )  # fmt: skip
    notes = (
        (
            f"{len(texts)} questions of the labelled set; documents of the set's words, as long as its "
            f"messages."
        ),
        "Tables on dynoxide, on the same machine: its own work is in the times, and not in the CPU.",
        f"At most {MOST_UNITS} read units and {MOST_REQUESTS} requests a question are asserted.",
        (
            "Write units include the packing of earlier documents, and each document's own "
            "transaction."
        ),
    )
    return Table("A question by words in DynamoDB's tables", columns, rows, notes)


def _taken(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1e3


def _write(index: SearchIndex, scope: UserScope, documents: Sequence[Document]) -> None:
    failed = index.write(scope, documents)
    assert not failed, f"{len(failed)} could not be indexed"


def _noise(space: Space | None) -> Iterator[Sequence[float] | None]:
    """Yield vectors without meaning, endlessly."""
    if space is None:
        return repeat(None)
    chance = random.Random(7)
    made = [[chance.gauss(0, 1) for _ in range(space.dimension)] for _ in range(VECTORS)]
    return chain.from_iterable(repeat(made))


def _lengths(dataset: Dataset) -> Sequence[int]:
    """Return the lengths in words of the messages that have any."""
    counts = (
        len((message.content or "").split())
        for session in dataset.sessions()
        for message in session.messages
    )
    return [count for count in counts if count]


@cache
def _words_of(texts: tuple[str, ...]) -> Sequence[str]:
    return tuple(word for text in texts for word in text.split())


def _vocabulary(dataset: Dataset) -> Sequence[str]:
    """Return each word as often as it was said."""
    return _words_of(
        tuple(
            message.content or "" for session in dataset.sessions() for message in session.messages
        )
    )
