"""How much each signal counts in recall's ranking."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.models.catalogue import OTHER, Thresholds

DAY = 24 * 3600 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; measured with `make bench ARGS=retrieval` (docs/adr/0012).

    `vector` is the share of meaning in a score; words have the rest. `reranker` is the share of the
    reranker's score. `importance`, `recency` and `period` change a score by at most this part of
    it. If the question asks only about a period, a memory of that period gains `days`.

    Some scores are multiplied: by `asking` for a message that only asks, by `empty` for a message
    that says nothing, by `over` for a task whose session has ended. A message with an earlier value
    gets at most `outdated` times the score of the topic's current record. That holds only if that
    record has at least `same_topic` of the message's score. Otherwise the question is about
    something else in the message.

    `near` holds the thresholds of the embedding model. A memory with all of the question's words
    passes them, and so does a memory of a topic that the question names.
    """

    vector: float = 0.6
    reranker: float = 0.5
    topic_key: float = 0.3
    neighbour: float = 0.3
    asking: float = 0.6
    empty: float = 0.5
    over: float = 0.5
    importance: float = 0.1
    recency: float = 0.05
    period: float = 0.25
    days: float = 0.0
    half_life: int = 90 * DAY
    outdated: float = 0.9
    same_topic: float = 0.3
    near: Thresholds = OTHER
    least_coverage: float = 0.0


DEFAULT_WEIGHTS = Weights()
