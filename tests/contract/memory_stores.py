"""The smallest `MemoryStore`: lists in this process."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from operator import mul

from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.stores import StoredMemory


class ListStore:
    """Implements `MemoryStore`."""

    def __init__(self) -> None:
        self.held: defaultdict[str, dict[str, StoredMemory]] = defaultdict(dict)

    def save(self, user: str, memory: StoredMemory) -> None:
        before = self.held[user].get(memory.id)
        if before is None or before.said_at <= memory.said_at:
            self.held[user][memory.id] = memory

    def save_all(self, user: str, memories: Sequence[StoredMemory]) -> None:
        for memory in memories:
            self.save(user, memory)

    def search_by_vector(
        self, user: str, vector: Vector, *, k: int
    ) -> Sequence[tuple[StoredMemory, float]]:
        asked = unit(vector)
        found = [
            (memory, sum(map(mul, asked, unit(memory.embedding))))
            for memory in self.held[user].values()
            if memory.embedding is not None and len(memory.embedding) == len(asked)
        ]
        return sorted(found, key=lambda one: -one[1])[:k]

    def search_by_keyword(self, user: str, text: str, *, k: int) -> Sequence[StoredMemory]:
        asked = words(text)
        shared = [
            (len(asked & words(memory.content)), memory) for memory in self.held[user].values()
        ]
        found = [one for one in shared if one[0] or not text]
        return [memory for _, memory in sorted(found, key=lambda one: (-one[0], -one[1].said_at))][
            :k
        ]

    def delete(self, user: str, memory_id: str) -> bool:
        return self.held[user].pop(memory_id, None) is not None

    def delete_all(self, user: str) -> int:
        return len(self.held.pop(user, {}))

    def count(self, user: str) -> int:
        return len(self.held[user])


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
