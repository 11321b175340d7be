"""BM25 as Lucene scores it."""

from __future__ import annotations

import math
from dataclasses import dataclass

K1, B = 1.2, 0.75  # of BM25: Lucene's and everyone's

BASE = K1 * (1 - B)


@dataclass(frozen=True, slots=True)
class Field:
    """Of one owner's documents, for BM25 as Lucene scores it: how many have terms in this field
    (words or parts), and how many terms in all.
    """

    documents: int
    terms: int

    @property
    def slope(self) -> float:
        """The amount that one term of a document's length adds to the denominator."""
        return K1 * B * self.documents / self.terms if self.terms else 0.0

    def weight(self, documents: int) -> float:
        """The weight of a term that so many of the documents have."""
        return (K1 + 1) * math.log1p((self.documents - documents + 0.5) / (documents + 0.5))


def rounded(length: int) -> int:
    """A field's length as Lucene stores it, in one byte: exact below 40, then to four significant
    bits.
    """
    over = length - 24
    shift = max(0, over.bit_length() - 4)
    return length if over < 0 else 24 + (over >> shift << shift)
