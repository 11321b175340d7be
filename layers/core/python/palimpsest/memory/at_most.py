"""Limits how many topics of a kind a user may have; the limit is exact, also where many write at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.errors import Conflict
from palimpsest.memory.ports import Memories, MemoryCommit, Pointer
from palimpsest.scope import UserScope

NEVER_SAID = (0, "", 0, 0, "")


@dataclass(frozen=True, slots=True)
class AtMost:
    """A user has at most `most` topics whose keys begin with `prefix`; `what` names them in the error."""

    memories: Memories
    prefix: str
    most: int
    what: str

    def new(self, scope: UserScope, topics: Sequence[str]) -> frozenset[str]:
        """Those of the topics (up to 100) that are of this kind and not there. Raises `Conflict` (`too_many_` and what)
        if there would be too many with them, and `Unavailable`.
        """
        mine = sorted({topic for topic in topics if topic.startswith(self.prefix)})
        there = self.memories.pointers(scope, mine) if mine else {}
        new = frozenset(topic for topic in mine if topic not in there or there[topic].record is None)
        if new and len(self.memories.topics(scope, prefix=self.prefix)) + len(new) > self.most:
            raise Conflict(f"A user has at most {self.most:,} {self.what}.", code=f"too_many_{self.what}")
        return new

    def guarded(self, scope: UserScope, commit: MemoryCommit) -> MemoryCommit:
        """The commit with a pointer of no topic, which every writer of a new topic moves: one at a time counts. Raises
        as `new`.
        """
        topics = [pointer.topic_key for pointer in commit.pointers if pointer.record is not None]
        if not any(topic.startswith(self.prefix) for topic in topics):
            return commit
        before = self.memories.pointers(scope, [self.prefix]).get(self.prefix)
        if not self.new(scope, topics):
            return commit
        moved = Pointer(self.prefix, None, NEVER_SAID, before.version if before else 0)
        return replace(commit, pointers=(*commit.pointers, moved))
