"""What callers get of long-term memory: memories with their place in the chain of their topic, and users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from palimpsest.api.answers import instant, moment, source
from palimpsest.memory.records import RecordType, Version
from palimpsest.recall.request import FoundMemory, Recalled
from palimpsest.tenants.ports import StaticFact

Json = dict[str, Any]


def memory(version: Version) -> Json:
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
        "valid_from": instant(record.valid_from),
        "valid_to": instant(version.valid_to),
        "created_at": instant(record.created_at),
        "supersedes": version.supersedes,
        "superseded_by": version.superseded_by,
        "source": source(record.source),
        "agent_id": record.agent,
        "metadata": record.metadata,
        "method": record.method,
        "expires_at": moment(record.expires_at),
    }


def user(user_id: str, counts: Mapping[RecordType, int]) -> Json:
    return {"user_id": user_id, "memories": {**counts, "total": sum(counts.values())}}


def found_memory(found: FoundMemory) -> Json:
    """A memory or a message that was found, and what speaks for it; a message has no subject and no importance."""
    record = found.record
    return {
        "id": found.id,
        "type": found.type,
        "content": found.content,
        "score": found.score,
        "found_by": found.found_by,
        "source": source(found.source),
        "valid_from": instant(found.valid_from),
        "role": found.speaker,
        "outdated_by": found.outdated_by,
        "subject": record.subject if record else None,
        "topic_key": record.topic_key if record else None,
        "importance": record.importance if record else None,
        "agent_id": record.agent if record else None,
        "metadata": record.metadata if record else {},
    }


def recalled(found: Recalled, *, asked: bool) -> Json:
    """`asked`: an answer was asked for, and is "" where nothing answers."""
    answer = {
        "answer": found.answer if asked else None,
        "citations": found.citations,
        "method": found.method,
        "memories": list(map(found_memory, found.memories)),
        "degraded": found.degraded,
        "usage": asdict(found.usage),
    }
    return answer if found.trace is None else {**answer, "trace": found.trace}


def static_fact(fact: StaticFact) -> Json:
    return {"id": fact.id, "content": fact.content, "agent_id": fact.agent, "updated_at": fact.updated_at}
