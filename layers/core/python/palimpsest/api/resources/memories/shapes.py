"""The bodies and answers of the operations on memories, with the limits of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict
from typing_extensions import TypedDict

from palimpsest.api.answers import (
    Due,
    HasEnded,
    Occurs,
    Provenance,
    RestsOnChanged,
    Speaker,
    provenance,
)
from palimpsest.api.fields import (
    NOT_BLANK,
    Change,
    Closed,
    DayOrTime,
    JsonValue,
    Moment,
    Timestamp,
    ValidFrom,
    Values,
    WaitSeconds,
    check_embedding,
    milliseconds_of,
    moment_or_null,
    not_blank,
    rfc3339,
    rfc3339_or_null,
)
from palimpsest.api.pages import NextCursor
from palimpsest.api.resources.chat import ChatMessage, Id
from palimpsest.api.resources.filters import Filter, Metadata, Share, Subject, TopicKey
from palimpsest.clock import milliseconds
from palimpsest.extraction.ingest import MAX_TRANSCRIPT
from palimpsest.memory import filters
from palimpsest.memory.grounds import MOST_GROUNDS
from palimpsest.memory.manage import CLEARED, KEPT, RecordChange
from palimpsest.memory.record import MAX_CONTENT, RecordType, SaidType, Source
from palimpsest.memory.remember import MAX_STATEMENTS
from palimpsest.memory.statements import TOPICAL, Statement
from palimpsest.memory.versions import Version
from palimpsest.models.ports import Space
from palimpsest.models.vectors import packed
from palimpsest.recall.freshness import freshness

Content = Annotated[
    str, Field(max_length=MAX_CONTENT, json_schema_extra=NOT_BLANK), AfterValidator(not_blank)
]
Keywords = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=50)
]
Queries = Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=20)]


SourceText = Annotated[
    str, Field(max_length=1_000, json_schema_extra=NOT_BLANK), AfterValidator(not_blank)
]


def _or_a_text(schema: JsonDict) -> None:
    """Describe a source as either an object or a text."""
    described = {**schema}
    schema.clear()
    named = "Where it comes from, such as `HR, May 2026`"
    schema["anyOf"] = [
        {"type": "string", "maxLength": 1_000, "description": named, **NOT_BLANK},
        described,
    ]


class GivenSource(Closed):
    """The source of a memory. If its session is deleted, the memory is deleted too, unless the
    deletion keeps memories.
    """

    model_config = ConfigDict(json_schema_extra=_or_a_text)

    session_id: Id | None = None
    message_ids: Annotated[list[Id], Field(max_length=50, default_factory=list)]
    seqs: Annotated[
        list[Annotated[int, Field(ge=1, lt=10**12)]], Field(max_length=50, default_factory=list)
    ]
    quote: Annotated[str | None, Field(max_length=1_000)] = None
    text: SourceText | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    def read(self) -> Source:
        return Source(
            self.session_id, tuple(self.message_ids), tuple(self.seqs), self.quote, self.text
        )


MOST_SOURCES = 20  # that a memory shows


class NewMemory(Closed):
    type: SaidType
    content: Annotated[Content, Field(description="One statement that is understood by itself")]
    topic_key: Annotated[
        TopicKey | None,
        Field(
            description="Topic of a fact or instruction, such as `employer`. A newer memory of the "
            "same topic replaces this one"
        ),
    ] = None
    subject: Annotated[
        Subject | None, Field(description="The person or thing that it is about")
    ] = None
    speaker: Annotated[Subject | None, Field(description="Who says it, if it is not the user")] = (
        None
    )
    keywords: Annotated[Keywords, Field(default_factory=list)]
    queries: Annotated[
        Queries, Field(default_factory=list, description="Questions that it answers")
    ]
    importance: Share = 0.5
    confidence: Share = 1.0
    valid_from: Annotated[
        ValidFrom | None,
        Field(
            description="When it began to be true, not later than now. With it, an event that is "
            "saved twice counts as one event"
        ),
    ] = None
    occurs_at: Annotated[
        DayOrTime | None, Field(description="Day or time at which it happens or happened")
    ] = None
    due_at: Annotated[
        DayOrTime | None, Field(description="Day or time by which it must be done")
    ] = None
    rests_on: Annotated[
        list[Id],
        Field(
            max_length=MOST_GROUNDS,
            default_factory=list,
            description="Memories that it rests on: it may no longer be true once one of them is "
            "superseded, has ended or is deleted; `rests_on_changed` is then true",
        ),
    ]
    expires_at: Annotated[
        Timestamp | None,
        Field(description="When it expires, later than now; default: by the tenant's retention"),
    ] = None
    agent_id: Id | None = None
    source: GivenSource | None = None
    metadata: Annotated[Metadata, Field(default_factory=dict)]
    data: JsonValue = None
    embedding: Annotated[
        Values | None,
        Field(
            description="Your own vector, which replaces the model's; it must have the dimension "
            "of the index"
        ),
    ] = None

    @field_validator("topic_key")
    @classmethod
    def _is_of_a_type_that_has_topics(cls, value: str | None, others: ValidationInfo) -> str | None:
        if value is not None and others.data.get("type", "fact") not in TOPICAL:
            raise ValueError("only facts and instructions replace each other by a topic")
        return value


class NewMemories(Closed):
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=MAX_STATEMENTS)]

    def check_embeddings(self, space: Space | None) -> None:
        """Raise `Unprocessable` (`no_vectors`, `invalid_vector`) for an embedding that the index
        can't hold.
        """
        for number, memory in enumerate(self.memories):
            if memory.embedding is not None:
                check_embedding(memory.embedding, space, field=f"memories.{number}.embedding")


class MemoryChange(Change):
    """The fields to change. Other fields stay. New content makes a new version of the memory, under
    another id.
    """

    NULLABLE = frozenset({"data", "occurs_at", "due_at"})

    content: Content | None = None
    importance: Share | None = None
    confidence: Share | None = None
    subject: Subject | None = None
    keywords: Keywords | None = None
    occurs_at: Annotated[DayOrTime | None, Field(description="null removes it")] = None
    due_at: Annotated[DayOrTime | None, Field(description="null removes it")] = None
    rests_on: Annotated[list[Id] | None, Field(max_length=MOST_GROUNDS)] = None
    metadata: Annotated[Metadata | None, Field(description="Replaces all old metadata")] = None
    data: Annotated[
        JsonValue,
        Field(
            description="Any JSON value, which replaces the old value as a whole; null removes it"
        ),
    ] = None


class IngestRequest(Closed):
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_TRANSCRIPT)]
    store: Annotated[
        bool,
        Field(
            description="False: you keep the history, and only ids and digests of its messages "
            "are stored"
        ),
    ] = True
    session_id: Annotated[
        Id | None,
        Field(
            validate_default=True,
            description="The session in which it is stored; by default the beginning of the "
            "transcript determines the session",
        ),
    ] = None
    after: Annotated[
        int | None,
        Field(
            ge=1,
            description="The number of the message in `session_id` that comes before these "
            "messages: `last_seq` of the part before",
        ),
    ] = None
    agent_id: Id | None = None
    wait: WaitSeconds = 0

    @field_validator("session_id")
    @classmethod
    def _names_what_is_not_stored(cls, value: str | None, others: ValidationInfo) -> str | None:
        if value is None and others.data.get("store") is False:
            raise ValueError("is required if store is false")
        return value

    @field_validator("after")
    @classmethod
    def _follows_what_is_stored(cls, value: int | None, others: ValidationInfo) -> int | None:
        if value is not None and not (others.data.get("store") and others.data.get("session_id")):
            raise ValueError("needs session_id, and a history that is stored")
        return value


class ForgetRequest(Closed):
    filter: Annotated[
        Filter, Field(description="At least one limit; to forget everything, delete the user")
    ]
    dry_run: Annotated[bool, Field(description="Only return which memories would be forgotten")] = (
        False
    )
    wait: WaitSeconds = 0

    @field_validator("filter")
    @classmethod
    def _is_one(cls, value: Filter) -> Filter:
        if value.read() == filters.MemoryFilter():
            raise ValueError("must hold at least one limit")
        return value


def statement(memory: NewMemory) -> Statement:
    source = Source() if memory.source is None else memory.source.read()
    embedding = None if memory.embedding is None else packed(memory.embedding)
    expires_at = milliseconds_of(memory.expires_at)
    return Statement(
        type=memory.type,
        content=memory.content,
        topic=memory.topic_key,
        subject=memory.subject,
        speaker=memory.speaker,
        keywords=tuple(memory.keywords),
        queries=tuple(memory.queries),
        importance=memory.importance,
        confidence=memory.confidence,
        source=source,
        agent=memory.agent_id,
        metadata=memory.metadata,
        data=memory.data,
        embedding=embedding,
        valid_from=milliseconds_of(memory.valid_from),
        occurs_at=memory.occurs_at,
        due_at=memory.due_at,
        rests_on=tuple(dict.fromkeys(memory.rests_on)),
        expires_at=None if expires_at is None else expires_at // 1000,
        sets=_SETTABLE & memory.model_fields_set,
    )


_SETTABLE = frozenset(
    {
        *("subject", "keywords", "queries", "importance", "confidence", "metadata", "data"),
        *("embedding", "speaker", "occurs_at", "due_at", "rests_on"),
    }
)


def change(new: MemoryChange) -> RecordChange:
    cleared = {
        name: getattr(new, name) if name in new.model_fields_set else KEPT for name in CLEARED
    }
    keywords, rests_on = (
        None if listed is None else tuple(listed) for listed in (new.keywords, new.rests_on)
    )
    return RecordChange(
        content=new.content,
        importance=new.importance,
        confidence=new.confidence,
        subject=new.subject,
        metadata=new.metadata,
        rests_on=rests_on,
        keywords=keywords,
        **cleared,
    )


class Memory(TypedDict):
    id: str
    type: RecordType
    content: str
    subject: str | None
    speaker: Speaker
    topic_key: Annotated[str | None, Field(description="Words in lower case, joined by `_`")]
    keywords: Sequence[str]
    queries: Sequence[str]
    importance: float
    confidence: float
    status: Literal["current", "superseded"]
    version: Annotated[int, Field(description="Number of this version of its topic, from 1")]
    valid_from: Moment
    valid_to: Annotated[
        Moment | None,
        Field(description="When it ended, or when the next version began or was deleted"),
    ]
    ended: HasEnded
    occurs_at: Occurs
    due_at: Due
    rests_on: Annotated[Sequence[str], Field(description="Ids of the memories that it rests on")]
    rests_on_changed: RestsOnChanged
    created_at: Moment
    supersedes: Annotated[str | None, Field(description="Id of the version before")]
    superseded_by: Annotated[str | None, Field(description="Id of the version after")]
    source: Provenance
    sources: Annotated[
        list[Provenance],
        Field(description="The sources of the last 20 times that it was said, oldest first"),
    ]
    agent_id: str | None
    metadata: Mapping[str, Any]
    data: Annotated[Any, Field(description="JSON of the caller; for a preference, its value")]
    method: Annotated[str, Field(description="given, model or pattern")]
    expires_at: Moment | None
    access_count: Annotated[int, Field(description="How often recall returned it")]
    last_accessed_at: Moment | None
    decay: Annotated[
        float,
        Field(
            description="How fresh it is for recall now: 1 right after it was said or used, then "
            "falling"
        ),
    ]


class SavedMemory(Memory):
    outcome: Literal["created", "updated", "unchanged"]


class SavedMemories(TypedDict):
    memories: list[SavedMemory]


class MemoryPage(TypedDict):
    memories: list[Memory]
    next_cursor: NextCursor


class MemoryVersions(TypedDict):
    versions: list[Memory]
    next_cursor: NextCursor


def shown(version: Version, *, now: datetime) -> Memory:
    """Return a memory as callers see it. Its `decay` is computed for the time `now`."""
    record = version.record
    used_at = (version.used_at or 0) * 1000
    decay = freshness(
        said_at=record.valid_from, uses=version.uses, used_at=used_at, now=milliseconds(now)
    )
    return {
        "id": record.id,
        "type": record.type,
        "content": record.content,
        "subject": record.subject,
        "speaker": record.speaker or "user",
        "topic_key": record.topic_key,
        "keywords": record.keywords,
        "queries": record.queries,
        "importance": record.importance,
        "confidence": record.confidence,
        "status": "current" if version.is_current else "superseded",
        "version": version.number,
        "valid_from": rfc3339(record.valid_from),
        "valid_to": moment_or_null(version.valid_to),
        "ended": version.has_ended,
        "occurs_at": record.occurs_at,
        "due_at": record.due_at,
        "rests_on": record.rests_on,
        "rests_on_changed": version.rests_on_changed,
        "created_at": rfc3339(record.created_at),
        "supersedes": version.supersedes,
        "superseded_by": version.superseded_by,
        "source": provenance(record.source),
        "sources": list(map(provenance, version.sources[-MOST_SOURCES:])),
        "agent_id": record.agent,
        "metadata": record.metadata,
        "data": record.data,
        "method": record.method,
        "expires_at": rfc3339_or_null(record.expires_at),
        "access_count": version.uses,
        "last_accessed_at": rfc3339_or_null(version.used_at),
        "decay": round(decay, 4),
    }
