"""The compact form of an owner's documents: a single document, and many documents as columns and as
blocks of an inverted index.

All data is JSON compressed with zlib, which is small to store and can be read by eye to find a
fault. It is quick to read, because a question decodes only the fields and terms that it needs.
"""

from __future__ import annotations

import json
import struct
import zlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, Self

from palimpsest.memory.filters import MemoryFilter
from palimpsest.search.ports import Document
from palimpsest.text.analyser import TermGroup, document_terms
from palimpsest.text.bm25 import Field, Matches, Posting

# characters of JSON in a block of postings, so that a block is about the 4 KB that one read unit
# pays for
BLOCK = 10_000
PART_SIGN = "~"  # marks a part, so that it differs from an equal word; no word contains it

Postings = dict[str, list[int]]
"""For each term, a flat list of pairs, one for each document: the document's place and how often it
has the term. A place is stored as the difference from the place before it.
"""


def packed(value: Any) -> bytes:
    return _deflated(_line(value))


def unpacked(stored: bytes) -> Any:
    return json.loads(_inflated(stored))


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _deflated(text: str) -> bytes:
    return zlib.compress(text.encode(errors="surrogatepass"))


def _inflated(stored: bytes) -> str:
    return zlib.decompress(stored).decode(errors="surrogatepass")


class Entry(NamedTuple):
    """The fields of a document except its vector. `words` and `parts` are the numbers of its terms.
    `metadata` is None if there is none.

    It is a tuple, because many entries are stored as columns, with one list for each field.
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


_SIZES = struct.Struct(f">{len(Entry._fields)}I")
"""The header of stored columns: the number of bytes that each field takes."""


@dataclass(frozen=True, slots=True)
class Written:
    """A document as it is written: its entry, and the number of times that it has each term."""

    entry: Entry
    times: Mapping[str, int]

    @classmethod
    def of(cls, document: Document) -> Self:
        terms = document_terms(document.text)
        times = Counter(terms.words) + Counter(PART_SIGN + part for part in terms.parts)
        entry = Entry(
            document.key,
            document.version,
            document.kind,
            document.created_at,
            document.importance,
            document.subject,
            document.session,
            document.agent,
            tuple(document.metadata) or None,
            len(terms.words),
            len(terms.parts),
        )
        return cls(entry, times)

    def packed(self) -> bytes:
        return packed([self.entry, self.times])

    @classmethod
    def unpacked(cls, stored: bytes) -> Self:
        values, times = unpacked(stored)
        return cls(Entry(*values), times)


class Columns:
    """All of an owner's documents by number, field by field. A field is decoded when it is first
    used.

    `gone` has the numbers of the `stored` documents whose key is in `without`. The documents of
    `added` are numbered after the stored ones.
    """

    def __init__(
        self, stored: bytes = b"", *, without: Collection[str] = (), added: Sequence[Entry] = ()
    ) -> None:
        ends = [*accumulate(_SIZES.unpack_from(stored), initial=_SIZES.size)] if stored else []
        self._stored = [stored[start:end] for start, end in pairwise(ends)]
        self._added = added
        self._decoded: dict[str, list[Any]] = {}
        self.keys: list[str] = self.field("key")
        self.stored = len(self.keys) - len(added)
        self.gone = (
            {number for number in range(self.stored) if self.keys[number] in without}
            if without
            else set()
        )

    def __len__(self) -> int:
        return len(self.keys) - len(self.gone)

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers of the documents that are not gone."""
        return (number for number in range(len(self.keys)) if number not in self.gone)

    def field(self, name: str) -> list[Any]:
        """Return the values of one field of `Entry` by document number, including those of
        documents that are gone.
        """
        if name not in self._decoded:
            place = Entry._fields.index(name)
            stored = unpacked(self._stored[place]) if self._stored else ()
            self._decoded[name] = [*stored, *(entry[place] for entry in self._added)]
        return self._decoded[name]

    def passing(self, where: MemoryFilter, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the numbers of the documents that meet every condition, in the order of
        `numbers`.
        """
        checks = [(self.field(name), holds) for name, holds in _checks(where)]
        for values, holds in checks:
            numbers = _holding(values, holds, numbers)
        return iter(numbers)

    def packed(self) -> bytes:
        """Return the documents that are not gone, as stored columns."""
        numbers = list(self.numbers)
        columns = map(self.field, Entry._fields)
        fields = [packed(list(map(values.__getitem__, numbers))) for values in columns]
        return _SIZES.pack(*map(len, fields)) + b"".join(fields)


def _holding(
    values: Sequence[Any], holds: Callable[[Any], bool], numbers: Iterable[int]
) -> Iterator[int]:
    return (number for number in numbers if holds(values[number]))


def _checks(where: MemoryFilter) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Yield each condition of a filter as the name of a field and a test of that field's values."""
    least, after, before = where.min_importance, where.created_after, where.created_before
    if where.types:
        yield "kind", where.types.__contains__
    if least is not None:
        yield "importance", lambda value: value >= least
    if after is not None:
        yield "created_at", lambda value: value >= after
    if before is not None:
        yield "created_at", lambda value: value <= before
    for name, wanted in _wanted(where):
        yield name, wanted.__contains__
    if tests := where.tests:
        yield "metadata", lambda terms: all(test.passes(terms or ()) for test in tests)


def _wanted(where: MemoryFilter) -> Iterator[tuple[str, Collection[str]]]:
    if where.subjects:
        yield "subject", where.subjects
    for name in ("session", "agent"):
        if (value := getattr(where, name)) is not None:
            yield name, (value,)


def blocks(postings: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, bytes]]:
    """Cut the postings into blocks, in the order of their terms. Yields the first term of each
    block and the block.
    """
    first, lines = "", ""
    for term in sorted(postings):
        first = first if lines else term
        lines += f"\n{term}{_line(postings[term])}"
        if len(lines) >= BLOCK:
            yield first, _deflated(lines)
            lines = ""
    if lines:
        yield first, _deflated(lines)


