"""Trains which sentences mean something without their conversation, judges that on sets that it has
not seen, and writes it.

python -m benchmarks.truth.lasting.train [--judge]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from palimpsest.offline.extractor import is_known
from palimpsest.offline.self_contained import SelfContained, is_long, self_contained_of, signs_of

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.ranking.train import fitted
from benchmarks.truth.lasting.run import LABELS, SETS, Labelled, labelled

WRITTEN = Path("layers/core/python/palimpsest/offline/self_contained.json")
COMMAND = "make lasting"
LOST = 0.01
"""The share of the short sentences that stand alone which may count as meaning nothing."""
OUTCOMES = {"alone": {1: 1.0}, "partly": {1: 0.5, 0: 0.5}, "not": {0: 1.0}}
"""The outcomes of a label with their weights."""
DIGITS = 4
Sets = Mapping[str, Sequence[Labelled]]


def train(sets: Sets) -> dict[str, Any]:
    """Return the weights as they are stored. A set of four times as many sentences counts twice."""
    rows = list(chain.from_iterable(_rows(sentences) for sentences in sets.values()))
    names = list(rows[0][0])
    made = fitted(
        {
            "rows": [[signs[name] for name in names] for signs, _, _ in rows],
            "y": [outcome for _, outcome, _ in rows],
            "weights": [weight for _, _, weight in rows],
        }
    )
    plain = [weight / scale for weight, scale in zip(made["weights"], made["scales"], strict=True)]
    constant = made["constant"] - sum(
        weight * mean for weight, mean in zip(plain, made["means"], strict=True)
    )
    stored = {
        "version": 1,
        "command": COMMAND,
        "sentences": sum(map(len, sets.values())),
        "constant": round(constant, DIGITS),
        "weights": {name: round(weight, DIGITS) for name, weight in zip(names, plain, strict=True)},
    }
    weights = self_contained_of({**stored, "least": 0.0})
    alone = sorted(_odds(weights, chain.from_iterable(sets.values()), "alone"))
    return {**stored, "least": round(alone[ceil(LOST * len(alone))], DIGITS)}


def _rows(sentences: Sequence[Labelled]) -> Iterator[tuple[Mapping[str, float], int, float]]:
    for label, text in sentences:
        signs = signs_of(text)
        for outcome, weight in OUTCOMES[label].items():
            yield signs, outcome, weight / sqrt(len(sentences))


def _odds(weights: SelfContained, sentences: Iterator[Labelled], label: str) -> Iterator[float]:
    return (weights.odds(signs_of(text)) for labelled_as, text in sentences if labelled_as == label)


def judged(path: Path) -> list[Labelled]:
    """Return the sentences of a set that extraction judges by the weights: the short ones that are
    of no known kind.
    """
    return [
        (label, text) for label, text in labelled(path) if not is_known(text) and not is_long(text)
    ]


def dropped(weights: SelfContained, sentences: Sequence[Labelled], label: str) -> float:
    """Return the share of the sentences with this label that count as meaning nothing."""
    odds = list(_odds(weights, iter(sentences), label))
    return sum(sentence_odds < weights.least for sentence_odds in odds) / len(odds)


def table(sets: Sets) -> Table:
    """Return the share that is dropped of each set, by weights that were trained on the others."""
    rows: list[list[Cell]] = []
    for name, sentences in sets.items():
        others = {other: those for other, those in sets.items() if other != name}
        weights = self_contained_of(train(others))
        shares = (f"{dropped(weights, sentences, label):.1%}" for label in LABELS)
        rows.append([name, len(sentences), *shares])
    return Table("Sentences that are dropped", ("set, left out", "sentences", *LABELS), rows, ())


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--judge", action="store_true", help="judge, and do not write the weights")
    options = asking.parse_args()
    sets = {path.stem: judged(path) for path in SETS}
    if options.judge:
        print(for_terminal(table(sets)))
    else:
        WRITTEN.write_text(json.dumps(train(sets), indent=1) + "\n")


if __name__ == "__main__":
    main()
