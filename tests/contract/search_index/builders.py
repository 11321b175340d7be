"""Short ways to say a document and what a search gave; the place an index is in."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.search.ports import Document, Gone, Hit, SearchIndex

from tests.doubles.owned_index import OwnedIndex

SPACE = Space("test-model", 4)
OTHER_SPACE = Space("another/model", 4)  # as long, so that only the name tells them apart
EAST, NORTH, UP, NEARLY_EAST = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.9, 0.1, 0.0, 0.0),
)


@dataclass(frozen=True)
class Place:
    """Where the indexes of one family are. `open` makes an index object, as each process has its
    own; `settle` makes what was written findable at once. `client` and `family` are set on a
    cluster; with DynamoDB they are the names of the tables of vectors, by dimension, and of the
    table of words.
    """

    engine: str
    open: Callable[[Space | None], SearchIndex]
    settle: Callable[[], None]
    client: Any = None
    family: str = ""


@dataclass(frozen=True)
class Part:
    """One owner's part, and what it stands in."""

    place: Place
    index: OwnedIndex

    def put(self, *changes: Document | Gone) -> None:
        assert self.index.write(changes) == ()
        self.place.settle()

    def words(self, text: str, *, k: int = 10, **where: Any) -> list[str]:
        return keys(self.index.by_words(text, where=MemoryFilter(**where), k=k))

    def near(self, vector: Sequence[float], *, k: int = 10, **where: Any) -> list[str]:
        return keys(self.index.by_vector(vector, where=MemoryFilter(**where), k=k))


def document(key: str, text: str = "something", **more: Any) -> Document:
    return replace(Document(key=key, kind="fact", text=text, version=1, created_at=1_000), **more)


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.key for hit in hits]


def somebody(user: str | None = None) -> UserScope:
    return UserScope("acme", user or uuid.uuid4().hex)
