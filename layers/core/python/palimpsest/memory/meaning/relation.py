"""Decides whether a new statement repeats, replaces or ends a known one, or leaves it unchanged.
The weights are learned from labelled pairs (`make relate`) and lie in `relation.json`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp
from typing import Any, Final

from palimpsest.memory.meaning.signs import Said, Signs, own_signs, shared_signs, words_of

PACKAGE: Final = "palimpsest.memory.meaning"


@dataclass(frozen=True, slots=True)
class RelationWeights:
    """The weights of one relation: a constant, and a weight for each sign and for each word of the
    new statement.
    """

    constant: float
    signs: Mapping[str, float]
    words: Mapping[str, float]

    def sum_of_words(self, words: Collection[str]) -> float:
        return self.constant + sum(self.words.get(word, 0.0) for word in words)

    def sum_of_signs(self, *signs: Signs) -> float:
        return sum(
            self.signs.get(name, 0.0) * value for group in signs for name, value in group.items()
        )


@dataclass(frozen=True, slots=True)
class LeastLikely:
    """The probability from which a statement counts as having a relation. A statement that states
    nothing by itself needs `clearly`. `sounds` is the least sum of words that sound like a change.
    For a statement that states nothing by itself, it is `sounds_clearly`.
    """

    changes: float
    clearly: float
    repeats: float
    sounds: float
    sounds_clearly: float


@dataclass(frozen=True, slots=True)
class Relations:
    """The learned weights. `changes` reads a new statement alone, and says whether it sounds like a
    change of anything.
    """

    replaces: RelationWeights
    ends: RelationWeights
    repeats: RelationWeights
    changes: RelationWeights
    thresholds: LeastLikely

    def likely(self, new: Said, known: Said) -> Likely:
        """Return how likely each relation is."""
        words, own, both = words_of(new.text), own_signs(new), shared_signs(new, known)
        odds = [
            exp(
                max(-30.0, min(30.0, weights.sum_of_words(words) + weights.sum_of_signs(own, both)))
            )
            for weights in (self.replaces, self.ends, self.repeats)
        ]
        whole = 1.0 + sum(odds)
        return Likely(*(odd / whole for odd in odds))

    def may_change(self, text: str, *, clearly: bool = False) -> bool:
        """Return whether a text alone sounds as if something has changed."""
        least = self.thresholds.sounds_clearly if clearly else self.thresholds.sounds
        return self.changes.sum_of_words(words_of(text)) >= least


@dataclass(frozen=True, slots=True)
class Likely:
    """How likely (0..1) a new statement replaces, ends or repeats a known one."""

    replaces: float
    ends: float
    repeats: float

    @property
    def changes(self) -> float:
        return self.replaces + self.ends


def relations_of(stored: Mapping[str, Any]) -> Relations:
    """Return the weights that a file of `make relate` holds."""
    weights = {
        name: RelationWeights(**stored_weights)
        for name, stored_weights in stored["relations"].items()
    }
    return Relations(
        replaces=weights["replace"],
        ends=weights["end"],
        repeats=weights["repeat"],
        changes=weights["change"],
        thresholds=LeastLikely(**stored["thresholds"]),
    )


@cache
def learned() -> Relations:
    """Return the weights that ship with the library."""
    text = resources.files(PACKAGE).joinpath("relation.json").read_text("utf-8")
    return relations_of(json.loads(text))
