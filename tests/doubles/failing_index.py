"""A search index that can be taken down, in whole or for some documents; else it is the one that it stands before."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.errors import Unavailable
from palimpsest.models.ports import Space, Vector
from palimpsest.search.ports import ANYTHING, Document, Filter, Gone, Hit, OwnedIndex, Owner, SearchIndex


@dataclass
class FailingIndex:
    """Implements `SearchIndex`. While `down` is set, nothing of it answers; `unwritable` are keys whose writes fail.

    `writes` are the changes that arrived, batch by batch; `before_write` is called before each, which is `arriving`.
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

    def of(self, owner: Owner) -> "_Part":
        return _Part(self, self.index.of(owner))

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


@dataclass
class _Part:
    whole: FailingIndex
    part: OwnedIndex

    def write(self, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        self.whole.check()
        self.whole.arriving = changes
        if self.whole.before_write is not None:
            self.whole.before_write()
        self.whole.writes.append(tuple(changes))
        failing = tuple(sorted(change.key for change in changes if change.key in self.whole.unwritable))
        failing += self.part.write([change for change in changes if change.key not in self.whole.unwritable])
        if self.whole.after_write is not None:
            self.whole.after_write()
        return failing

    def by_words(self, text: str, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        self.whole.check()
        return self.part.by_words(text, where=where, k=k)

    def by_vector(self, vector: Vector, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:
        self.whole.check()
        if self.whole.no_vectors:
            raise Unavailable("The search index that is read holds vectors of another model.")
        return self.part.by_vector(vector, where=where, k=k)

    def count(self) -> int:
        self.whole.check()
        return self.part.count()

    def forget(self) -> int:
        self.whole.check()
        return self.part.forget()
