"""The protocols of stores that you implement yourself, for `AgentMemory(stores=…)` or for
`AgentMemory(memory_store=…)` (docs/library.md). Each protocol documents what its methods must do.
`pytest --pyargs palimpsest_testing` checks a store against its protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from palimpsest.conversations.ports import (
    Blobs,
    HeadMoved,
    Listed,
    Opened,
    PartOfSession,
    PartsOfSessions,
    Sessions,
)
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
    "PartOfSession",
    "PartsOfSessions",
    "RecordPage",
    "Sessions",
    "StaticFacts",
    "StoredMemory",
    "VectorStore",
]


class Feed(Protocol):
    """The jobs and changes that writes to the other stores caused. On AWS the tables' streams carry
    them. None may be lost, even after a crash. They may be delivered more than once.
    """

    def jobs(self) -> Sequence[JobNotice]:
        """Take every job that was stored since the last call, oldest first. After a restart, take
        all pending jobs.
        """

    def changes(self) -> Sequence[Changed] | None:
        """Take the changes since the last call that concern the search index: messages that were
        stored, redacted or removed, records that were removed, and records that were written with
        the index state `pending`. None means that older changes are lost, so the search index must
        be rebuilt.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStores:
    """Your own stores. A commit of `sessions` or `memories` is one transaction that also stores its
    jobs and writes to `expiries` and `feed`.
    """

    sessions: Sessions
    jobs: Jobs
    memories: Memories
    expiries: Expiries
    blobs: Blobs
    facts: StaticFacts
    vectors: VectorStore
    feed: Feed
