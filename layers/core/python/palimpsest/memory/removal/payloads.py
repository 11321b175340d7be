"""The data of the jobs that remove memories, sessions and users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import StringConstraints

from palimpsest.jobs.payloads import Digest, Id, ListPayload, Payload, Place

StoredCondition = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ne|in|gte?|lte?|exists|absent):[0-9a-f]{32}(:([0-9a-f]{32}|[0-9a-f]{16}))*$"
    ),
]
"""A condition of a filter: its operator and its digests. For a range, it has the sorting text of a
number (`memory.filters`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPayload(ListPayload):
    """The filter of the memories to remove. None and () set no condition. Times are epoch
    milliseconds. `subject` and `topic` are digests. `metadata` has a digest of each entry.
    """

    types: tuple[Id, ...] = ()
    min_importance: float | None = None
    max_importance: float | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    session: Id | None = None
    agent: Id | None = None
    subject: Digest | None = None
    topic: Digest | None = None
    metadata: tuple[Digest, ...] = ()
    conditions: tuple[StoredCondition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSessionsPayload(ListPayload):
    """The filter of the sessions to remove. They began no later than `before`, and were not active
    since `idle_since` (epoch milliseconds). None sets no condition.
    """

    user: Id | None = None
    agent: Id | None = None
    status: Literal["active", "ended", "deleted"] | None = None
    idle_since: int | None = None
    keep_memories: bool = False
    before: int


EraseStage = Literal["sessions", "memories", "late_sessions", "over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasePayload(Payload):
    """The progress of an erasure: the present store, the next position in it, and the number of
    items removed from each store.

    Sessions are listed twice, because their list is updated a moment after the table. `at` is when
    the user was erased (epoch milliseconds). If it is None, that is when the job was created.
    """

    at: int | None = None
    stage: EraseStage = "sessions"
    after: Place | None = None
    sessions: int = 0
    memories: int = 0
