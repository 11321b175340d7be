"""Trains how a new statement is related to a known one, judges it on sets that it has not seen, and
writes it.

python -m benchmarks.truth.relating.train [--judge]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.memory.meaning.relation import Likely, Relations, relations_of
from palimpsest.memory.meaning.signs import own_signs, shared_signs, words_of

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.ranking.train import fitted
from benchmarks.truth.form import BY_OUTSIDERS, OURS, UNREAD, load
from benchmarks.truth.relating.pairs import WRITERS, Pair, of_cases, unrelated, written
from benchmarks.truth.relating.talks import of_talks

WRITTEN = Path("layers/core/python/palimpsest/memory/meaning/relation.json")
COMMAND = "make relate"
FIT = Path(__file__).with_name("fit.py")
STRENGTH = 0.1
OF_WRITTEN = 0.3  # the weight of a written pair beside that of a case
LEAST = {"changes": 0.58, "clearly": 0.75, "repeats": 0.7, "sounds": -3.0, "sounds_clearly": -0.5}
"""The thresholds (`LeastLikely`). They are chosen so that few of the pairs that must stay unchanged
are changed; `--judge` shows how many.
"""


def train(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the weights as they are stored."""
    rows = [_row(pair, is_unrelated=False) for pair in pairs]
    rows += [_row(pair, is_unrelated=True) for pair in unrelated(pairs)]
    return {
        "version": 1,
        "command": COMMAND,
        "pairs": dict(sorted(Counter(pair.label for pair in pairs).items())),
        "thresholds": LEAST,
        **fitted({"pairs": rows, "strength": STRENGTH}, script=FIT),
    }


def _text(stored: dict[str, Any]) -> str:
    """Return the weights as JSON, with one tree a line."""
    trees = ",\n".join(json.dumps(tree) for tree in stored["trees"]["trees"])
    others = {**stored, "trees": {**stored["trees"], "trees": []}}
    text = json.dumps(others, indent=0, ensure_ascii=False)
    return text.replace('"trees": []', f'"trees": [\n{trees}\n]') + "\n"


def _row(pair: Pair, *, is_unrelated: bool) -> dict[str, Any]:
    return {
        "signs": {**own_signs(pair.new), **shared_signs(pair.new, pair.known)},
        "words": sorted(words_of(pair.new.text)),
        "label": pair.label,
        "weight": OF_WRITTEN if pair.of.startswith("by ") else 1.0,
        "group": f"{pair.of} {pair.known.text}",
        "is_unrelated": is_unrelated,
    }


def pairs_by_set() -> dict[str, list[Pair]]:
    """Return the pairs of each set of cases that may be trained on, and the written ones."""
    by_set = {
        **{f"by {writer}": list(written(writer)) for writer in WRITERS},
        "talks": list(of_talks(is_odd=False)),
        "ours": list(of_cases("ours", load(OURS))),
    }
    folders = {path for path in OURS.iterdir() if path.is_dir()}
    for folder in sorted(folders - {*UNREAD, *BY_OUTSIDERS}):
        by_set[folder.name] = list(of_cases(folder.name, load(folder)))
    return {name: pairs for name, pairs in by_set.items() if pairs}


def judged(pairs: Sequence[Pair], relations: Relations) -> list[Cell]:
    """Return how many changes and repetitions are found, and how many other pairs are taken for
    one.
    """
    likely = [(pair, relations.likely(pair.new, pair.known)) for pair in pairs]
    marks = relations.thresholds

    def changes(relation: Likely) -> bool:
        return relation.changes >= marks.changes

    def repeats(relation: Likely) -> bool:
        return relation.repeats >= marks.repeats

    changed = [relation for pair, relation in likely if pair.label in ("replace", "end")]
    repeated = [relation for pair, relation in likely if pair.label == "repeat"]
    left = [relation for pair, relation in likely if pair.label == "leave"]
    kept = [relation for pair, relation in likely if pair.label not in ("replace", "end")]
    sounds = [relations.may_change(p.new.text) for p in pairs if p.label in ("replace", "end")]
    return [
        f"{sum(map(changes, changed))}/{len(changed)}",
        f"{sum(map(changes, kept))}/{len(kept)}",
        f"{sum(map(repeats, repeated))}/{len(repeated)}",
        f"{sum(map(repeats, left))}/{len(left)}",
        f"{sum(sounds)}/{len(sounds)}",
    ]


def table(sets: dict[str, list[Pair]]) -> Table:
    """Return the judgement of each set by weights that were trained on the other sets."""
    rows: list[list[Cell]] = []
    for name, pairs in sets.items():
        others = [
            pair for other, pairs_of_set in sets.items() if other != name for pair in pairs_of_set
        ]
        rows.append([name, *judged(pairs, relations_of(train(others)))])
    columns = ("set, left out", "changes", "wrongly", "repeats", "wrongly", "sounds changed")
    return Table("How statements are related", columns, rows, ())


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--judge", action="store_true", help="judge, and do not write the weights")
    options = asking.parse_args()
    sets = pairs_by_set()
    if options.judge:
        print(for_terminal(table(sets)))
    else:
        stored = train([pair for pairs_of_set in sets.values() for pair in pairs_of_set])
        WRITTEN.write_text(_text(stored))


if __name__ == "__main__":
    main()
