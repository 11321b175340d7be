"""Measures what each signal of the ranker and each constant of the steps after it does for recall.

python -m benchmarks.retrieval.ranking.ablation [--set FOLDER]... [--write]
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from palimpsest.models.catalogue import OTHER, THRESHOLDS
from palimpsest.recall.signals import SIGNALS, Signal
from palimpsest.recall.weights import Weights

from benchmarks import report
from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.labelled.dataset import OUR_SETS, load
from benchmarks.retrieval.place import Place, filled
from benchmarks.retrieval.ranking.asked import AskedQuestion, asked, built_in_models
from benchmarks.retrieval.ranking.train import kind_left_out
from benchmarks.retrieval.scores import scored

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "as it ships": {},
    "`importance` 0": {"importance": 0.0},
    "`recency` 0": {"recency": 0.0},
    "`over` 0": {"over": 0.0},
    "`period` 0": {"period": 0.0},
    "earlier values of topics are not lowered": {"same_topic": inf},
    "nothing is cut as far": {"far": inf},
}
"""The constants that each row of the table changes, by the title of the row."""


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
        rows.append(row)
    note = "Recall@10 and MRR of the ranker alone. It was trained anew without the set's kind."
    return Table("Recall without one signal", ("", *names), rows, (note,))


def of_constants(places: Sequence[Place], *, shipped: Weights) -> Table:
    """Recall through all steps, with one constant changed at a time."""
    rows: list[list[Cell]] = []
    for title, change in CHANGES.items():
        weights = replace(shipped, **change)
        row: list[Cell] = [title]
        for place in places:
            scores = scored(place.dataset, partial(place.recall, weights=weights))
            from_messages = scores.new_first_told
            row.append(f"{scores.recall[10]:.3f}, {scores.mrr:.3f}, {from_messages:.3f}")
        rows.append(row)
    note = "Recall@10, MRR, and new before old from messages, through all steps of a recall."
    names = [place.dataset.name for place in places]
    return Table("Recall without one constant", ("", *names), rows, (note,))


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