def postings_in(block: bytes, terms: Iterable[str] | None = None) -> Postings:
    """Return the postings of a block. With `terms`, return only the postings of those terms."""
    lines = _inflated(block)
    if terms is None:
        return {
            line[: line.index("[")]: json.loads(line[line.index("[") :])
            for line in lines[1:].split("\n")
        }
    # A block has many terms, so only the lines of these terms are decoded.
    ends = ((term, lines.find(f"\n{term}[")) for term in terms)
    return {
        term: json.loads(lines[at + len(term) + 1 : lines.index("]", at) + 1])
        for term, at in ends
        if at >= 0
    }


def block_of(term: str, firsts: Sequence[str]) -> int | None:
    """Return the number of the block that would hold the term; None if no block would. `firsts` has
    the first term of each block.
    """
    place = bisect_right(firsts, term) - 1
    return place if place >= 0 else None


def stored_terms(groups: Sequence[TermGroup]) -> list[str]:
    return list(dict.fromkeys(stored(group, term) for group in groups for term in group.terms))


def stored(group: TermGroup, term: str) -> str:
    return term if group.is_word else PART_SIGN + term


def joined(old: Postings, moved: Mapping[int, int], new: Mapping[int, Written]) -> Postings:
    """Return the postings of a new segment. The postings of the old segment come first; `moved`
    maps the old place of each remaining document to its new place and keeps their order. The
    postings of `new` documents follow, in the order of their places.
    """
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term, pairs in old.items():
        postings[term] = [
            (moved[place], times) for place, times in unfolded(pairs) if place in moved
        ]
    for place in sorted(new):
        for term, times in new[place].times.items():
            postings[term].append((place, times))
    return {term: _folded(pairs) for term, pairs in postings.items() if pairs}


def unfolded(pairs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each document's place and the number of times that it has the term."""
    return zip(accumulate(pairs[::2]), pairs[1::2], strict=True)


def _folded(pairs: Sequence[tuple[int, int]]) -> list[int]:
    flat: list[int] = []
    before = 0
    for place, times in pairs:
        flat += (place - before, times)
        before = place
    return flat


def matches(
    groups: Sequence[TermGroup], having: Mapping[str, Sequence[tuple[int, int]]], every: Columns
) -> Iterator[Matches]:
    """Yield the matches of each group of terms. `having` has, for each stored term, the documents
    that contain the term, each with the number of times that it contains the term.
    """
    words, parts = _Lengths(every, "words"), _Lengths(every, "parts")
    for group in groups:
        lengths = words if group.is_word else parts
        documents = [having.get(stored(group, term), ()) for term in group.terms]
        terms = [
            (group.share * lengths.field.weight(len(pairs)), lengths.beside(pairs))
            for pairs in documents
        ]
        yield Matches(terms, lengths.costs, group.needed)


class _Lengths:
    """The lengths of all documents in one field, and the cost of each length in the denominator of
    a score.
    """

    def __init__(self, every: Columns, field: Literal["words", "parts"]) -> None:
        self._of: list[int] = every.field(field)
        gone = [self._of[number] for number in every.gone]
        held = len(self._of) - self._of.count(0) - (len(gone) - gone.count(0))
        self.field = Field(held, sum(self._of) - sum(gone))
        self.costs = self.field.costs(set(self._of))

    def beside(self, pairs: Sequence[tuple[int, int]]) -> list[Posting]:
        """Return the postings of documents. Each pair is a document's number and how often it has
        the term.
        """
        of = self._of
        return [(number, times, of[number]) for number, times in pairs]
