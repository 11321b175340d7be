"""Whether a block has stored what is to leave a window."""

from __future__ import annotations

from collections.abc import Mapping

from palimpsest.conversations.configuration import BlockType
from palimpsest.conversations.ports import PartState, Store
from palimpsest.jobs.job import Job
from palimpsest.memory.ports import Memories
from palimpsest.scope import Scope


def stores(memories: Memories) -> Mapping[BlockType, Store]:
    """Of each block that stores."""

    def extracted(job: Job) -> PartState:
        """A range of which a part was parked has failed, until that part is extracted."""
        progress = memories.progress(Scope(job.tenant).user(job.user or ""), job.session)
        if any(first <= job.last and last >= job.first for first, last in progress.parked):
            return "failed"
        return "stored" if progress.through >= job.last else "pending"

    return {"extractive": extracted, "vector": _in_the_table}


def _in_the_table(_job: Job) -> PartState:
    """Messages are stored when they are appended; their vectors follow by the stream."""
    return "stored"
