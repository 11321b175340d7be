"""The answers of operations on memories: each memory with its place among the versions of its topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.resources.fields import Moment, NextCursor, Provenance, provenance, rfc3339, rfc3339_or_null
from palimpsest.memory.records import RecordType, Version


class Memory(TypedDict):
    id: str
    type: RecordType
    content: str
    subject: str | None
    topic_key: Annotated[str | None, Field(description="Folded to words joined by `_`")]
    keywords: Sequence[str]
    queries: Sequence[str]
    importance: float
    confidence: float
    status: Literal["current", "superseded"]
    version: Annotated[int, Field(description="Place in the chain of its topic, from 1")]
    valid_from: Moment
    valid_to: Annotated[Moment | None, Field(description="When the next version began to hold, or it was deleted")]
    created_at: Moment
    supersedes: Annotated[str | None, Field(description="Id of the version before")]
    superseded_by: Annotated[str | None, Field(description="Id of the version after")]
    source: Provenance
    agent_id: str | None
    metadata: Mapping[str, Any]
    method: Annotated[str, Field(description="given, model or pattern")]
    expires_at: Moment | None


class SavedMemory(Memory):
    outcome: Literal["created", "unchanged", "superseded"]


class SavedMemories(TypedDict):
    memories: list[SavedMemory]


class MemoryPage(TypedDict):
    memories: list[Memory]
    next_cursor: NextCursor


class MemoryVersions(TypedDict):
    versions: list[Memory]
    next_cursor: NextCursor


def shown(version: Version) -> Memory:
    record = version.record
    return {
        "id": record.id,
        "type": record.type,
        "content": record.content,
        "subject": record.subject,
        "topic_key": record.topic_key,
        "keywords": record.keywords,
        "queries": record.queries,
        "importance": record.importance,
        "confidence": record.confidence,
        "status": "current" if version.is_current else "superseded",
        "version": version.number,
        "valid_from": rfc3339(record.valid_from),
        "valid_to": None if version.valid_to is None else rfc3339(version.valid_to),
        "created_at": rfc3339(record.created_at),
        "supersedes": version.supersedes,
        "superseded_by": version.superseded_by,
        "source": provenance(record.source),
        "agent_id": record.agent,
        "metadata": record.metadata,
        "method": record.method,
        "expires_at": rfc3339_or_null(record.expires_at),
    }
