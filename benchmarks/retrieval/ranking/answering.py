"""Trains and judges how likely recall says that a question is answered
(`recall/answerable.json`).

python -m benchmarks.retrieval.ranking.answering [--set FOLDER]... [--judge] [--write]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from palimpsest.recall.answerable import SIGNS, Sign
from palimpsest.recall.ranker import LinearRanker, likelihood, linear_of

from benchmarks import report
from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.place import Place
from benchmarks.retrieval.ranking.asked import gathered
from benchmarks.retrieval.ranking.train import FOLDS, fitted, rounded

WRITTEN = Path("layers/core/python/palimpsest/recall/answerable.json")
Answered = Literal["answered", "unanswered", "elsewhere"]
SHARES: Mapping[Answered, float] = {"answered": 1.0, "unanswered": 0.5, "elsewhere": 0.5}
"""The weight of all questions of one kind together, within a set."""
ELSEWHERE = 3  # of so many answered questions, one is asked of another user too
LOST = 0.03  # share of the answered questions that the floor may lose
LOSSES = (0.01, 0.02, 0.03, 0.05, 0.10, 0.20)
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Whether:
    """A question that was asked of a set's user. It is `answered` there, `unanswered`, or answered
    `elsewhere`: by the memories of another user.
    """

    of: str
    user: str
    kind: Answered
    signs: Mapping[Sign, float]

    @property
    def is_answered(self) -> bool:
        return self.kind == "answered"


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, and the likelihood (0..1) of an answer, by weights trained without it."""

    question: Whether
    likelihood: float


def whether(place: Place) -> Iterator[Whether]:
    """Ask each question about its own user. Ask some of the answered questions about another user
    too, whose memories do not answer them.
    """
    dataset = place.dataset

    def asked(user: str, question: str, kind: Answered) -> Whether:
        trace = place.recalled(user, question).trace or {}
        return Whether(dataset.name, user, kind, trace["answerable"]["signs"])

    users = dataset.users()
    for number, question in enumerate(dataset.questions):
        kind: Answered = "answered" if question.evidence else "unanswered"
        yield asked(question.user, question.question, kind)
        if kind == "answered" and number % ELSEWHERE == 0 and len(users) > 1:
            other = users[(users.index(question.user) + 1 + number) % len(users)]
            if other != question.user:
                yield asked(other, question.question, "elsewhere")


def train(questions: Sequence[Whether]) -> dict[str, Any]:
    """Return the model as it is stored. Each set counts the same, and so do questions with and
    without an answer.
    """
    usable = [question for question in questions if question.signs]
    counts = Counter((question.of, question.kind) for question in usable)
    done = fitted(
        {
            "rows": [[question.signs.get(name) for name in SIGNS] for question in usable],
            "y": [int(question.is_answered) for question in usable],
            "weights": [
                SHARES[question.kind] / counts[question.of, question.kind] for question in usable
            ],
        }
    )
    return rounded(SIGNS, done)


def judged(questions: Sequence[Whether], *, by_kind: bool) -> list[Judged]:
    """Judge each question with weights that were trained without its conversations, or without the
    whole set (`by_kind`).
    """
    judgements: list[Judged] = []
    for held in _parts(questions, by_kind=by_kind):
        model = linear_of(
            train([question for question in questions if (question.of, question.user) not in held])
        )
        judgements += [
            Judged(question, _likelihood(model, question))
            for question in questions
            if (question.of, question.user) in held
        ]
    return judgements


def _parts(questions: Sequence[Whether], *, by_kind: bool) -> Iterator[Collection[tuple[str, str]]]:
    users = sorted({(question.of, question.user) for question in questions})
    if by_kind:
        for name in sorted({name for name, _ in users}):
            yield {user for user in users if user[0] == name}
    else:
        yield from (users[fold::FOLDS] for fold in range(FOLDS))


def _likelihood(model: LinearRanker[Sign], question: Whether) -> float:
    return likelihood(model.terms(question.signs)) if question.signs else 0.0


