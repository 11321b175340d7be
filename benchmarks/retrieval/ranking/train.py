"""Trains recall's ranker on our labelled sets, judges it on what it has not seen, and writes it.

python -m benchmarks.retrieval.ranking.train [--set FOLDER]... [--judge]
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from palimpsest.recall.ranker import Rankers, likelihood, rankers_of
from palimpsest.recall.rerank import FIRST
from palimpsest.recall.signals import READ, SIGNALS, Signal

from benchmarks.beside.environments import Peer, python_of
from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.ranking.asked import Asked, AskedQuestion, as_read, asked, gathered

WRITTEN = Path("layers/core/python/palimpsest/recall/ranker.json")
LEARNER = Peer("ranker", "scikit-learn", ("scikit-learn",), "fits the weights of the ranker")
FIT = Path(__file__).with_name("fit.py")
FOLDS = 5
DIGITS = 4
COMMAND = "make train"


@dataclass(frozen=True, slots=True)
class Judged:
    """The mean share of the evidence among the first ten, and the mean reciprocal rank."""

    recall: float
    mrr: float
    questions: int


def train(questions: Sequence[AskedQuestion], *, without: Signal | None = None) -> dict[str, Any]:
    """Return the rankers as they are stored, `without` one of the signals. Each set counts the same."""
    usable = [
        question
        for question in questions
        if len({question.is_answer(candidate) for candidate in question.candidates}) == 2
    ]
    counts = Counter(question.of for question in usable)
    names = [name for name in SIGNALS if name != without]
    alone = _fit(
        [name for name in names if name not in READ],
        (
            (
                question,
                question.candidates,
                [candidate.signals for candidate in question.candidates],
            )
            for question in usable
        ),
        counts,
    )
    half = rankers_of({"rankers": {"found": alone, "read": alone}})
    first = [(question, _best(question, half)[:FIRST]) for question in usable]
    read = _fit(names, ((question, best, as_read(best)) for question, best in first), counts)
    return {
        "version": 1,
        "command": COMMAND,
        "sets": sorted(counts),
        "questions": len(usable),
        "rankers": {"found": alone, "read": read},
    }


def _best(question: AskedQuestion, rankers: Rankers) -> list[Asked]:
    def score(candidate: Asked) -> float:
        return likelihood(rankers.found.terms(candidate.signals))

    return sorted(question.candidates, key=score, reverse=True)


def _fit(
    names: Sequence[str],
    groups: Iterable[tuple[AskedQuestion, Sequence[Asked], Sequence[Any]]],
    counts: Counter[str],
) -> dict[str, Any]:
    groups_of_rows = [
        {
            "x": [[signals.get(name) for name in names] for signals in rows],
            "y": [int(question.is_answer(candidate)) for candidate in candidates],
            "weight": 1 / counts[question.of],
        }
        for question, candidates, rows in groups
    ]
    return rounded(names, fitted({"groups": groups_of_rows}))


def fitted(task: Mapping[str, Any], *, script: Path = FIT) -> dict[str, Any]:
    """Return what a script that fits a model makes of its task, in an environment of its own."""
    done = subprocess.run(
        [str(python_of(LEARNER)), str(script)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def rounded(names: Sequence[str], made: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model as it is stored."""
    columns = zip(names, made["means"], made["scales"], made["weights"], strict=True)
    return {
        "constant": round(made["constant"], DIGITS),
        "weights": {
            name: {
                "mean": round(mean, DIGITS),
                "scale": round(scale, DIGITS),
                "weight": round(weight, DIGITS),
            }
            for name, mean, scale, weight in columns
        },
    }


def order(question: AskedQuestion, rankers: Rankers) -> list[Asked]:
    """Return the candidates as recall orders them: the first are read, and all are placed by their
    scores.
    """
    best = _best(question, rankers)
    first, rest = best[:FIRST], best[FIRST:]
    scored = [
        (likelihood(rankers.read.terms(signals)), candidate)
        for candidate, signals in zip(first, as_read(first), strict=True)
    ]
    scored += [
        (likelihood(rankers.found.terms(candidate.signals)), candidate) for candidate in rest
    ]
    return [candidate for _, candidate in sorted(scored, key=lambda pair: -pair[0])]


def judged(questions: Iterable[tuple[AskedQuestion, Rankers]]) -> Judged:
    shares, ranks = [], []
    for question, rankers in questions:
        placed = order(question, rankers)
        messages = frozenset[str]().union(*(candidate.messages for candidate in placed[:10]))
        shares.append(len(messages & question.evidence) / len(question.evidence))
        places = (
            place for place, candidate in enumerate(placed, 1) if question.is_answer(candidate)
        )
        ranks.append(1 / next(places, 10**9))
    return Judged(fmean(shares), fmean(ranks), len(shares))


def left_out(questions: Sequence[AskedQuestion], of: str) -> Judged:
    """Return how well the candidates of the questions of the set `of` are ranked. The rankers for a
    question were trained without the conversations of its user.
    """
    users = sorted({question.user for question in questions if question.of == of})

    def part(user: str) -> int:
        return users.index(user) % FOLDS

    pairs: list[tuple[AskedQuestion, Rankers]] = []
    for fold in range(min(FOLDS, len(users))):
        held = frozenset(user for user in users if part(user) == fold)
        rankers = _without(questions, of, users=held)
        pairs += [
            (question, rankers) for question in _judged_of(questions, of) if question.user in held
        ]
    return judged(pairs)


def kind_left_out(
    questions: Sequence[AskedQuestion], of: str, *, without: Signal | None = None
) -> Judged:
    """Return how well rankers that were trained on the other sets alone rank the candidates of the
    questions of the set `of`.
    """
    rankers = rankers_of(
        train([question for question in questions if question.of != of], without=without)
    )
    return judged((question, rankers) for question in _judged_of(questions, of))


def _without(questions: Sequence[AskedQuestion], of: str, *, users: Collection[str]) -> Rankers:
    """Rankers that were trained without the questions of these users of a set."""
    kept = [question for question in questions if question.of != of or question.user not in users]
    return rankers_of(train(kept))


def _judged_of(questions: Sequence[AskedQuestion], of: str) -> list[AskedQuestion]:
    return [
        question for question in questions if question.of == of and not question.is_for_training
    ]


def table(questions: Sequence[AskedQuestion], shipped: Rankers) -> Table:
    rows: list[list[Cell]] = []
    for name in sorted({question.of for question in questions}):
        kinds = {
            "its conversations left out": left_out(questions, name),
            "the whole set left out": kind_left_out(questions, name),
            "in the training": judged(
                (question, shipped) for question in _judged_of(questions, name)
            ),
        }
        rows += [
            [name, title, result.questions, f"{result.recall:.3f}", f"{result.mrr:.3f}"]
            for title, result in kinds.items()
        ]
    return Table(
        "The learned ranker", ("set", "trained", "questions", "recall@10", "MRR"), rows, ()
    )


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--set", action="append", type=Path, dest="sets")
    asking.add_argument("--judge", action="store_true", help="do not write the ranker")
    options = asking.parse_args()
    if options.sets is not None and len(options.sets) < 2:
        asking.error("name two sets at least: each is judged by what the others teach")
    questions = gathered(options.sets, asked)
    stored = train(questions)
    if not options.judge:
        WRITTEN.write_text(json.dumps(stored, indent=1) + "\n")
    print(for_terminal(table(questions, rankers_of(stored))))


if __name__ == "__main__":
    main()
