"""Estimates how likely it is that the found memories answer the question. The weights are in
`answerable.json`. `make train` learns them from labelled questions, with and without an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Literal, get_args

from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, has
from palimpsest.recall.ranker import LinearRanker, likelihood, linear_of
from palimpsest.recall.ranking import Ranked
from palimpsest.text.analyser import Stems, term_set
from palimpsest.text.language import ENGLISH
from palimpsest.text.packaged import packaged_json

Sign = Literal["best", "meaning", "words"]
"""A sign of whether a question is answered.

`best` is the logarithm of the odds that the best candidate answers. `meaning` is the highest
likeness of a candidate to the question (0..1). `words` is the share of the question's words that
occur in the best candidates, and rarer words weigh more. A word that no candidate has counts in
full.
"""
SIGNS: tuple[Sign, ...] = get_args(Sign)
BEST = 5  # candidates in which the question's words are looked for


@dataclass(frozen=True, slots=True)
class Learned:
    """The weights, and the likelihood below which an answer says that it does not know (`floor`),
    unless the tenant has set another one.
    """

    model: LinearRanker[Sign]
    floor: float


@dataclass(frozen=True, slots=True)
class Answerable:
    """How likely it is (0..1) that the question is answered, if half of all questions are. `signs`
    has the value of each sign. `terms` has the model's contribution for each sign, and these add up
    to the logarithm of the odds.
    """

    likelihood: float
    signs: Mapping[Sign, float]
    terms: Mapping[str, float]


NOTHING_FOUND = Answerable(0.0, {}, {})


def answerable(
    query: Query,
    memories: Sequence[FoundMemory],
    places: Sequence[Ranked],
    *,
    learned: Learned | None = None,
    only_english: bool = False,
) -> Answerable:
    """Return how likely the recall answers its question. `memories` are the memories that were
    read, and `places` are all candidates in the order of their rank. With `only_english`, the
    embedding model knows no other language.
    """
    if not places:
        return NOTHING_FOUND
    signs = dict(_signs(query, memories, places))
    if only_english and query.language != ENGLISH and "meaning" in signs:
        # Such a model finds any two texts of another language alike (docs/adr/0211).
        signs["meaning"] = min(signs["meaning"], signs["words"])
    terms = (learned or learned_weights()).model.terms(signs)
    return Answerable(likelihood(terms), signs, terms)


def _signs(
    query: Query, memories: Sequence[FoundMemory], places: Sequence[Ranked]
) -> Iterator[tuple[Sign, float]]:
    yield "best", places[0].odds
    likenesses = [
        place.signals["meaning"] for place in places if "vector" in place.candidate.scores
    ]
    if likenesses:
        yield "meaning", max(likenesses)
    texts = {memory.candidate.key: term_set(memory.content) for memory in memories}
    best = [texts[place.candidate.key] for place in places[:BEST]]
    yield "words", covered(query.words, best, every=list(texts.values()))


def covered(
    question_words: Sequence[Stems],
    best: Sequence[Collection[str]],
    *,
    every: Sequence[Collection[str]],
) -> float:
    """Return the share of the question's words that occur in the `best` texts. A word that is rarer
    among the texts of `every` weighs more.
    """
    known = frozenset[str]().union(*best)
    counts = Counter(word for text in every for word in question_words if has(text, word))
    rarity = {word: log((len(every) + 1) / (counts[word] + 0.5)) for word in question_words}
    whole = sum(rarity.values())
    return (
        sum(rarity[word] for word in question_words if has(known, word)) / whole if whole else 0.0
    )


@cache
def learned_weights() -> Learned:
    """Return the weights that ship with the library."""
    stored = packaged_json("palimpsest.recall", "answerable.json")
    return Learned(linear_of(stored["model"]), stored["floor"])
