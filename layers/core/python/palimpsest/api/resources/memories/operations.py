"""The operations on a user's memories. They store, list, read, change, revert and delete memories,
and ingest a whole transcript.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import Field

from palimpsest.api.answers import Deleted, WouldForget, hidden_sources
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import (
    LIKE_AN_ID,
    Json,
    Timestamp,
    UserId,
    as_sent,
    check_ids,
    milliseconds_of,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, Order
from palimpsest.api.resources.filters import read_terms, stored_topic
from palimpsest.api.resources.jobs import awaited_or_ended
from palimpsest.api.resources.memories.shapes import (
    ForgetRequest,
    IngestRequest,
    Memory,
    MemoryChange,
    NewMemories,
    SavedMemories,
    change,
    shown,
    statement,
)
from palimpsest.api.resources.memories.views import (
    forgotten,
    no_static_fact,
    page_of_memories,
    page_of_versions,
    saved,
)
from palimpsest.extraction.ingest import Ingested
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import ListedType, Record
from palimpsest.scope import UserScope

operation = operations_on("memories", function="memories")

MemoryId = Annotated[str, Path(description="Id of the memory", json_schema_extra=LIKE_AN_ID)]

Sources = Annotated[
    Literal["hide", "redact"],
    Query(description="Hide the words from which it was made, or redact them in their messages"),
]

Types = Annotated[list[ListedType] | None, Query(description="Only these types")]

MinImportance = Annotated[
    float | None, Query(ge=0, le=1, description="Only memories of at least this importance")
]

MaxImportance = Annotated[
    float | None, Query(ge=0, le=1, description="Only memories of at most this importance")
]

MinConfidence = Annotated[
    float | None, Query(ge=0, le=1, description="Only memories of at least this confidence")
]

MaxConfidence = Annotated[
    float | None, Query(ge=0, le=1, description="Only memories of at most this confidence")
]

CreatedAfter = Annotated[
    Timestamp | None, Query(description="Only memories saved at this time or later")
]

CreatedBefore = Annotated[
    Timestamp | None, Query(description="Only memories saved at this time or earlier")
]

About = Annotated[
    str | None,
    Query(max_length=200, description="Only memories about this subject, in upper or lower case"),
]

OfTopic = Annotated[str | None, Query(max_length=160, description="Only memories of this topic")]

Status = Annotated[
    Literal["current", "superseded"], Query(description="Current memories, or replaced ones")
]

FromSession = Annotated[
    str | None, Query(description="Only memories from this session", json_schema_extra=LIKE_AN_ID)
]

FromAgent = Annotated[
    str | None,
    Query(description="Only memories that this agent saved", json_schema_extra=LIKE_AN_ID),
]

Terms = Annotated[
    list[Annotated[str, Field(json_schema_extra={"pattern": "^[^=]+="})]] | None,
    Query(
        description="Only memories that meet all these conditions: `name=value`, or "
        "`name[gte]=value` with an operator of the filter. For several values, repeat "
        "`name[in]=value`. Numbers, true and false are not read as texts"
    ),
]


@operation("POST /v1/users/{user_id}/memories", answers={201: "SavedMemories"})
def save_memories(
    service: Service, call: Call, *, user_id: UserId, body: NewMemories
) -> SavedMemories:
    """Save memories.

    Save 1 to 30 memories. Each has an outcome. `created` means that it is new; `supersedes` then
    names the version that it replaces. `updated` means that it was already stored; its letter case
    and the given fields are now as in the body. `unchanged` means that nothing changed. A repeated
    request changes nothing. For events this holds only with an Idempotency-Key, or with a
    `valid_from` for each event. The user comes from the path, never from the body. Passwords, keys,
    card numbers and the like are stored as `[secret]`.
    """
    scope = call.user(user_id)
    if any(memory.embedding is not None for memory in body.memories):
        body.check_embeddings(service.search.vectors.space)
    made = service.remember(scope, [statement(memory) for memory in body.memories], once=call.once)
    return saved(service, scope, made)


@operation("GET /v1/users/{user_id}/memories", answers={200: "MemoryPage"}, refuses=(413,))
def list_memories(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    types: Types = None,
    min_importance: MinImportance = None,
    max_importance: MaxImportance = None,
    min_confidence: MinConfidence = None,
    max_confidence: MaxConfidence = None,
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    subject: About = None,
    topic_key: OfTopic = None,
    status: Status = "current",
    session_id: FromSession = None,
    agent_id: FromAgent = None,
    metadata: Terms = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Json:
    """List memories.

    List current memories, or superseded ones, ordered by creation. A page may be short or empty
    although more follow; only a `next_cursor` of null is the end.
    """
    check_ids(session_id=session_id, agent_id=agent_id)
    where = MemoryFilter(
        types=frozenset(types or ()),
        min_importance=min_importance,
        max_importance=max_importance,
        min_confidence=min_confidence,
        max_confidence=max_confidence,
        created_after=milliseconds_of(created_after),
        created_before=milliseconds_of(created_before),
        subject=subject,
        session=session_id,
        agent=agent_id,
        metadata=read_terms(as_sent(call, "metadata") if metadata else ()) or {},
        topic=stored_topic(topic_key),
    )
    scope = call.user(user_id)
    return page_of_memories(
        service, scope, where, status=status, order=order, limit=limit, cursor=cursor
    )


@operation("GET /v1/users/{user_id}/memories/{memory_id}", answers={200: "Memory"})
def read_memory(service: Service, call: Call, *, user_id: UserId, memory_id: MemoryId) -> Memory:
    """Read a memory.

    Return the memory with this id. A superseded memory can be read too; `status` and
    `superseded_by` then show that it was replaced.
    """
    scope = call.user(user_id)
    (version,) = service.show.with_uses(scope, [service.manage_memories.read(scope, memory_id)])
    return shown(version, now=service.clock.now())


@operation(
    "PATCH /v1/users/{user_id}/memories/{memory_id}", answers={200: "Memory"}, refuses=(405, 409)
)
def change_memory(
    service: Service, call: Call, *, user_id: UserId, memory_id: MemoryId, body: MemoryChange
) -> Memory:
    """Change a memory.

    New content makes a new version with a new id. The answer is this new version. Other fields
    change in place. Only the current version can be changed. If the same change of content is sent
    again, the answer is the version that it made.
    """
    scope = call.user(user_id)
    with no_static_fact(service, call, memory_id):
        changed = service.manage_memories.patch(scope, memory_id, change(body))
    return _shown(service, scope, changed)


@operation(
    "DELETE /v1/users/{user_id}/memories/{memory_id}", answers={200: "Deleted"}, refuses=(405,)
)
def delete_memory(
    service: Service, call: Call, *, user_id: UserId, memory_id: MemoryId, sources: Sources = "hide"
) -> Deleted:
    """Delete a memory.

    Remove one version for good. If it was the current version, the topic has no current version
    afterwards; no older version becomes current. The words that the memory came from are hidden
    from recall, answers and other sessions, and so are answers of the user's newest sessions that
    repeat them. If these words, or older words that say the same, are
    sent again under any id, they do not make the memory again. The words' own session still shows
    them, with a mark, unless they are redacted. A statement that is made later is a new memory.
    """
    scope = call.user(user_id)
    with no_static_fact(service, call, memory_id):
        hidden = service.manage_memories.delete(scope, memory_id)
    answer: Deleted = {"id": memory_id, "deleted": True}
    answer["hidden"] = hidden_sources(hidden)
    if sources == "redact":
        answer["redactions"] = list(service.redact_sources(scope, hidden))
    return answer


@operation(
    "GET /v1/users/{user_id}/memories/{memory_id}/history",
    answers={200: "MemoryVersions"},
    refuses=(413,),
)
def read_memory_history(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    memory_id: MemoryId,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Json:
    """Read a memory's history.

    Return all versions of the memory's topic, earlier and later ones.
    """
    return page_of_versions(
        service, call.user(user_id), memory_id, order=order, limit=limit, cursor=cursor
    )


@operation("POST /v1/users/{user_id}/memories/{memory_id}/revert", answers={200: "Memory"})
def revert_memory(service: Service, call: Call, *, user_id: UserId, memory_id: MemoryId) -> Memory:
    """Revert to a version.

    The content of this version becomes current again, as a new version.
    """
    scope = call.user(user_id)
    return _shown(service, scope, service.manage_memories.revert(scope, memory_id, once=call.once))


def _shown(service: Service, scope: UserScope, record: Record) -> Memory:
    (version,) = service.show(scope, [record])
    return shown(version, now=service.clock.now())


@operation(
    "POST /v1/users/{user_id}/memories/forget",
    answers={200: "JobDone | WouldForget", 202: "JobPending"},
)
def forget_memories(
    service: Service, call: Call, *, user_id: UserId, body: ForgetRequest
) -> WouldForget | Response[str]:
    """Forget memories.

    A job removes every current memory that matches the filter now, with all versions of its topic.
    Memories that are saved later stay. With `dry_run`, which needs the scope `read`, nothing is
    removed, and the answer lists the memories that match.
    """
    return forgotten(
        service, call, call.user(user_id), body.filter.read(), dry_run=body.dry_run, wait=body.wait
    )


@operation(
    "POST /v1/users/{user_id}/ingest",
    answers={200: "JobDone | NothingExtracted", 202: "JobPending"},
)
def ingest_transcript(
    service: Service, call: Call, *, user_id: UserId, body: IngestRequest
) -> Response[str]:
    """Ingest a transcript.

    Store 1 to 1000 messages as the history of a session, word for word. A job extracts memories
    from them. A growing transcript can be sent again and again: only messages that are not stored
    yet are appended. If the stored history differs from the transcript, the answer is 409
    `transcript_diverged`. A longer transcript is sent in parts. Each later part has in `after` the
    `last_seq` of the part before. A part must not end between a call and its result.

    With `store: false`, memories are extracted, with their quotes and your ids of the messages, but
    no message is stored. The text of a message waits outside the tables until it is extracted. The
    session keeps a digest of each message. If the same history or a part of it is sent again, only
    messages without a digest are extracted, in their order. The digests are deleted with the
    session and with the user.
    """
    scope = call.user(user_id)
    options = {"session_id": body.session_id, "agent": body.agent_id} | (
        {"after": body.after} if body.after else {}
    )
    ingest: Callable[..., Ingested] = service.ingest if body.store else service.ingest_outside
    done = call.made(lambda _: asdict(ingest(scope, body.messages, **options)))
    beside = {
        "session_id": done["session"],
        "created": done["created"],
        "appended": done["appended"],
    }
    if done.get("last") is not None:
        beside["last_seq"] = done["last"]
    return awaited_or_ended(service, call, done["job_id"], wait=body.wait, beside=beside)
