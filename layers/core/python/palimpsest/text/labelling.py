"""Weights that say how likely each of several labels is for a text. They are learned from labelled
sentences and stored as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any


@dataclass(frozen=True, slots=True)
class LabelWeights:
    """The learned weights: those of each sign, one for each label, and the least probability from
    which a label counts.
    """

    labels: Sequence[str]
    constants: Sequence[float]
    signs: Mapping[str, Sequence[float]]
    least: Mapping[str, float]

    def likely(self, signs: Iterable[str]) -> Mapping[str, float]:
        """Return how likely (0..1) each label is for a text with these signs."""
        sums = list(self.constants)
        for sign in sorted(signs):  # the same sum each time
            for place, weight in enumerate(self.signs.get(sign, ())):
                sums[place] += weight
        most = max(sums)
        odds = [exp(total - most) for total in sums]
        whole = sum(odds)
        return {label: odd / whole for label, odd in zip(self.labels, odds, strict=True)}


def label_weights(stored: Mapping[str, Any]) -> LabelWeights:
    """Return the weights that a stored file of weights holds."""
    return LabelWeights(stored["labels"], stored["constants"], stored["signs"], stored["least"])
