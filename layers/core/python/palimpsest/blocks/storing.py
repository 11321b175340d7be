"""Whether a block has stored what is to leave a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from palimpsest.domain.blocks import BlockType
from palimpsest.domain.jobs import Job
from palimpsest.domain.scope import Scope
from palimpsest.ports.memories import Memories

PartState = Literal["stored", "pending", "failed"]
Store = Callable[[Job], PartState]
"""Tells of the messages `first` through `last` of a job's session. Raises `Unavailable`."""


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
