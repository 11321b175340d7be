"""What a store of one's own implements: for `AgentMemory(stores=…)`, or for
`AgentMemory(memory_store=…)` (docs/library.md).

Each protocol says what its methods promise. `pytest --pyargs palimpsest_testing` holds a store to
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.conversations.ports import Blobs, HeadMoved, Listed, Opened, Sessions
from palimpsest.jobs.events import Changed, JobNotice
from palimpsest.jobs.ports import Due, Jobs
from palimpsest.memory.ports import Expiries, Memories, MemoryCommit, RecordPage
from palimpsest.memory.store import MemoryStore, StoredMemory
from palimpsest.tenants.ports import StaticFacts
from palimpsest.vectors.ports import VectorStore

__all__ = [
    "Blobs",
    "Changed",
    "Due",
    "Expiries",
    "Feed",
    "HeadMoved",
    "JobNotice",
    "Jobs",
    "Listed",
    "Memories",
    "MemoryCommit",
    "MemoryStore",
    "Opened",
    "OwnStores",
    "RecordPage",
    "Sessions",
    "StaticFacts",
    "StoredMemory",
    "VectorStore",
]


class Feed(Protocol):
    """What the writes of the other stores caused: on AWS the tables' streams carry it. Nothing is
    left out, also after a crash; what is given twice does no harm.
    """

    def jobs(self) -> Sequence[JobNotice]:
        """Take every job that was stored since the last call, oldest first; after a restart all
        that are pending.
        """

    def changes(self) -> Sequence[Changed]:
        """Take what changed of what is searched since the last call: each message that was stored,
        redacted or removed, and each record that was written with the index state `pending`, or
        removed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStores:
    """The stores of one's own. A commit of `sessions` or `memories` is one transaction with the
    jobs that it holds, and with `expiries` and `feed`.
    """

    sessions: Sessions
    jobs: Jobs
    memories: Memories
    expiries: Expiries
    blobs: Blobs
    facts: StaticFacts
    vectors: VectorStore
    feed: Feed
