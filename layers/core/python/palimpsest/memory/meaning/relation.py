"""Decides whether a new statement repeats, replaces or ends a known one, or leaves it unchanged.
The weights are learned from labelled pairs (`make relate`) and lie in `relation.json`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from typing import Any, Final

from palimpsest.memory.meaning.signs import Said, Signs, own_signs, shared_signs, words_of
from palimpsest.text.packaged import packaged_json

PACKAGE: Final = "palimpsest.memory.meaning"
SOUNDS: Final = "sounds"
"""The sign of how much a new statement's words alone sound like a change."""
Tree = float | Sequence[Any]
"""A node of a decision tree. It is a value, or a question with four parts: the number of a sign, a
limit, the node for values up to the limit, and the node for higher values.
"""


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
class RelationTrees:
    """Shallow trees over signs. The sum of their values is the logarithm of the odds of a
    change.
    """

    constant: float
    signs: Sequence[str]
    trees: Sequence[Tree]

    def likely(self, signs: Signs) -> float:
        """Return how likely (0..1) a change is."""
        values = [signs.get(name, 0.0) for name in self.signs]
        return 1 / (1 + exp(-self.constant - sum(_value(tree, values) for tree in self.trees)))


def _value(tree: Tree, values: Sequence[float]) -> float:
    rest = tree
    while not isinstance(rest, float):
        sign, limit, least, most = rest
        rest = least if values[sign] <= limit else most
    return rest


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
    change of anything. `trees` say whether it changes a certain known statement.
    """

    replaces: RelationWeights
    ends: RelationWeights
    repeats: RelationWeights
    changes: RelationWeights
    trees: RelationTrees
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
        replaces, ends, repeats = (odd / whole for odd in odds)
        sounds = self.changes.sum_of_words(words)
        by_trees = self.trees.likely({**own, **both, SOUNDS: sounds})
        return Likely(replaces, ends, repeats, changes=(replaces + ends + by_trees) / 2)

    def may_change(self, text: str, *, clearly: bool = False) -> bool:
        """Return whether a text alone sounds as if something has changed."""
        least = self.thresholds.sounds_clearly if clearly else self.thresholds.sounds
        return self.changes.sum_of_words(words_of(text)) >= least


@dataclass(frozen=True, slots=True)
class Likely:
    """How likely (0..1) a new statement replaces, ends or repeats a known one, by the weights.
    `changes` is how likely it does one of the first two, by the mean of the weights and the trees.
    """

    replaces: float
    ends: float
    repeats: float
    changes: float


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
        trees=RelationTrees(**stored["trees"]),
        thresholds=LeastLikely(**stored["thresholds"]),
    )


@cache
def learned() -> Relations:
    """Return the weights that ship with the library."""
    return relations_of(packaged_json(PACKAGE, "relation.json"))
