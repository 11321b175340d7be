"""Counts how many sentences are stored without a model, by whether they mean something later.

The lines were cut from what the users of our labelled conversations say, and are of no known kind.
A reader gave each a label: `alone` means something by itself a year later, `partly` lacks
something important, and `not` means nothing without its conversation. Two readers gave 264 of 320
lines the same label, and none was `alone` for one and `not` for the other.

python -m benchmarks.truth.lasting
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from palimpsest.offline.extractor import states

from benchmarks.report import Cell, Table

Label = Literal["alone", "partly", "not"]
LABELS: tuple[Label, ...] = get_args(Label)
SETS = tuple(sorted(Path(__file__).parent.glob("*.tsv")))


@dataclass(frozen=True, slots=True)
class Line:
    label: Label
    text: str


def lines_of(path: Path) -> list[Line]:
    """Return the lines of a set. Its file has a label, a tab and a sentence in each row."""
    rows = (row.split("\t") for row in path.read_text("utf-8").splitlines())
    return [Line(_label(label), text) for label, text in rows]


def _label(word: str) -> Label:
    return next(label for label in LABELS if label == word)


def stored(lines: Sequence[Line], label: Label) -> float:
    """Return the share of the lines with this label that are stored."""
    made = [bool(states(line.text)) for line in lines if line.label == label]
    return sum(made) / len(made)


def table() -> Table:
    rows: list[list[Cell]] = []
    for path in SETS:
        lines = lines_of(path)
        shares = (f"{stored(lines, label):.0%}" for label in LABELS)
        rows.append([path.stem, len(lines), *shares])
    return Table("Sentences that are stored", ("set", "lines", *LABELS), rows, ())
