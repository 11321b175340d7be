"""The signals of a found memory, which are the numbers that the ranker weighs. Some compare it with
the other memories of its recall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log1p
from typing import Literal, get_args

from palimpsest.models.catalogue import Thresholds
from palimpsest.recall.found import Candidate

Signal = Literal[
    "meaning",
    "words",
    "topic",
    "neighbours",
    "asks",
    "nothing",
    "little",
    "own",
    "assistant",
    "tool",
    "length",
    "read",
    "read_place",
]
"""A signal of a candidate.

`meaning` is its likeness to the question, where 0 is unrelated and 1 is equal. `words` is the share
of the question's words that it has, `topic` that of a topic's words. `neighbours` is the highest
relevance, from words and meaning, of a message beside it (0..1 within a recall). `asks` is 1 for a
short message that only asks, `nothing` and `little` are 1 for texts that say nothing or little
(`Says`). `own` is the logarithm of the number of its words for its speaker, such as "my".
`assistant` and `tool` are 1 for words of these roles, `length` is the logarithm of its number of
different words. `read` is the reranker's score, from 0 to 1 within the texts that it read, and
`read_place` the share of these texts that it found better.
"""
SIGNALS: tuple[Signal, ...] = get_args(Signal)
READ: tuple[Signal, ...] = ("read", "read_place")
"""The signals that only a reranker provides."""
BY_WORDS = 0.5  # the meaning of the best candidate by words, if it has no vector
MOST_WORDS = 200  # a longer text is not better for its length
SHORT = 20  # different words; who asks in more of them mostly says something besides


def signals_of(
    candidate: Candidate, relevance: Mapping[str, float], *, near: Thresholds
) -> Iterator[tuple[Signal, float]]:
    """Yield the signals of a candidate that no reranker has read. Unknown signals are missing.
    `relevance` has the relevance of each candidate, by key. Without a vector, the meaning is
    estimated from the words.
    """
    cosine = candidate.scores.get("vector")
    likeness = BY_WORDS * (candidate.coverage + relevance[candidate.key]) / 2
    if cosine is not None:
        likeness = max(0.0, cosine - near.unrelated) / (1 - near.unrelated)
    yield "meaning", likeness
    yield "words", candidate.coverage
    yield "topic", candidate.scores.get("topic_key", 0.0)
    beside = (relevance.get(key, 0.0) for key in candidate.neighbours)
    yield "neighbours", max(beside, default=0.0)
    yield "asks", float(candidate.says == "question" and candidate.words < SHORT)
    yield "nothing", float(candidate.says == "nothing")
    yield "little", float(candidate.says == "little")
    yield "own", log1p(candidate.own_words)
    yield "assistant", float(candidate.speaker == "assistant")
    yield "tool", float(candidate.speaker == "tool")
    yield "length", log1p(min(candidate.words, MOST_WORDS))


def read_signals(scores: Mapping[str, float]) -> dict[str, dict[Signal, float]]:
    """Return the signals of each text that a reranker read, by key. `scores` may have any scale."""
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
    """Return the number of higher scores, by score."""
    places: dict[float, int] = {}
    for place, score in enumerate(sorted(scores, reverse=True)):
        places.setdefault(score, place)
    return places
