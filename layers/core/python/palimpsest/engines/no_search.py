"""The search index of a stage that has none: nothing is kept in it, and no question is answered."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.errors import NotFound, Unavailable
from palimpsest.models.ports import Space, Vector
from palimpsest.search.ports import ANYTHING, Document, Filter, Gone, Hit, Owner


class AbsentIndex:
    """Implements `SearchIndex`. Who asks it degrades, as where an engine is down."""

    space: Space | None = None

    def of(self, owner: Owner) -> _NoPart:
        return _NoPart(owner)

    def prepare(self, *, afresh: bool = False) -> None:
        """Nothing is made, afresh or not."""

    def switch(self) -> None:
        raise NotFound("This stage has no search index.")

    def indexes(self) -> tuple[str, ...]:
        return ()


class _NoPart:
    """Implements `OwnedIndex`."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def write(self, changes: Sequence[Document | Gone]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return ()

    def by_words(self, text: str, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:  # noqa: ARG002
        raise _absent()

    def by_vector(self, vector: Vector, *, where: Filter = ANYTHING, k: int) -> tuple[Hit, ...]:  # noqa: ARG002
        raise _absent()

    def count(self) -> int:
        raise _absent()

    def forget(self) -> int:
        return 0


def _absent() -> Unavailable:
    return Unavailable("This stage has no search index.")
