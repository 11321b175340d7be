"""One owner's documents in a search index, for tests that ask of one owner many times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Vector
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, SearchIndex


@dataclass(frozen=True)
class OwnedIndex:
    """The calls of `SearchIndex` for one owner."""

    index: SearchIndex
    owner: UserScope

    def write(self, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        return self.index.write(self.owner, changes)

    def by_words(self, text: str, *, where: MemoryFilter = ANYTHING, k: int) -> tuple[Hit, ...]:
        return self.index.by_words(self.owner, text, where=where, k=k)

    def by_vector(
        self, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        return self.index.by_vector(self.owner, vector, where=where, k=k)

    def keys(self, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        return self.index.keys(self.owner, after=after, limit=limit)

    def count(self) -> int:
        return self.index.count(self.owner)
