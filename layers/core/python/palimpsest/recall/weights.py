"""How much each signal counts in recall's ranking."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.models.catalogue import OTHER, Thresholds

DAY = 24 * 3600 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each thing counts; measured with `make bench ARGS=retrieval` (docs/adr/0012).

    `vector` is the share of meaning in a score, words have the rest; `reranker` is the share of a
    model that read the memory. `importance`, `recency` and `period` change a score by at most this
    part of it; `days` is added for a memory of the period, where the question asks for nothing
    else. Other scores are multiplied: by `asking` for a message that only asks, by `empty` for one
    that says nothing, by `over` for a task whose session has ended, by `outdated` for a message
    behind the record of what holds now. That record has at least `same_topic` of the message's
    score if the question is about it.

    `near` holds the thresholds of the embedding model. A memory that has all of the question's
    words passes them, and so does one of a topic that the question names.
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
