"""Recognizes sentences that ask to keep words off the record, in words that no pattern knows. The
weights are learned from labelled sentences (`make wishes`) and lie in `asks.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp
from typing import Any, Final, Literal, get_args

from palimpsest.text.folding import folded
from palimpsest.text.packaged import packaged_json

PACKAGE: Final = "palimpsest.privacy"
Asks = Literal["this", "back", "next", "resume"]
"""What a sentence asks for. The words of its message are off the record (`this`), the words before
it (`back`), the words after it (`next`), or none any more (`resume`).
"""
ASKS: Final[Sequence[Asks]] = get_args(Asks)
NOTHING = "no"
STEM = 5  # letters
MOST_WORDS = 40
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…:])\s+|\n+")


@dataclass(frozen=True, slots=True)
class WishWeights:
    """The learned weights: those of each sign, one for each label, and the least probability from
    which a label counts.
    """

    labels: Sequence[str]
    constants: Sequence[float]
    signs: Mapping[str, Sequence[float]]
    least: Mapping[str, float]

    def likely(self, text: str) -> Mapping[str, float]:
        """Return how likely (0..1) each label is for a text."""
        sums = list(self.constants)
        for sign in sorted(signs_of(text)):  # the same sum each time
            for place, weight in enumerate(self.signs.get(sign, ())):
                sums[place] += weight
        most = max(sums)
        odds = [exp(total - most) for total in sums]
        whole = sum(odds)
        return {label: odd / whole for label, odd in zip(self.labels, odds, strict=True)}


def signs_of(text: str) -> frozenset[str]:
    """Return the words of a text, their first letters, and the pairs of its neighbouring words."""
    words = _WORD.findall(folded(text))[:MOST_WORDS]
    stems = (f"{word[:STEM]}*" for word in words if len(word) > STEM)
    return frozenset(words).union(stems, map(" ".join, pairwise(["^", *words, "$"])))


def weights_of(stored: Mapping[str, Any]) -> WishWeights:
    """Return the weights that a file of `make wishes` holds."""
    return WishWeights(stored["labels"], stored["constants"], stored["signs"], stored["least"])


@cache
def _learned() -> WishWeights:
    return weights_of(packaged_json(PACKAGE, "asks.json"))


def asked_in(text: str) -> Iterator[tuple[Asks, int, int]]:
    """Yield what the sentences of a text ask for, with the place of each sentence."""
    start = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)):
        asks = asked_by(text[start:end], _learned())
        if asks is not None:
            yield asks, start, end
        start = end


def asked_by(sentence: str, weights: WishWeights) -> Asks | None:
    """Return what a sentence asks for by these weights, or None if it asks for nothing of it."""
    likely = weights.likely(sentence)
    asks = max(ASKS, key=lambda name: likely[name])
    return asks if 1.0 - likely[NOTHING] >= weights.least[asks] else None
