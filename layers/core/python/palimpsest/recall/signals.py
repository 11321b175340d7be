"""What is known of a found memory beside the others of its recall: the numbers that the ranker
weighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log1p
from typing import Literal, get_args

from palimpsest.models.catalogue import Thresholds
from palimpsest.recall.found import Candidate

Signal = Literal[
    "relevance",
    "meaning",
    "words",
    "topic",
    "neighbours",
    "question",
    "nothing",
    "little",
    "answers",
    "assistant",
    "tool",
    "record",
    "length",
    "read",
    "read_place",
]
"""What the ranker may know of a candidate.

`relevance` joins words and meaning, from 0 to 1 within a recall. `neighbours` is the highest
relevance of a message beside it. `meaning` is its likeness to the question, where 0 is unrelated
and 1 is equal. `words` is the share of the question's words that it has, `topic` that of a topic's
words. `question`, `nothing` and `little` are 1 for what the text says (`Says`), `answers` if it
follows a question. `assistant`, `tool` and `record` are 1 for words of these. `length` is the
logarithm of its number of different words. `read` is the reranker's score, from 0 to 1 within the
texts that it read, and `read_place` the share of these texts that it found better.
"""
SIGNALS: tuple[Signal, ...] = get_args(Signal)
READ: tuple[Signal, ...] = ("read", "read_place")
"""What only a reranker knows."""
BY_WORDS = 0.5  # the meaning of a candidate without a vector that has all words of the question
MOST_WORDS = 200  # a longer text is not better for its length


def signals_of(
    candidate: Candidate, relevance: Mapping[str, float], *, near: Thresholds
) -> Iterator[tuple[Signal, float]]:
    """The signals of a candidate that no reranker has read. A signal that cannot be known is
    missing. `relevance` has that of each candidate, by key. The meaning of one without a vector is
    judged by its words.
    """
    yield "relevance", relevance[candidate.key]
    cosine = candidate.scores.get("vector")
    likeness = BY_WORDS * candidate.coverage
    if cosine is not None:
        likeness = max(0.0, cosine - near.unrelated) / (1 - near.unrelated)
    yield "meaning", likeness
    yield "words", candidate.coverage
    yield "topic", candidate.scores.get("topic_key", 0.0)
    beside = (relevance.get(key, 0.0) for key in candidate.neighbours)
    yield "neighbours", max(beside, default=0.0)
    yield "question", float(candidate.says == "question")
    yield "nothing", float(candidate.says == "nothing")
    yield "little", float(candidate.says == "little")
    if candidate.answers is not None:
        yield "answers", float(candidate.answers)
    yield "assistant", float(candidate.speaker == "assistant")
    yield "tool", float(candidate.speaker == "tool")
    yield "record", float(candidate.speaker is None)
    yield "length", log1p(min(candidate.words, MOST_WORDS))


def read_signals(scores: Mapping[str, float]) -> dict[str, dict[Signal, float]]:
    """The signals of each text that a reranker read, by key. `scores` may have any scale."""
    if not scores:
        return {}
    least, most = min(scores.values()), max(scores.values())
    better = _places(list(scores.values()))
    return {
        key: {
            "read": (score - least) / (most - least) if most > least else 1.0,
            "read_place": better[score] / len(scores),
        }
        for key, score in scores.items()
    }


def _places(scores: Sequence[float]) -> dict[float, int]:
    """The number of higher scores, by score."""
    places: dict[float, int] = {}
    for place, score in enumerate(sorted(scores, reverse=True)):
        places.setdefault(score, place)
    return places
