"""The resident memory of what runs in the function `memories`: the library, the two built-in
models, and the processes of the graph. Each part is measured at its highest, in a process of its
own.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from benchmarks.beside.environments import environment, printed
from benchmarks.report import Cell, Table
from benchmarks.retrieval.labelled.dataset import load
from benchmarks.service import Place
from tests.engines import builtin_models

LIBRARY, MODELS, GRAPH = "the library", "two models", "a graph's process"
TITLE = "Memory of the function `memories`"
COLUMNS = ("part", "MB")
SECONDS = 300
THREADS, TEXTS = 4, 60  # callers at the same time, and the texts of each
QUERY = "MATCH (a)-[r]->(b) RETURN count(r)"
MEGABYTE = 1024 * 1024


def table(place: Place) -> Table:
    if missing := builtin_models.install():
        raise RuntimeError(missing)
    rows: list[list[Cell]] = [[name, f"{_measured(name, place):.0f}"] for name in PARTS]
    return Table(TITLE, COLUMNS, rows, list(_notes()))


def _notes() -> Iterator[str]:
    yield (
        "The highest resident memory, each part in a process of its own. The models are counted without "
        "the library."
    )
    yield (
        f"{MODELS.capitalize()}: the embedder and the reranker, while {THREADS} threads work with "
        f"{TEXTS} long texts each."
    )
    yield (
        f"{GRAPH.capitalize()}: the interpreter and the engine with a graph of the largest size, after "
        "a query over all of it. Its pool of pages and each query have limits of their own."
    )


def _measured(part: str, place: Place) -> float:
    return float(printed("benchmarks.load.memory", part, env=environment(place), seconds=SECONDS))


def resident_mb(process: int | str = "self") -> float:
    """Return the highest resident memory that a process has had (Linux), in MB."""
    (line,) = (
        line
        for line in Path(f"/proc/{process}/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) * 1024 / MEGABYTE


def library() -> float:
    importlib.import_module("functions.memories.handler")
    return resident_mb()


def models() -> float:
    from palimpsest.models.builtin import BuiltinEmbedder, BuiltinReranker

    before = library()
    embedder = BuiltinEmbedder(builtin_models.FOLDER)
    reranker = BuiltinReranker(builtin_models.FOLDER)
    contents = [message.content for session in load().sessions() for message in session.messages]
    texts = [content * 20 for content in contents if content][:TEXTS]

    def work(_: int) -> None:
        embedder.embed(texts)
        reranker.scores(texts[0], texts, until=monotonic() + SECONDS)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return resident_mb() - before


def graph() -> float:
    from palimpsest.graph.neighbourhood import Graph
    from palimpsest.graph.ports import GraphLimits
    from palimpsest.graph.things import MOST_THINGS, Entity, Relationship
    from palimpsest.scope import UserScope
    from palimpsest_graph.ladybug.graphs import LadybugGraphs

    names = [f"entity/{number}" for number in range(MOST_THINGS)]
    nodes = {name: Entity(name, "Thing", name, {"value": name * 4}) for name in names}
    edges = tuple(
        Relationship(f"r{number}", "KNOWS", name, names[number * 7 % MOST_THINGS])
        for number, name in enumerate(names)
    )
    graphs = LadybugGraphs()
    whole, limits = Graph(nodes=nodes, edges=edges), GraphLimits(seconds=SECONDS)
    graphs.query(UserScope("acme", "sarah"), whole, graphs.read(QUERY), {}, limits=limits)
    (process,) = graphs.processes
    used = resident_mb(process)
    graphs.close()
    return used


PARTS: Mapping[str, Callable[[], float]] = {LIBRARY: library, MODELS: models, GRAPH: graph}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]()))
