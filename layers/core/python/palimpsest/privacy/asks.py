"""Recognizes sentences that ask to keep words off the record, in words that no pattern knows. The
weights are learned from labelled sentences (`make wishes`) and lie in `asks.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple, get_args

from palimpsest.text.folding import folded
from palimpsest.text.labelling import LabelWeights, label_weights
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
LEAST_BACK = 0.3
"""How likely a wish must be about words before it, so that these may be meant."""
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…:])\s+|\n+")


def signs_of(text: str) -> frozenset[str]:
    """Return the words of a text, their first letters, and the pairs of its neighbouring words."""
    words = _WORD.findall(folded(text))[:MOST_WORDS]
    stems = (f"{word[:STEM]}*" for word in words if len(word) > STEM)
    return frozenset(words).union(stems, map(" ".join, pairwise(["^", *words, "$"])))


@cache
def learned() -> LabelWeights:
    """Return the weights of wishes. The first call reads them in some 10 ms."""
    return label_weights(packaged_json(PACKAGE, "asks.json"))


class Asking(NamedTuple):
    """A sentence that asks for something of the kind, with its place. `may_ask_back` says that it
    may be about words before it.
    """

    asks: Asks
    start: int
    end: int
    may_ask_back: bool


def asked_in(text: str) -> Iterator[Asking]:
    """Yield the sentences of a text that ask for something of the kind."""
    start = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)):
        likely = learned().likely(signs_of(text[start:end]))
        asks = _asked(likely, learned())
        if asks is not None:
            yield Asking(asks, start, end, likely["back"] >= LEAST_BACK)
        start = end


def asks_in(sentence: str) -> Asks | None:
    """Return what a sentence asks for, or None if it asks for nothing of the kind."""
    return asked_by(sentence, learned())


def asked_by(sentence: str, weights: LabelWeights) -> Asks | None:
    """Return what a sentence asks for by these weights, or None if it asks for nothing of it."""
    return _asked(weights.likely(signs_of(sentence)), weights)


def _asked(likely: Mapping[str, float], weights: LabelWeights) -> Asks | None:
    asks = max(ASKS, key=lambda name: likely[name])
    return asks if 1.0 - likely[NOTHING] >= weights.least[asks] else None
