"""A search index that can be taken down, in whole or for some documents; else it is the one that it
stands before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.errors import Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space, Vector
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, SearchIndex


@dataclass
class FailingIndex:
    """Implements `SearchIndex`. While `down` is set, nothing of it answers; `unwritable` are keys
    whose writes fail.

    `writes` are the changes that arrived, batch by batch; `before_write` is called before each,
    which is `arriving`.
    """

    index: SearchIndex
    down: bool = False
    no_vectors: bool = False
    unwritable: set[str] = field(default_factory=set)
    writes: list[Sequence[Document | Gone]] = field(default_factory=list)
    before_write: Any = None
    after_write: Any = None
    arriving: Sequence[Document | Gone] = ()

    @property
    def space(self) -> Space | None:
        return self.index.space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        self.check()
        self.arriving = changes
        if self.before_write is not None:
            self.before_write()
        self.writes.append(tuple(changes))
        failing = tuple(sorted(change.key for change in changes if change.key in self.unwritable))
        failing += self.index.write(
            owner, [change for change in changes if change.key not in self.unwritable]
        )
        if self.after_write is not None:
            self.after_write()
        return failing

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        self.check()
        return self.index.by_words(owner, text, where=where, k=k)

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        self.check()
        if self.no_vectors:
            raise Unavailable("The search index has vectors of another embedding model.")
        return self.index.by_vector(owner, vector, where=where, k=k)

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        self.check()
        return self.index.keys(owner, after=after, limit=limit)

    def count(self, owner: UserScope) -> int:
        self.check()
        return self.index.count(owner)

    def prepare(self, *, afresh: bool = False) -> None:
        self.check()
        self.index.prepare(afresh=afresh)

    def switch(self) -> None:
        self.check()
        self.index.switch()

    def indexes(self) -> tuple[str, ...]:
        self.check()
        return self.index.indexes()

    def check(self) -> None:
        if self.down:
            raise Unavailable("The search engine did not answer; try again.")
