"""Counts how many sentences are stored without a model, by whether they mean something later.

The sentences were cut from messages of users in our labelled conversations. None is of a known
kind. Each was read alone, and has a label: `alone` means something by itself a year later, `partly`
lacks something important, and `not` means nothing without its conversation.

python -m benchmarks.truth.lasting.run
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from palimpsest.offline.extractor import states

from benchmarks.report import Cell, Table, for_terminal

LABELS = ("alone", "partly", "not")
SETS = tuple(sorted(Path(__file__).parent.glob("*.tsv")))
Labelled = tuple[str, str]
"""A label and its sentence."""


def labelled(*sets: Path) -> list[Labelled]:
    """Return the sentences of the sets. A row of a file has a label, a tab and a sentence."""
    rows = chain.from_iterable(path.read_text("utf-8").splitlines() for path in sets)
    return [(label, text) for label, _, text in (row.partition("\t") for row in rows)]


def stored(sentences: Sequence[Labelled], label: str) -> float:
    """Return the share of the sentences with this label that are stored."""
    made = [bool(states(text)) for labelled_as, text in sentences if labelled_as == label]
    return sum(made) / len(made)


def table() -> Table:
    rows: list[list[Cell]] = []
    for path in SETS:
        sentences = labelled(path)
        shares = (f"{stored(sentences, label):.0%}" for label in LABELS)
        rows.append([path.stem, len(sentences), *shares])
    return Table("Sentences that are stored", ("set", "sentences", *LABELS), rows)


if __name__ == "__main__":
    print(for_terminal(table()))
