"""The search index of a stage that has no search engine."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.errors import NotFound, Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space, Vector
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit


class AbsentIndex:
    """Implements `SearchIndex` for a stage that has no search engine. It stores nothing. Its
    searches fail as if the engine were down, so that callers continue without it.
    """

    space: Space | None = None

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return ()

    def by_words(
        self,
        owner: UserScope,  # noqa: ARG002
        text: str,  # noqa: ARG002
        *,
        where: MemoryFilter = ANYTHING,  # noqa: ARG002
        k: int,  # noqa: ARG002
    ) -> tuple[Hit, ...]:  # noqa: ARG002, RUF100
        raise _absent()

    def by_vector(
        self,
        owner: UserScope,  # noqa: ARG002
        vector: Vector,  # noqa: ARG002
        *,
        where: MemoryFilter = ANYTHING,  # noqa: ARG002
        k: int,  # noqa: ARG002
    ) -> tuple[Hit, ...]:  # noqa: ARG002, RUF100
        raise _absent()

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def count(self, owner: UserScope) -> int:  # noqa: ARG002
        raise _absent()

    def prepare(self, *, afresh: bool = False) -> None:
        """Do nothing, because there is no index to make."""

    def switch(self) -> None:
        raise NotFound("This stage has no search index.")

    def indexes(self) -> tuple[str, ...]:
        return ()


def _absent() -> Unavailable:
    return Unavailable("This stage has no search index.")
