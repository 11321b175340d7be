"""Keeps a user's graph within its size, however many write at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.graph.things import topic_of
from palimpsest.memory.at_most import AtMost
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.scope import UserScope

MOST_THINGS = 20_000


@dataclass(frozen=True, slots=True)
class GraphLimit:
    """`most` is how many entities, and how many relationships, a user may have; None: any number."""

    memories: Memories
    most: int | None = MOST_THINGS

    def guarded(self, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
        """The commit, made so that it is lost if another writer took the room that it counted on.

        Raises `Conflict` (`too_many_entities`, `too_many_relationships`) if there is no room.
        """
        for each in self._each():
            commit = each.guarded(scope, commit)
        return commit

    def _each(self) -> Iterator[AtMost]:
        if self.most is not None:
            yield AtMost(self.memories, topic_of("entity", ""), self.most, "entities")
            yield AtMost(self.memories, topic_of("relationship", ""), self.most, "relationships")
