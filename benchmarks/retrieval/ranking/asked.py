"""Asks the questions of a labelled set, and notes everything that recall knows of each candidate. A
ranker is trained on this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from palimpsest.models.ports import Embedder, Reranker
from palimpsest.recall.rerank import FIRST
from palimpsest.recall.signals import READ, Signal, read_signals

from benchmarks.retrieval import quality
from benchmarks.retrieval.labelled.dataset import OUR_SETS, load
from benchmarks.retrieval.place import Place, filled

Question = TypeVar("Question")

EVERY = 2 * FIRST  # texts that the reranker reads: another ranker has other texts among the first


@dataclass(frozen=True, slots=True)
class Asked:
    """One candidate: its signals, and the messages of the set that it is or rests on. `score` is
    the score of the reranker that has read it, or 0.
    """

    signals: Mapping[Signal, float]
    score: float
    messages: frozenset[str]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of the set `of` with its candidates, and the messages that answer it. If it asks
    for the current value of a topic (`is_for_training`), it is used to train, not to judge.
    """

    of: str
    user: str
    evidence: frozenset[str]
    candidates: tuple[Asked, ...]
    is_for_training: bool = False

    def is_answer(self, candidate: Asked) -> bool:
        return not self.evidence.isdisjoint(candidate.messages)


def built_in_models() -> tuple[Embedder, Reranker]:
    """Return the built-in models. Raises `SystemExit` if they can't be installed."""
    embedder, reranker = quality.embedder(), quality.reranker()
    if embedder is None or reranker is None:
        raise SystemExit("The built-in models could not be installed.")
    return embedder, reranker


def gathered(
    paths: Sequence[Path] | None, ask: Callable[[Place], Iterable[Question]]
) -> list[Question]:
    """Return what `ask` makes of each set, by default of ours, with the built-in models."""
    embedder, reranker = built_in_models()
    questions: list[Question] = []
    for path in paths or OUR_SETS:
        with filled(load(path), embedder=embedder, reranker=reranker) as place:
            questions += ask(place)
    return questions


def asked(place: Place) -> Iterator[AskedQuestion]:
    """Ask every question of the place's set that has an answer."""
    dataset = place.dataset
    for question in dataset.questions:
        if question.evidence:
            yield AskedQuestion(
                dataset.name,
                question.user,
                frozenset(question.answer_ids),
                _candidates(place, question.user, question.question),
            )
    for change in dataset.supersessions:
        yield AskedQuestion(
            dataset.name,
            change.user,
            frozenset([change.new.message]),
            _candidates(place, change.user, change.question),
            is_for_training=True,
        )


def _candidates(place: Place, user: str, question: str) -> tuple[Asked, ...]:
    trace = place.recalled(user, question, reads_first=EVERY).trace or {}
    rows = trace["ranking"]
    names = place.names_by_id(user, [row["id"] for row in rows])
    return tuple(
        Asked(
            {name: value for name, value in row["signals"].items() if name not in READ},
            row["signals"].get("read", 0.0),
            frozenset(names.get(row["id"], ())),
        )
        for row in rows
    )


def as_read(candidates: Sequence[Asked]) -> list[Mapping[Signal, float]]:
    """Return the signals of candidates that a reranker has read together."""
    read = read_signals({str(place): candidate.score for place, candidate in enumerate(candidates)})
    return [{**candidate.signals, **read[str(place)]} for place, candidate in enumerate(candidates)]
