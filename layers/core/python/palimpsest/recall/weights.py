"""The weights of recall's ranking that are set by hand, because no model has learned them."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.models.catalogue import OTHER, Thresholds

DAY = 24 * 3600 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that are not learned, because our labelled sets have too few cases of them, or
    because they are rules (docs/adr/0097).

    `vector` is the share of meaning in a candidate's relevance; words have the rest. The next six
    are added to the logarithm of the odds that a candidate answers. Half of `importance` and half
    of `recency` are added at most. `over` is added for events and tasks whose time has passed.
    `feedback` is multiplied by the callers' opinions (-1..1) of the memory. `period` is added for a
    memory of the period that the question names, and `days` for a statement of that period if the
    question asks about nothing else.

    A message with an earlier value ranks right below the topic's current record, if that record has
    at least `same_topic` of the message's score. Otherwise the question is about something else in
    the message.

    A candidate is left out if the logarithm of its odds to answer lies `far` below that of the best
    one. `near` holds the thresholds of the embedding model.
    """

    vector: float = 0.6
    importance: float = 1.0
    recency: float = 0.3
    over: float = -1.5
    feedback: float = 0.7
    period: float = 2.0
    days: float = 0.0
    half_life: int = 90 * DAY
    same_topic: float = 0.03
    far: float = 4.25
    near: Thresholds = OTHER


DEFAULT_WEIGHTS = Weights()