def floor_for(judgements: Sequence[Judged], *, lost: float) -> float:
    """Return the highest floor below which at most this share of the answered questions lies."""
    answered = sorted(
        judgement.likelihood for judgement in judgements if judgement.question.is_answered
    )
    return answered[int(lost * len(answered))]


def silent(judgements: Sequence[Judged], kind: Answered, *, floor: float) -> float:
    of_kind = [judgement.likelihood for judgement in judgements if judgement.question.kind == kind]
    return sum(likelihood < floor for likelihood in of_kind) / len(of_kind) if of_kind else 0.0


def curve(questions: Sequence[Whether]) -> Table:
    """Return the table of silence. It shows, for each share of answered questions that may be lost,
    the share of other questions that get no answer.
    """
    by_conversation, by_kind = (
        judged(questions, by_kind=is_by_kind) for is_by_kind in (False, True)
    )
    rows: list[list[Cell]] = []
    for lost in LOSSES:
        row: list[Cell] = [f"{lost:.2f}"]
        for judgements in (by_conversation, by_kind):
            floor = floor_for(judgements, lost=lost)
            kinds: tuple[Answered, ...] = ("unanswered", "elsewhere")
            row += [f"{silent(judgements, kind, floor=floor):.2f}" for kind in kinds]
            row.append(f"{floor:.3f}")
        rows.append(row)
    titles = ("unanswered", "of another user", "floor")
    columns = ("lost", *titles, *(f"{title}, kind left out" for title in titles))
    counts = Counter(question.kind for question in questions)
    note = (
        f"{counts['answered']} questions with an answer, {counts['unanswered']} without one, and "
        f"{counts['elsewhere']} that only another user's memories answer. The share of each kind "
        "that lies below the floor, with weights that were trained without the conversations of "
        "its user."
    )
    return Table("Silence where nothing answers", columns, rows, (note,))


def reliability(questions: Sequence[Whether]) -> Table:
    """Return how many questions are answered, by the likelihood that recall gave."""
    judgements = judged(questions, by_kind=False)
    counts = Counter((judgement.question.of, judgement.question.kind) for judgement in judgements)
    rows: list[list[Cell]] = []
    for low, high in pairwise(EDGES):
        within = [
            judgement
            for judgement in judgements
            if low <= judgement.likelihood < high or judgement.likelihood == high == 1
        ]
        weights = [
            SHARES[judgement.question.kind] / counts[judgement.question.of, judgement.question.kind]
            for judgement in within
        ]
        whole = sum(weights) or 1.0
        pairs = list(zip(weights, within, strict=True))
        expected = sum(weight * judgement.likelihood for weight, judgement in pairs) / whole
        real = sum(weight * judgement.question.is_answered for weight, judgement in pairs) / whole
        rows.append([f"{low:.1f} to {high:.1f}", len(within), f"{expected:.2f}", f"{real:.2f}"])
    note = (
        "Conversations left out. Questions with and without an answer count the same, in each set."
    )
    columns = ("answerable", "questions", "mean", "answered")
    return Table("How often `answerable` is right", columns, rows, (note,))


def stored(questions: Sequence[Whether]) -> dict[str, Any]:
    floor = floor_for(judged(questions, by_kind=False), lost=LOST)
    return {
        "version": 1,
        "command": "make train",
        "sets": sorted({question.of for question in questions}),
        "questions": len(questions),
        "floor": round(floor, 3),
        "model": train(questions),
    }


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--set", action="append", type=Path, dest="sets")
    asking.add_argument("--judge", action="store_true", help="do not write the weights")
    asking.add_argument("--write", action="store_true", help="write the tables into the results")
    options = asking.parse_args()
    questions = gathered(options.sets, whether)
    if not options.judge:
        WRITTEN.write_text(json.dumps(stored(questions), indent=1) + "\n")
    tables = [curve(questions), reliability(questions)]
    for table in tables:
        print(for_terminal(table), end="\n\n")
    if options.write:
        report.amend(report.machine(), tables)


if __name__ == "__main__":
    main()
