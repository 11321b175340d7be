"""Trains which sentences ask to keep words off the record, judges that on sentences that it has not
seen, and writes it.

python -m benchmarks.truth.wishes.train [--judge]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.conversations.message import text_of
from palimpsest.privacy.asks import NOTHING, asked_by, signs_of
from palimpsest.text.labelling import label_weights
from palimpsest.text.sentences import sentences

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.labelled.dataset import ASSISTANTS, FRIENDS, HELPERS, MESSAGES
from benchmarks.retrieval.labelled.dataset import OURS as MEMORY
from benchmarks.retrieval.labelled.dataset import load as load_talks
from benchmarks.retrieval.ranking.train import fitted
from benchmarks.truth.form import BY_ANOTHER, BY_OUTSIDERS, CHANGES, LATER, ORDINARY, OURS, load
from benchmarks.truth.lasting.run import SETS as LASTING
from benchmarks.truth.lasting.run import Labelled, labelled

WRITTEN = Path("layers/core/python/palimpsest/privacy/asks.json")
SETS = tuple(sorted(Path(__file__).parent.glob("*.tsv")))
TALKS = (MEMORY, FRIENDS, ASSISTANTS, MESSAGES, HELPERS)
COMMAND = "make wishes"
FIT = Path(__file__).with_name("fit.py")
STRENGTH = 3.0
OF_OTHERS = 0.5  # the weight of an ordinary sentence beside a written one
FOLDS = 5
_Sentence = TypeVar("_Sentence")
LEAST = {"this": 0.75, "back": 0.7, "next": 0.8, "resume": 0.7}
"""How likely it must be that a sentence asks for any of it, by what it most likely asks for."""


def ordinary(*, without: Sequence[str] = ("off the record", "deleted")) -> list[str]:
    """Return sentences of users who ask for nothing of the kinds of cases `without`. A twin of such
    a case only sounds like one.
    """
    folders = (OURS, *ORDINARY, *LATER, *CHANGES, *BY_ANOTHER, *BY_OUTSIDERS)
    of_cases = [
        sentence
        for folder in folders
        for case in load(folder)
        if case.twin_of is not None or case.kind not in without
        for session in case.sessions
        for message in session.messages
        if message.role == "user"
        for sentence in sentences(text_of(message.model_dump(exclude_unset=True, mode="json")))
    ]
    cut = [text for path in LASTING for _, text in labelled(path)]
    of_talks = [
        sentence
        for folder in TALKS
        for session in load_talks(folder).sessions()
        for message in session.messages
        if message.role == "user"
        for sentence in sentences(message.text)
    ]
    return list(dict.fromkeys([*of_cases, *cut, *of_talks]))


def train(written: Sequence[Labelled], others: Iterable[str]) -> dict[str, Any]:
    """Return the weights as they are stored."""
    rows = [
        {"signs": sorted(signs_of(text)), "label": label, "weight": 1.0} for label, text in written
    ]
    rows += [
        {"signs": sorted(signs_of(text)), "label": NOTHING, "weight": OF_OTHERS} for text in others
    ]
    return {
        "version": 1,
        "command": COMMAND,
        "sentences": len(rows),
        "least": LEAST,
        **fitted({"sentences": rows, "strength": STRENGTH}, script=FIT),
    }


def table(written: dict[str, list[Labelled]], others: Sequence[str]) -> Table:
    """Return how many sentences of each label are found by weights that were trained without them."""
    labels = (*LEAST, NOTHING)
    counts = {(name, label): [0, 0, 0] for name in written for label in labels}
    wrong = 0
    for fold in range(FOLDS):
        kept = [
            sentence
            for sentences_of_set in written.values()
            for sentence in without_fold(sentences_of_set, fold)
        ]
        weights = label_weights(train(kept, without_fold(others, fold)))
        wrong += sum(asked_by(text, weights) is not None for text in others[fold::FOLDS])
        for name, sentences_of_set in written.items():
            for label, text in sentences_of_set[fold::FOLDS]:
                asks = asked_by(text, weights)
                count = counts[name, label]
                count[0] += 1
                count[1] += asks is not None
                count[2] += (asks or NOTHING) == label
    rows: list[list[Cell]] = [
        [name, label, *count] for (name, label), count in counts.items() if count[0]
    ]
    rows.append(["ordinary", NOTHING, len(others), wrong, len(others) - wrong])
    return Table("Wishes", ("set", "label", "sentences", "taken for a wish", "right"), rows, ())


def without_fold(of_set: Sequence[_Sentence], fold: int) -> list[_Sentence]:
    return [sentence for number, sentence in enumerate(of_set) if number % FOLDS != fold]


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--judge", action="store_true", help="judge, and do not write the weights")
    options = asking.parse_args()
    written = {path.stem: labelled(path) for path in SETS}
    others = ordinary()
    if options.judge:
        print(for_terminal(table(written, others)))
    else:
        stored = train(list(chain.from_iterable(written.values())), others)
        WRITTEN.write_text(json.dumps(stored, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
