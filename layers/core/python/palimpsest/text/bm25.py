"""BM25 as Lucene scores it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

K1, B = 1.2, 0.75  # the usual parameters of BM25, which Lucene has too

BASE = K1 * (1 - B)


@dataclass(frozen=True, slots=True)
class Field:
    """The statistics of one field (words or parts) over one owner's documents, for BM25 as Lucene
    scores it. `documents` is the number of documents with terms in the field. The other number
    counts the terms in all these documents.
    """

    documents: int
    terms: int

    @property
    def slope(self) -> float:
        """Return how much one term of a document's length adds to the denominator."""
        return K1 * B * self.documents / self.terms if self.terms else 0.0

    def weight(self, documents: int) -> float:
        """Return the weight of a term that occurs in this number of documents."""
        return (K1 + 1) * math.log1p((self.documents - documents + 0.5) / (documents + 0.5))

    def costs(self, lengths: Collection[int]) -> dict[int, float]:
        """Return how much each length of a document adds to the denominator of its scores."""
        return {length: BASE + self.slope * rounded(length) for length in lengths}


Posting = tuple[int, int, int]
"""A document's number, how often it has the term, and its length."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Terms that belong together, such as the parts of a word: the weight of each term, and the
    documents that have it. A document matches if it has at least `needed` of the terms.
    """

    terms: Sequence[tuple[float, Iterable[Posting]]]
    costs: Mapping[int, float]
    needed: int = 1


def scored(every: Iterable[Matches]) -> dict[int, float]:
    """Return the score of each matching document, by the document's number."""
    scores: dict[int, float] = defaultdict(float)
    for matches in every:
        costs = matches.costs
        sums: dict[int, float] = defaultdict(float)
        matched: dict[int, int] = defaultdict(int)
        for weight, postings in matches.terms:
            for number, times, length in postings:
                sums[number] += weight * times / (times + costs[length])
                matched[number] += 1
        for number, total in sums.items():
            if matched[number] >= matches.needed:
                scores[number] += total
    return scores


def rounded(length: int) -> int:
    """Return a field's length as Lucene stores it, in one byte. It is exact below 40, and above
    that rounded to four significant bits.
    """
    over = length - 24
    shift = max(0, over.bit_length() - 4)
    return length if over < 0 else 24 + (over >> shift << shift)
