"""Trains which sentences tell a secret that no pattern knows, judges that on sentences that it has
not seen, and writes it.

A line of a `.txt` file is a message, with "⟦" and "⟧" around each secret in it. Before " ||| " is
the message before it. A line of a `.tsv` file is a label and a sentence.

python -m benchmarks.truth.told.train [--judge]
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from palimpsest.privacy.secrets import named_secrets
from palimpsest.privacy.told import (
    NAMES,
    NOTHING,
    TELLS,
    Run,
    label_of,
    sentences_of,
    signs_of,
    tokens_of,
)
from palimpsest.text.labelling import label_weights

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.ranking.train import fitted
from benchmarks.truth.lasting.run import labelled
from benchmarks.truth.wishes.train import FIT, FOLDS, OF_OTHERS, ordinary, without_fold
from benchmarks.truth.wishes.train import SETS as WISHES

WRITTEN = Path("layers/core/python/palimpsest/privacy/told.json")
HERE = Path(__file__).parent
COMMAND = "make told"
STRENGTH = 5.0
LEAST = {TELLS: 0.5, NAMES: 0.4}
"""How likely each label must be."""
_SECRET = re.compile("⟦(.*?)⟧")


@dataclass(frozen=True, slots=True)
class Line:
    """A message and the message before it, with the places of the secrets in the message."""

    before: str
    text: str
    places: Sequence[tuple[int, int]]

    @property
    def sentences(self) -> Iterator[tuple[Sequence[Run], str]]:
        """Yield the tokens and the label of each sentence of the message."""
        for start, end in sentences_of(self.text):
            has = any(start < last and first < end for first, last in self.places)
            yield tokens_of(self.text, start, end), TELLS if has else NOTHING


@dataclass(frozen=True, slots=True)
class Row:
    tokens: Sequence[Run]
    label: str
    is_named: bool = False
    weight: float = 1.0


def line_of(marked: str) -> Line:
    before, _, after = marked.rpartition(" ||| ")
    places, text, place = list[tuple[int, int]](), "", 0
    for match in _SECRET.finditer(after):
        text += after[place : match.start()]
        places.append((len(text), len(text) + len(match[1])))
        text += match[1]
        place = match.end()
    return Line(_SECRET.sub(r"\1", before), text + after[place:], places)


def lines_of(path: Path) -> list[Line]:
    return [line_of(line) for line in path.read_text("utf-8").splitlines() if line]


def rows_of(line: Line) -> Iterator[Row]:
    """Yield the sentences of both messages. A message that tells nothing, after another one, is
    such a message in both cases, because the other one may name a secret or not.
    """
    for tokens, label in line.sentences:
        if line.before and not line.places:
            yield Row(tokens, label, weight=0.5)
            yield Row(tokens, label, is_named=True, weight=0.5)
        else:
            yield Row(tokens, label, is_named=bool(line.before))
    label = NAMES if line.places else NOTHING
    yield from (Row(tokens_of(line.before, *place), label) for place in sentences_of(line.before))


def train(rows: Iterable[Row]) -> dict[str, Any]:
    """Return the weights as they are stored."""
    sentences = [
        {
            "signs": sorted(signs_of(row.tokens, is_named=row.is_named)),
            "label": row.label,
            "weight": row.weight,
        }
        for row in rows
        if row.tokens
    ]
    return {
        "version": 1,
        "command": COMMAND,
        "sentences": len(sentences),
        "least": LEAST,
        **fitted({"sentences": sentences, "strength": STRENGTH}, script=FIT),
    }


def every_row(
    lines: Iterable[Line], sentences: Iterable[tuple[str, str]], others: Iterable[str]
) -> Iterator[Row]:
    yield from chain.from_iterable(map(rows_of, lines))
    for label, text in sentences:
        yield from (Row(tokens_of(text, *place), label) for place in sentences_of(text))
    for text in others:
        for place in sentences_of(text):
            tokens = tokens_of(text, *place)
            yield Row(tokens, NOTHING, weight=OF_OTHERS)
            yield Row(tokens, NOTHING, is_named=True, weight=OF_OTHERS)


def others() -> list[str]:
    """Return sentences of users who tell no secret."""
    wishes = (text for path in WISHES for _, text in labelled(path))
    every = [*ordinary(without=("secret",)), *wishes]
    return [text for text in every if not any(named_secrets(text))]


def table(lines: dict[str, list[Line]], sentences: dict[str, list[tuple[str, str]]]) -> Table:
    """Return what is found by weights that were trained without it."""
    counts: dict[tuple[str, str], list[int]] = {}
    plain = others()
    for fold in range(FOLDS):
        weights = label_weights(
            train(
                every_row(
                    chain.from_iterable(without_fold(part, fold) for part in lines.values()),
                    chain.from_iterable(without_fold(part, fold) for part in sentences.values()),
                    without_fold(plain, fold),
                )
            )
        )
        judged = [
            (name, TELLS if line.places else NOTHING, bool(line.before), TELLS, line.sentences)
            for name, part in lines.items()
            for line in part[fold::FOLDS]
        ]
        for name, wanted, is_named, sought, parts in judged:
            is_found = any(
                label_of(tokens, weights, is_named=is_named) == sought
                for tokens, label in parts
                if label == wanted and tokens
            )
            count = counts.setdefault((name, f"{wanted}{' after another' * is_named}"), [0, 0])
            count[0] += 1
            count[1] += is_found
        written = [
            (name, label, text)
            for name, part in (*sentences.items(), ("ordinary", [(NOTHING, x) for x in plain]))
            for label, text in part[fold::FOLDS]
        ]
        for name, label, text in written:
            labels = {label_of(tokens_of(text, *place), weights) for place in sentences_of(text)}
            sought = NAMES if name == "names" else TELLS
            count = counts.setdefault((name, label), [0, 0])
            count[0] += 1
            count[1] += sought in labels
    rows: list[list[Cell]] = [[*key, *count] for key, count in counts.items()]
    return Table("Told secrets", ("set", "label", "lines", "taken for it"), rows, ())


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--judge", action="store_true", help="judge, and do not write the weights")
    options = asking.parse_args()
    lines = {path.stem: lines_of(path) for path in sorted(HERE.glob("*.txt"))}
    sentences = {path.stem: labelled(path) for path in sorted(HERE.glob("*.tsv"))}
    if options.judge:
        print(for_terminal(table(lines, sentences)))
    else:
        every = every_row(
            chain.from_iterable(lines.values()), chain.from_iterable(sentences.values()), others()
        )
        WRITTEN.write_text(
            json.dumps(train(every), ensure_ascii=False, separators=(",", ":")) + "\n"
        )


if __name__ == "__main__":
    main()
