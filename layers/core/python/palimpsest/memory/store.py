"""The protocol of a store of memories that a caller implements. It has seven methods over a
database of texts and vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.models.ports import Vector


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory. `said_at` is in epoch milliseconds. `embedding` is None without an embedding
    model. `fields` is JSON, which a store keeps unchanged and need not read.
    """

    id: str
    content: str
    said_at: int
    embedding: Vector | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


class MemoryStore(Protocol):
    """The memories of all users. A call for one user never returns or changes another user's
    memories. The next call sees everything that a call has saved or deleted, even after a restart.
    Every call raises `Unavailable` if the store can't answer. It does not return an empty result
    instead.
    """

    def save(self, user: str, memory: StoredMemory) -> None:
        """Store the memory, or replace the stored memory with the same id. If the stored memory has
        a later `said_at`, it is not replaced. Safe to repeat.
        """

    def save_all(self, user: str, memories: Sequence[StoredMemory]) -> None:
        """Save several memories with different ids, each as `save` does. Either all are stored, or
        none.
        """

    def search_by_vector(
        self, user: str, vector: Vector, *, k: int
    ) -> Sequence[tuple[StoredMemory, float]]:
        """Return the k memories whose embedding is nearest to the vector, nearest first, each with
        its cosine (-1 to 1). Memories without an embedding, or with an embedding of another length,
        are left out.
        """

    def search_by_keyword(self, user: str, text: str, *, k: int) -> Sequence[StoredMemory]:
        """Return the k memories whose content has the most words of the text, best first. Upper and
        lower case are the same. A memory without any of the words is left out. The text is data,
        never a query language. For an empty text, return the k memories with the latest `said_at`.
        """

    def delete(self, user: str, memory_id: str) -> bool:
        """Remove the memory, and return whether it was there."""

    def delete_all(self, user: str) -> int:
        """Remove all memories of the user, and return how many there were."""

    def count(self, user: str) -> int:
        """Return how many memories the user has."""
