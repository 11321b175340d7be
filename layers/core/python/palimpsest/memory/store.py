"""A store of memories alone, which a caller implements: seven methods over a database of texts and
vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.models.ports import Vector


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory. `said_at` is in epoch milliseconds, `embedding` None where there is no embedding
    model. A store keeps `fields`, which is JSON, as it is, and need not read it.
    """

    id: str
    content: str
    said_at: int
    embedding: Vector | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


class MemoryStore(Protocol):
    """The memories of all users, each user's apart: no call returns or changes those of another
    one.

    The next call sees everything that a call has saved or deleted, also after a restart. Every call
    raises `Unavailable` if the store can't answer: an error is never an empty answer.
    """

    def save(self, user: str, memory: StoredMemory) -> None:
        """Store the memory, or replace the one under its id; if that was said later, it stays. Safe
        to repeat.
        """

    def save_all(self, user: str, memories: Sequence[StoredMemory]) -> None:
        """As `save`, for several memories with different ids: all of them or none."""

    def search_by_vector(
        self, user: str, vector: Vector, *, k: int
    ) -> Sequence[tuple[StoredMemory, float]]:
        """The k memories whose embedding is nearest to the vector, nearest first, each with its
        cosine (-1 to 1).
        Memories without an embedding, or with one of another length, are left out.
        """

    def search_by_keyword(self, user: str, text: str, *, k: int) -> Sequence[StoredMemory]:
        """The k memories whose content has most of the text's words, in upper or lower case, the
        best first; none that has no word of it. The text is data, never a query language. For an
        empty text: the k that were said last.
        """

    def delete(self, user: str, memory_id: str) -> bool:
        """Remove the memory; return whether it was there."""

    def delete_all(self, user: str) -> int:
        """Remove all memories of the user; return how many there were."""

    def count(self, user: str) -> int:
        """How many memories the user has."""
