"""The speed at which the search index is updated. The labelled set's messages go through `Embed`,
on both engines.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from palimpsest.engines.opensearch.client import connected
from palimpsest.engines.opensearch.index import OpenSearchIndex
from palimpsest.models.ports import Embedder
from palimpsest.scope import UserScope
from palimpsest.search.ports import SearchIndex
from palimpsest_local.embedded.index import EmbeddedIndex

from benchmarks.report import Cell, Table
from benchmarks.retrieval.labelled.dataset import Dataset
from benchmarks.retrieval.place import BATCH, TENANT, Place
from benchmarks.retrieval.quality import PATIENCE, REFRESH_SECONDS, model
from tests.engines import opensearch

Make = Callable[[str, Embedder | None], SearchIndex]


def table(dataset: Dataset) -> Table:
    rows: list[list[Cell]] = []
    with _engines() as engines:
        for name, make in engines.items():
            for kind, embedder in (("words", None), ("words and vectors", model())):
                index = make(kind.replace(" ", "-"), embedder)
                rows.append([name, kind, *_indexed(dataset, index, embedder)])
    notes = (
        (
            f"Through the use case of the function `embed`, {BATCH} changes at once: read from the "
            f"stores, embed, write."
        ),
        (
            "Stores in this process; the built-in model embeds. That every message can be found then "
            "is asserted."
        ),
    )
    return Table(
        "Bringing the search index up to date",
        ("index", "of each message", "messages", "a second"),
        rows,
        notes,
    )


@contextlib.contextmanager
def _engines() -> Iterator[dict[str, Make]]:
    """Yield functions that each make an empty index under a name of its own, by engine."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        engines: dict[str, Make] = {
            "embedded": lambda name, model: EmbeddedIndex(
                Path(folder) / name, space=model.space if model else None
            )
        }
        if opensearch.missing() is None:
            opensearch.install()
            client = connected(stack.enter_context(opensearch.running()), seconds=PATIENCE)
            engines["opensearch"] = lambda name, model: OpenSearchIndex(
                client, family=name, space=model.space if model else None
            )
        yield engines


def _indexed(dataset: Dataset, index: SearchIndex, embedder: Embedder | None) -> tuple[int, float]:
    place = Place(dataset, index=index, embedder=embedder)
    index.prepare()
    changes = [change for session in dataset.sessions() for change in place.keep(session)]
    begun = time.perf_counter()
    place.put(changes)
    seconds = time.perf_counter() - begun
    time.sleep(REFRESH_SECONDS)
    users = {session.user for session in dataset.sessions()}
    assert sum(index.count(UserScope(TENANT.tenant, user)) for user in users) == len(changes)
    return len(changes), len(changes) / seconds
