"""A linear model that ranks found memories by their signals. Its weights are in `ranker.json`.
`make train` learns them from labelled conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp
from typing import Any, Generic, TypeVar

from palimpsest.recall.signals import Signal
from palimpsest.text.packaged import packaged_json

Name = TypeVar("Name", bound=str)
PART = "constant"
"""The name of the model's constant among the terms of a candidate."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of a signal. It adds `weight` for each `scale` by which the signal is above its
    `mean`.
    """

    mean: float
    scale: float
    weight: float

    def term(self, value: float) -> float:
        return self.weight * (value - self.mean) / self.scale


@dataclass(frozen=True, slots=True)
class LinearRanker(Generic[Name]):
    """Adds the terms of signals. A signal that is missing counts as its mean."""

    constant: float
    weights: Mapping[Name, Weight]

    def terms(self, signals: Mapping[Name, float]) -> dict[str, float]:
        """Return the contribution of each signal, and the constant. Their sum is the logarithm of
        the odds that the candidate answers the question.
        """
        terms: dict[str, float] = {PART: self.constant}
        for name, weight in self.weights.items():
            if name in signals:
                terms[name] = weight.term(signals[name])
        return terms


@dataclass(frozen=True, slots=True)
class Rankers:
    """The rankers: `found` for candidates that no reranker has read, `read` for the others."""

    found: LinearRanker[Signal]
    read: LinearRanker[Signal]


def likelihood(terms: Mapping[str, float]) -> float:
    """Return how likely (0..1) a candidate with these terms answers the question."""
    # `exp` overflows far from zero, where the likelihood is 0 or 1 anyway.
    return 1 / (1 + exp(-max(-50.0, min(50.0, sum(terms.values())))))


def rankers_of(stored: Mapping[str, Any]) -> Rankers:
    """Return the rankers that a file of `make train` holds."""
    return Rankers(*(linear_of(stored["rankers"][name]) for name in ("found", "read")))


def linear_of(stored: Mapping[str, Any]) -> LinearRanker[Any]:
    """Return the model that was stored as a constant and the weights by signal."""
    weights = {name: Weight(**weight) for name, weight in stored["weights"].items()}
    return LinearRanker(stored["constant"], weights)


@cache
def learned() -> Rankers:
    """Return the rankers that ship with the library."""
    return rankers_of(packaged_json("palimpsest.recall", "ranker.json"))
