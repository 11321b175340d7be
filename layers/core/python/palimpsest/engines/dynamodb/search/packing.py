"""An owner's documents as compact data: one by itself, and many as columns and as blocks of an inverted index.

Everything is JSON under zlib: small to store, quick to read, and read by eye where something is wrong.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, Self

from palimpsest.memory.conditions import TermTest
from palimpsest.memory.filters import Filter
from palimpsest.search.ports import Document
from palimpsest.text.analyser import document_terms
from palimpsest.text.bm25 import BASE, Asked, Field, rounded

BLOCK = 10_000  # characters of JSON that fill a block of postings: about the 4 KB that one read unit pays for
PART_SIGN = "~"  # tells a part from a word of the same letters; no word holds it

Postings = dict[str, list[int]]
"""For each term, place and times of one document after the other; places are differences from the one before."""


def packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass"))


def unpacked(stored: bytes) -> Any:
    return json.loads(zlib.decompress(stored).decode(errors="surrogatepass"))


class Entry(NamedTuple):
    """What can be asked of one document without its vector. `words` and `parts` count its terms.

    A tuple, because many of them are stored as columns: one list for each field. `metadata` is None if there is none.
    """

    key: str
    version: int
    kind: str
    created_at: int
    importance: float
    subject: str | None
    session: str | None
    agent: str | None
    metadata: Sequence[str] | None
    words: int
    parts: int

    def passes(self, where: Filter, tests: Sequence[TermTest]) -> bool:
        """Whether it meets every condition; `tests` are those of the filter."""
        return (
            (not where.types or self.kind in where.types)
            and (where.min_importance is None or self.importance >= where.min_importance)
            and (where.created_after is None or self.created_at >= where.created_after)
            and (where.created_before is None or self.created_at <= where.created_before)
            and where.subject in (None, self.subject)
            and where.session in (None, self.session)
            and where.agent in (None, self.agent)
            and all(test.passes(self.metadata or ()) for test in tests)
        )


@dataclass(frozen=True, slots=True)
class Written:
    """A document as it is written: its entry, and how often it has each term."""

    entry: Entry
    times: Mapping[str, int]

    @classmethod
    def of(cls, document: Document) -> Self:
        terms = document_terms(document.text)
        times = Counter(terms.words) + Counter(PART_SIGN + part for part in terms.parts)
        entry = Entry(
            document.key, document.version, document.kind, document.created_at, document.importance, document.subject,
            document.session, document.agent, tuple(document.metadata) or None, len(terms.words), len(terms.parts),
        )  # fmt: skip
        return cls(entry, times)

    def packed(self) -> bytes:
        return packed([self.entry, self.times])

    @classmethod
    def unpacked(cls, stored: bytes) -> Self:
        values, times = unpacked(stored)
        return cls(Entry(*values), times)


class Columns:
    """All of an owner's documents by number, field by field: a search looks at few of them as a whole.

    A number whose document is not there any more is not in `alive`.
    """

    def __init__(self, stored: bytes = b"") -> None:
        self._fields: list[list[Any]] = unpacked(stored) if stored else [[] for _ in Entry._fields]
        self.keys: list[str] = self._fields[Entry._fields.index("key")]
        self.alive = [True] * len(self.keys)

    def __getitem__(self, number: int) -> Entry:
        return Entry._make(values[number] for values in self._fields)

    @property
    def numbers(self) -> Iterator[int]:
        return (number for number, is_alive in enumerate(self.alive) if is_alive)

    def append(self, entry: Entry) -> int:
        for values, value in zip(self._fields, entry, strict=True):
            values.append(value)
        self.alive.append(True)
        return len(self.alive) - 1

    def remove(self, keys: Collection[str]) -> None:
        for number, name in enumerate(self.keys) if keys else ():
            if name in keys:
                self.alive[number] = False

    def lengths(self, *, of_words: bool) -> list[int]:
        return self._fields[Entry._fields.index("words" if of_words else "parts")]

    def packed(self) -> bytes:
        """Those that are there."""
        return packed([[values[number] for number in self.numbers] for values in self._fields])


def blocks(postings: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, bytes]]:
    """The postings cut into blocks in the order of their terms: the first term of each, and the block."""
    block: dict[str, Sequence[int]] = {}
    size = 0
    for term in sorted(postings):
        block[term] = postings[term]
        size += len(term) + 3 * len(postings[term])
        if size >= BLOCK:
            yield next(iter(block)), packed(block)
            block, size = {}, 0
    if block:
        yield next(iter(block)), packed(block)


def block_of(term: str, firsts: Sequence[str]) -> int | None:
    """The number of the block that would hold the term, of blocks that begin with these terms; None: no block."""
    place = bisect_right(firsts, term) - 1
    return place if place >= 0 else None


def stored_terms(groups: Sequence[Asked]) -> list[str]:
    return list(dict.fromkeys(stored(group, term) for group in groups for term in group.terms))


def stored(group: Asked, term: str) -> str:
    return term if group.is_word else PART_SIGN + term


def joined(old: Postings, moved: Mapping[int, int], new: Mapping[int, Written]) -> Postings:
    """The postings of a new segment: those of the old one whose documents have `moved` to a new place, which does not
    change their order, and behind them those of new documents by their places.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term, pairs in old.items():
        found[term] = [(moved[place], times) for place, times in unfolded(pairs) if place in moved]
    for place in sorted(new):
        for term, times in new[place].times.items():
            found[term].append((place, times))
    return {term: _folded(pairs) for term, pairs in found.items() if pairs}


def unfolded(pairs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Place and times of each document."""
    return zip(accumulate(pairs[::2]), pairs[1::2], strict=True)


def _folded(pairs: Sequence[tuple[int, int]]) -> list[int]:
    flat: list[int] = []
    before = 0
    for place, times in pairs:
        flat += (place - before, times)
        before = place
    return flat


def scored(
    groups: Sequence[Asked], having: Mapping[str, Sequence[tuple[int, int]]], every: Columns
) -> dict[int, float]:
    """The BM25 score of each document that matches, by its number.

    `having` gives for each stored term the documents that have it, with its times there.
    """
    words, parts = (_Lengths(every, of_words=is_word) for is_word in (True, False))
    scores: dict[int, float] = defaultdict(float)
    for group in groups:
        lengths = words if group.is_word else parts
        sums: dict[int, float] = defaultdict(float)
        matched: Counter[int] = Counter()
        for term in group.terms:
            found = having.get(stored(group, term), ())
            weight = group.share * lengths.field.weight(len(found))
            for number, times in found:
                sums[number] += weight * times / (times + lengths.costs[lengths.of[number]])
                matched[number] += 1
        for number, total in sums.items():
            if matched[number] >= group.needed:
                scores[number] += total
    return scores


class _Lengths:
    """How long documents are in one field, and what each length costs in the denominator of a score."""

    def __init__(self, every: Columns, *, of_words: bool) -> None:
        self.of = every.lengths(of_words=of_words)
        held = [length for length, is_alive in zip(self.of, every.alive, strict=True) if is_alive and length]
        self.field = Field(len(held), sum(held))
        self.costs = {length: BASE + self.field.slope * rounded(length) for length in set(held)}
