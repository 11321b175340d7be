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
        question = unit(vector)
        scored = [
            (memory, sum(map(mul, question, unit(memory.embedding))))
            for memory in self.held[user].values()
            if memory.embedding is not None and len(memory.embedding) == len(question)
        ]
        return sorted(scored, key=lambda pair: -pair[1])[:k]

    def search_by_keyword(self, user: str, text: str, *, k: int) -> Sequence[StoredMemory]:
        query_words = words(text)
        shared = [
            (len(query_words & words(memory.content)), memory)
            for memory in self.held[user].values()
        ]
        matching = [pair for pair in shared if pair[0] or not text]
        return [
            memory for _, memory in sorted(matching, key=lambda pair: (-pair[0], -pair[1].said_at))
        ][:k]

    def delete(self, user: str, memory_id: str) -> bool:
        return self.held[user].pop(memory_id, None) is not None

    def delete_all(self, user: str) -> int:
        return len(self.held.pop(user, {}))

    def count(self, user: str) -> int:
        return len(self.held[user])


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
