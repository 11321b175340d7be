"""The REST API of mem0 as a thin layer over this API. A client of mem0 works with this API if its
address is changed.

This API takes the requests that mem0's own server takes
(https://docs.mem0.ai/open-source/features/rest-api), where it has the same feature. Like mem0's
server, it ignores other fields. A memory's id also names its user: `{memory_id}@{user_id}`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import parse_qs

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, ValidationError

from palimpsest.api import problems
from palimpsest.api.answers import hidden_sources
from palimpsest.api.call import Call, Service
from palimpsest.api.compat.mem0 import filters
from palimpsest.api.compat.mem0.shapes import (
    Mem0Add,
    Mem0Change,
    Mem0List,
    Mem0Memory,
    Mem0Message,
    Mem0Ping,
    Mem0Query,
    Mem0Results,
    Mem0Update,
)
from palimpsest.api.fields import LIKE_AN_ID, Json, rfc3339
from palimpsest.api.operations import operations_on
from palimpsest.api.resources import recall as recalling
from palimpsest.api.resources.jobs import ended
from palimpsest.api.resources.memories.shapes import (
    ForgetRequest,
    IngestRequest,
    MemoryChange,
    NewMemories,
    change,
    statement,
)
from palimpsest.errors import BadRequest, FieldError, NotFound, Unprocessable
from palimpsest.memory.record import ListedType, Record
from palimpsest.memory.versions import Version

operation = operations_on("mem0", function="memories")

LONGEST_WAIT = 20.0  # seconds to wait for an extraction, which continues after that
MOST_LISTED = 100
TYPES: list[ListedType] = ["fact", "event", "instruction", "task"]
EVENTS = {"created": "ADD", "updated": "UPDATE", "unchanged": "NONE"}
SCALARS = (str, int, float, bool)
Body = TypeVar("Body", bound=BaseModel)

MemoryId = Annotated[
    str,
    Path(
        description="`{memory_id}@{user_id}`, as the answers give it", json_schema_extra=LIKE_AN_ID
    ),
]
OfUser = Annotated[str | None, Query(description="The user who owns the memories")]
FromAgent = Annotated[str | None, Query(description="Only memories that this agent saved")]
FromRun = Annotated[str | None, Query(description="Only memories from this session")]


@operation("GET /compat/mem0/ping", answers={200: "Mem0Ping"})
def mem0_ping(service: Service, call: Call) -> Mem0Ping:
    """Check a key.

    The client of mem0's platform calls this before anything else.
    """
    tenant = call.caller.tenant.tenant
    return {"status": "ok", "org_id": tenant, "project_id": tenant}


@operation("POST /compat/mem0/memories", answers={200: "Mem0Results"}, makes=False)
def mem0_add(service: Service, call: Call, *, body: Mem0Add) -> Mem0Results:
    """Add memories.

    Memories are extracted from the messages. The answer holds the memories of the first 20 seconds.
    """
    whose = filters.selection_of(_top(body), body.filters)
    if whose.is_narrower:
        raise Unprocessable(
            "Added memories must belong to one user.",
            errors=(FieldError("filters", "must name only a user, an agent and a run"),),
        )
    user, agent, run = whose.user, whose.agent, whose.run
    if not body.infer:
        drafts = [
            _statement(text, body.metadata, agent)
            for message in body.messages
            if (text := _said(message))
        ]
        if not drafts:
            return {"results": []}
        new = _asked(NewMemories, {"memories": drafts})
        statements = [statement(memory) for memory in new.memories]
        made = service.remember(call.user(user), statements, once=call.once)
        return {
            "results": [
                _of_record(user, decision.record, event=EVENTS[decision.outcome])
                for decision in made
            ]
        }
    request = _asked(
        IngestRequest, {"messages": body.messages, "session_id": run, "agent_id": agent}
    )
    done = service.ingest(call.user(user), request.messages, session_id=run, agent=agent)
    job = None if done.job_id is None else ended(service, call, done.job_id, LONGEST_WAIT)
    records = [
        service.manage_memories.read(call.user(user), memory).record
        for memory in (service.report(job).records if job else ())
    ]
    return {"results": [_of_record(user, record, event="ADD") for record in records]}


@operation("POST /compat/mem0/search", scopes=("read",), answers={200: "Mem0Results"})
def mem0_search(service: Service, call: Call, *, body: Mem0Query) -> Mem0Results:
    """Search memories.

    Search records only. Conditions that the search index can't test are applied to the 100 best
    matches.
    """
    selection = filters.selection_of(
        _top(body), body.filters, metadata=body.metadata, categories=body.categories
    )
    most = body.top_k or body.limit or 10
    query = _asked(
        recalling.RecallBody,
        {"query": body.query, "k": MOST_LISTED if selection.is_narrower else most},
    )
    result = service.recall(
        call.user(selection.user), replace(query.request(), filter=selection.where)
    ).memories
    least = body.threshold or 0
    fitting = [
        hit for hit in result if hit.record and selection.holds(hit.record) and hit.score >= least
    ]
    return {
        "results": [
            _of_record(selection.user, memory.record, score=memory.score)
            for memory in fitting[:most]
            if memory.record
        ]
    }


@operation("GET /compat/mem0/memories", answers={200: "Mem0Results"})
def mem0_list(
    service: Service,
    call: Call,
    *,
    user_id: OfUser = None,
    agent_id: FromAgent = None,
    run_id: FromRun = None,
) -> Mem0Results:
    """List memories.

    Return the newest 100.
    """
    _check_query(call)
    return _listed(
        service,
        call,
        filters.selection_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}),
    )


@operation("POST /compat/mem0/memories/list", scopes=("read",), answers={200: "Mem0Results"})
def mem0_list_by(
    service: Service,
    call: Call,
    *,
    body: Mem0List,
    page: Annotated[int, Query(ge=1, description="From 1")] = 1,
    page_size: Annotated[int, Query(ge=1, le=100, description="The most on a page")] = MOST_LISTED,
) -> Mem0Results:
    """List memories by filters.

    Return the newest first. `count` is the number of memories on the page. Pages after the last one
    are empty.
    """
    selection = filters.selection_of(
        _top(body),
        body.filters,
        categories=body.categories,
        start=body.start_date,
        end=body.end_date,
    )
    return _listed(service, call, selection, first=(page - 1) * page_size, limit=page_size)


@operation("DELETE /compat/mem0/memories", answers={200: "Mem0Message"})
def mem0_delete_all(
    service: Service,
    call: Call,
    *,
    user_id: OfUser = None,
    agent_id: FromAgent = None,
    run_id: FromRun = None,
) -> Mem0Message:
    """Delete all memories of a user.

    With an agent or a session, only the memories of that agent or from that session are deleted.
    """
    _check_query(call)
    selection = filters.selection_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    if selection.is_narrower:  # such as any agent; only one agent or run can be forgotten at a time
        raise Unprocessable(
            "Name one agent or run.", errors=(FieldError("agent_id", "must name one"),)
        )
    limits = _given({"types": TYPES, "agent_id": selection.agent, "session_id": selection.run})
    forget, scope = service.forget, call.user(selection.user)
    where = _asked(ForgetRequest, {"filter": limits}).filter.read()
    job_id = call.made(lambda key: forget(scope, where, key=key))
    job = ended(service, call, job_id, LONGEST_WAIT)
    answer: Mem0Message = {"message": "All relevant memories deleted"}
    if job is not None:
        answer["hidden_messages"] = job.result.get("hidden_messages", 0)
    return answer


@operation("GET /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Memory"})
def mem0_read(service: Service, call: Call, *, mem0_id: MemoryId) -> Mem0Memory:
    """Read a memory as mem0 has it.

    An id identifies the memory through all its versions. The answer is the current version.
    """
    user, version = _current(service, call, mem0_id)
    return {**_of_record(user, version.record), "id": mem0_id}


@operation("PUT /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Memory"}, refuses=(405, 409))
def mem0_update(service: Service, call: Call, *, mem0_id: MemoryId, body: Mem0Update) -> Mem0Memory:
    """Change a memory.

    New text makes a new version. The id then identifies the new version, as do the ids of all
    earlier versions.
    """
    user, version = _current(service, call, mem0_id)
    wanted = _given(
        {"content": body.text, "metadata": None if body.metadata is None else _terms(body.metadata)}
    )
    changed = service.manage_memories.patch(
        call.user(user), version.record.id, change(_asked(MemoryChange, wanted))
    )
    return {**_of_record(user, changed), "id": mem0_id}


@operation("DELETE /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Message"}, refuses=(405,))
def mem0_delete(service: Service, call: Call, *, mem0_id: MemoryId) -> Mem0Message:
    """Delete one memory.

    All its versions are removed for good. `hidden` names the messages in which words were hidden.
    """
    memory, user = _split(mem0_id)
    hidden = service.manage_memories.delete(call.user(user), memory, whole=True)
    return {"message": "Memory deleted successfully!", "hidden": hidden_sources(hidden)}


@operation("GET /compat/mem0/memories/{mem0_id}/history", answers={200: "Mem0Change[]"})
def mem0_history(service: Service, call: Call, *, mem0_id: MemoryId) -> Response[str]:
    """Read a memory's history.

    Return the changes of the memory, the oldest first.
    """
    memory, user = _split(mem0_id)
    versions = service.manage_memories.history(call.user(user), memory)
    chain = [version.record for version in reversed(versions)]
    before = [None, *(record.content for record in chain[:-1])]
    changes: list[Mem0Change] = [
        {
            "id": f"{record.id}@{user}",
            "memory_id": mem0_id,
            "old_memory": old,
            "new_memory": record.content,
            "event": "ADD" if old is None else "UPDATE",
            "created_at": rfc3339(record.created_at),
            "updated_at": rfc3339(record.created_at),
        }
        for old, record in zip(before, chain, strict=True)
    ]
    return Response(status_code=200, content_type="application/json", body=json.dumps(changes))


def _current(service: Service, call: Call, mem0_id: str) -> tuple[str, Version]:
    """Return the user and the current version of a memory. `mem0_id` may name any version of the
    memory. Raises `NotFound` if the memory has no current version.
    """
    memory, user = _split(mem0_id)
    chain = service.manage_memories.history(call.user(user), memory)
    if not chain[0].is_current:
        raise NotFound("This memory no longer exists.", code="memory_not_found")
    return user, chain[0]


def _top(body: Mem0Add | Mem0Query | Mem0List) -> Json:
    return {name: getattr(body, name) for name in (*filters.OWNERS, "app_id")}


def _check_query(call: Call) -> None:
    """Raise `Unprocessable` for an unknown query parameter. If unknown parameters were ignored, a
    call could delete more memories than its caller meant.
    """
    parameters = parse_qs(call.request["rawQueryString"], keep_blank_values=True)
    unknown = parameters.keys() - {*filters.OWNERS, "org_id", "project_id"}
    if unknown:
        raise Unprocessable(
            "This parameter is unknown.", errors=(FieldError(min(unknown), "is not known"),)
        )


def _asked(shape: type[Body], values: Json) -> Body:
    """Return the body of this API's own operation. Raises the error that the operation itself gives
    for an invalid body.
    """
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise problems.refusal_of(error) from error


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _split(mem0_id: str) -> tuple[str, str]:
    memory, _, user = mem0_id.partition("@")
    if not (memory and user):
        raise BadRequest(
            "This isn't the id of a memory.",
            code="invalid_id",
            errors=(FieldError("memory_id", "must be {memory_id}@{user_id}"),),
        )
    return memory, user


def _listed(
    service: Service,
    call: Call,
    selection: filters.MemorySelection,
    *,
    first: int = 0,
    limit: int = MOST_LISTED,
) -> Mem0Results:
    every = service.manage_memories.every(call.user(selection.user), selection.where)
    page = islice(filter(selection.holds, every), first, first + limit)
    results = [_of_record(selection.user, record) for record in page]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def _said(message: Json) -> str | None:
    """Return the text to remember of a message that is stored without inference; None for a system
    message. Only the texts of its parts are taken.
    """
    content = message.get("content")
    if message.get("role") == "system":
        return None
    if isinstance(content, list):
        content = "\n".join(
            str(part["text"]) for part in content if isinstance(part, dict) and part.get("text")
        )
    return content if isinstance(content, str) else None


def _statement(content: str, metadata: Json | None, agent: str | None) -> Json:
    terms = None if metadata is None else _terms(metadata)
    return _given({"type": "fact", "content": content, "metadata": terms, "agent_id": agent})


def _terms(metadata: Json) -> Json:
    """Return metadata values that this API can store. Other values become JSON text."""
    return {
        name: value if isinstance(value, SCALARS) else json.dumps(value)
        for name, value in metadata.items()
        if value is not None
    }


def _of_record(user: str, record: Record, **more: Any) -> Mem0Memory:
    since = rfc3339(record.created_at)
    shown: Any = {
        "id": f"{record.id}@{user}",
        "memory": record.content,
        "user_id": user,
        "agent_id": record.agent,
        "metadata": record.metadata or {},
        "categories": [record.type],
        "created_at": since,
        "updated_at": since,
        **more,
    }
    if record.speaker is not None:
        shown["actor_id"] = record.speaker
    return cast("Mem0Memory", shown)
