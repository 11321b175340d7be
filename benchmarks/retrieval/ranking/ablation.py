"""Measures what each signal of the ranker and each constant of the steps after it does for recall.

python -m benchmarks.retrieval.ranking.ablation [--set FOLDER]... [--write]
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from palimpsest.models.catalogue import OTHER, THRESHOLDS
from palimpsest.recall import passage, recall, refine, replacing, signals, topics
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.ranking import Ranked
from palimpsest.recall.signals import SIGNALS, Signal
from palimpsest.recall.weights import DAY, Weights

from benchmarks import report
from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.labelled.dataset import OUR_SETS, load
from benchmarks.retrieval.place import Place, filled
from benchmarks.retrieval.ranking.asked import AskedQuestion, asked, built_in_models
from benchmarks.retrieval.ranking.train import kind_left_out
from benchmarks.retrieval.scores import Scores, scored

NEAR = ("unrelated", "words", "own", "beside")
"""The thresholds of the embedding model."""


@dataclass(frozen=True, slots=True)
class Change:
    """One constant or rule that a row of the table changes: fields of the weights, thresholds of
    the model, and names in the modules of a recall.
    """

    weights: Mapping[str, Any] = field(default_factory=dict)
    near: Mapping[str, Any] = field(default_factory=dict)
    names: Sequence[tuple[ModuleType, str, Any]] = ()

    def weights_of(self, shipped: Weights) -> Weights:
        return replace(shipped, near=replace(shipped.near, **self.near), **self.weights)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for module, name, value in self.names:
                stack.enter_context(patch.object(module, name, value))
            yield


def _as_found(memories: Sequence[FoundMemory], *_: object, **__: object) -> list[FoundMemory]:
    return list(memories)


def _all(results: Sequence[Ranked], **_: object) -> tuple[Ranked, ...]:
    return tuple(results)


CHANGES: Mapping[str, Change] = {
    "as it ships": Change(),
    "`importance` 0": Change({"importance": 0.0}),
    "`recency` 0": Change({"recency": 0.0}),
    "`half_life` of a year": Change({"half_life": 365 * DAY}),
    "`over` 0": Change({"over": 0.0}),
    "`feedback` 0": Change({"feedback": 0.0}),
    "`period` 0": Change({"period": 0.0}),
    "`DAYS` 0": Change(names=[(recall, "DAYS", 0.0)]),
    "`vector` 0.5": Change({"vector": 0.5}),
    "earlier values of topics are not lowered": Change({"same_topic": inf}),
    "nothing is cut as far": Change({"far": inf}),
    "nothing is cut at all": Change(names=[(recall, "near_enough", _all)]),
    "`unrelated` 0": Change(near={"unrelated": 0.0}),
    **{f"`{name}` 0": Change(near={name: 0.0}) for name in NEAR if name != "unrelated"},
    "no topics by meaning": Change(names=[(topics, "LEAST", inf)]),
    "`MIN_READ` 30": Change(names=[(recall, "MIN_READ", 30)]),
    "repetitions stay": Change(names=[(recall, "without_echoes", _as_found)]),
    "later statements are not first": Change(names=[(recall, "newer_first", _as_found)]),
    "`LOOKED_AT` 3": Change(names=[(refine, "LOOKED_AT", 3)]),
    "`LEAST` of a later statement 0.2": Change(names=[(replacing, "LEAST", 0.2)]),
    "`IN_ONE_TALK` 0.5": Change(names=[(replacing, "IN_ONE_TALK", 0.5)]),
    "a later statement always needs an equal word": Change(
        names=[(replacing, "WITHOUT_A_WORD", inf)]
    ),
    "`WORDS_ALIKE` 3": Change(names=[(replacing, "WORDS_ALIKE", 3)]),
    "earlier statements are not marked": Change(names=[(replacing, "REPLACES", inf)]),
    "`SHORT` 200": Change(names=[(signals, "SHORT", 200)]),
    "`LONG` 10,000": Change(names=[(passage, "LONG", 10_000)]),
}
"""What each row of the table changes, by the title of the row."""


def of_signals(questions: Sequence[AskedQuestion]) -> Table:
    """Recall without each signal, by rankers that were trained on the other sets."""
    names = sorted({question.of for question in questions})
    rows: list[list[Cell]] = []
    left_out: tuple[Signal | None, ...] = (None, *SIGNALS)
    for without in left_out:
        row: list[Cell] = [f"without `{without}`" if without else "all signals"]
        for name in names:
            scores = kind_left_out(questions, name, without=without)
            row.append(f"{scores.recall:.3f}, {scores.mrr:.3f}")
        print(*row, sep=" | ", flush=True)
        rows.append(row)
    note = "Recall@10 and MRR of the ranker alone. It was trained anew without the set's kind."
    return Table("Recall without one signal", ("", *names), rows, (note,))


def of_constants(places: Sequence[Place], *, shipped: Weights) -> Table:
    """Recall through all steps, with one constant or rule changed at a time."""
    rows: list[list[Cell]] = []
    for title, change in CHANGES.items():
        row: list[Cell] = [title]
        weights = change.weights_of(shipped)
        with change.made():
            row += [
                cell(scored(place.dataset, partial(place.recall, weights=weights)))
                for place in places
            ]
        print(*row, sep=" | ", flush=True)
        rows.append(row)
    note = (
        "Recall@10, MRR, new before old from messages, and old messages among the first five that "
        "are not marked, through all steps of a recall. The ranker was trained on these sets."
    )
    names = [place.dataset.name for place in places]
    return Table("Recall without one constant", ("", *names), rows, (note,))


def cell(scores: Scores) -> str:
    values = (scores.recall[10], scores.mrr, scores.new_first_told, scores.stale_messages)
    return ", ".join(f"{value:.3f}" for value in values)


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--set", action="append", type=Path, dest="sets")
    asking.add_argument("--write", action="store_true", help="write the tables into the results")
    options = asking.parse_args()
    embedder, reranker = built_in_models()
    questions: list[AskedQuestion] = []
    with contextlib.ExitStack() as stack:
        places = []
        for path in options.sets or OUR_SETS:
            place = filled(load(path), embedder=embedder, reranker=reranker)
            places.append(stack.enter_context(place))
            questions += asked(places[-1])
        shipped = Weights(near=THRESHOLDS.get(embedder.space.model, OTHER))
        tables = [of_signals(questions), of_constants(places, shipped=shipped)]
    for table in tables:
        print(for_terminal(table), end="\n\n")
    if options.write:
        report.amend(report.machine(), tables)


if __name__ == "__main__":
    main()
