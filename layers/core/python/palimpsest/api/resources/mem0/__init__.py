"""mem0's REST API as a thin layer over ours, so that a client of it works with another address.

It takes what mem0's own server takes (https://docs.mem0.ai/open-source/features/rest-api) as far as we have the same
thing, and ignores the rest, as servers of it ignore unknown fields. A memory's id names its user too:
`{memory_id}@{user_id}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, ValidationError

from palimpsest.api import operations_on, problems
from palimpsest.api.call import call
from palimpsest.api.resources import LIKE_AN_ID, Json, memories
from palimpsest.api.resources import recall as recalling
from palimpsest.api.resources.jobs import ended, shown_job
from palimpsest.api.resources.mem0.shapes import (
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
from palimpsest.api.resources.memories.shapes import ForgetRequest, IngestRequest, MemoryChange, NewMemories
from palimpsest.errors import BadRequest, FieldError, Unprocessable
from palimpsest.memory import ListedType
from palimpsest.scope import checked_id

operation = operations_on("mem0", function="memories")

LONGEST_WAIT = 20.0  # seconds for an extraction; what is not extracted by then comes later
MOST_LISTED = 100
TYPES: list[ListedType] = ["fact", "event", "instruction", "task"]
SCALARS = (str, int, float, bool)
Body = TypeVar("Body", bound=BaseModel)

MemoryId = Annotated[
    str, Path(description="`{memory_id}@{user_id}`, as the answers give it", json_schema_extra=LIKE_AN_ID)
]
OfUser = Annotated[str | None, Query(description="Whose memories")]
FromAgent = Annotated[str | None, Query(description="Only what this agent saved")]
FromRun = Annotated[str | None, Query(description="Only what comes from this session")]


@operation("GET /compat/mem0/ping", answers={200: "Mem0Ping"})
def mem0_ping() -> Mem0Ping:
    """Check a key.

    The client of mem0's platform does this before all else.
    """
    tenant = call().caller.tenant.tenant
    return {"status": "ok", "org_id": tenant, "project_id": tenant}


@operation("POST /compat/mem0/memories", answers={200: "Mem0Results"}, makes=False)
def mem0_add(body: Mem0Add) -> Mem0Results:
    """Add memories.

    What is worth remembering of the messages is extracted, and what was extracted within 20 seconds is the answer.
    """
    user, agent, run = _whom(body.model_dump())
    if not body.infer:
        given = [_statement(text, body.metadata, agent) for each in body.messages if (text := _said(each))]
        if not given:
            return {"results": []}
        saved = memories.save_memories(user, _asked(NewMemories, {"memories": given}))
        return {"results": [_shown(user, each, event=_event(each["outcome"])) for each in saved["memories"]]}
    asked = _asked(IngestRequest, {"messages": body.messages, "session_id": run, "agent_id": agent})
    done = call().memory.ingest(call().user(user), asked.messages, session_id=run, agent=agent)
    job = None if done.job_id is None else ended(done.job_id, LONGEST_WAIT)
    made = [memories.read_memory(user, each) for each in (shown_job(job)["records"] if job else ())]
    return {"results": [_shown(user, each, event="ADD") for each in made]}


@operation("POST /compat/mem0/search", scopes=("read",), answers={200: "Mem0Results"})
def mem0_search(body: Mem0Query) -> Mem0Results:
    """Search memories.

    A recall, of records alone.
    """
    user, agent, run = _whom(body.model_dump())
    asked = {"query": body.query, "k": body.top_k or body.limit or 10, "filter": _limits(agent, run)}
    found = recalling.recall(user, _asked(recalling.RecallBody, asked))["memories"]
    least = body.threshold or 0
    return {"results": [_shown(user, each, score=each["score"]) for each in found if each["score"] >= least]}


@operation("GET /compat/mem0/memories", answers={200: "Mem0Results"})
def mem0_list(user_id: OfUser = None, agent_id: FromAgent = None, run_id: FromRun = None) -> Mem0Results:
    """List memories.

    The newest 100.
    """
    return _listed(*_whom({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}))


@operation("POST /compat/mem0/memories/list", scopes=("read",), answers={200: "Mem0Results"})
def mem0_list_by(
    body: Mem0List,
    page: Annotated[int, Query(ge=1, description="From 1")] = 1,
    page_size: Annotated[int, Query(ge=1, le=100, description="The most on a page")] = MOST_LISTED,
) -> Mem0Results:
    """List memories by filters.

    The newest first. There is one page; an empty one follows.
    """
    if page > 1:
        return {"count": 0, "next": None, "previous": None, "results": []}
    return _listed(*_whom(body.model_dump()), limit=page_size)


@operation("DELETE /compat/mem0/memories", answers={200: "Mem0Message"})
def mem0_delete_all(user_id: OfUser = None, agent_id: FromAgent = None, run_id: FromRun = None) -> Mem0Message:
    """Delete all memories of a user.

    Or those of an agent, or those that come from a session.
    """
    user, agent, run = _whom({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    memories.forget_memories(user, _asked(ForgetRequest, {"filter": _limits(agent, run), "wait": LONGEST_WAIT}))
    return {"message": "All relevant memories deleted"}


@operation("GET /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Memory"})
def mem0_read(mem0_id: MemoryId) -> Mem0Memory:
    """Read a memory as mem0 has it.

    A superseded one can be read too.
    """
    memory, user = _split(mem0_id)
    return _shown(user, memories.read_memory(user, memory))


@operation("PUT /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Memory"}, refuses=(405, 409))
def mem0_update(mem0_id: MemoryId, body: Mem0Update) -> Mem0Memory:
    """Change a memory.

    New text makes a new version, with another id, which is the answer.
    """
    memory, user = _split(mem0_id)
    change = _given({"content": body.text, "metadata": None if body.metadata is None else _terms(body.metadata)})
    return _shown(user, memories.change_memory(user, memory, _asked(MemoryChange, change)))


@operation("DELETE /compat/mem0/memories/{mem0_id}", answers={200: "Mem0Message"}, refuses=(405,))
def mem0_delete(mem0_id: MemoryId) -> Mem0Message:
    """Delete one memory.

    One version is removed for good.
    """
    memory, user = _split(mem0_id)
    memories.delete_memory(user, memory)
    return {"message": "Memory deleted successfully!"}


@operation("GET /compat/mem0/memories/{mem0_id}/history", answers={200: "Mem0Change[]"})
def mem0_history(mem0_id: MemoryId) -> Response[str]:
    """Read a memory's history.

    The oldest change first.
    """
    memory, user = _split(mem0_id)
    versions = memories.read_memory_history(user, memory, order="asc")["versions"]
    changes: list[Mem0Change] = [
        {
            "id": f"{each['id']}@{user}",
            "memory_id": mem0_id,
            "old_memory": before["content"] if before else None,
            "new_memory": each["content"],
            "event": "UPDATE" if before else "ADD",
            "created_at": each["created_at"],
            "updated_at": each["created_at"],
        }
        for before, each in zip([None, *versions], versions, strict=False)
    ]
    return Response(status_code=200, content_type="application/json", body=json.dumps(changes))


def _asked(shape: type[Body], values: Json) -> Body:
    """The body of our own operation. Raises what that operation answers to a body that breaks its schema."""
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise problems.refusal_of(error) from error


def _given(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _whom(given: Json) -> tuple[str, str | None, str | None]:
    """User, agent and run, named at the top or in `filters`. Raises `Unprocessable` if no user is named."""
    filters = given.get("filters") or {}
    joined = filters.get("AND")
    stated = [filters, *(each for each in (joined if isinstance(joined, list) else ()) if isinstance(each, dict))]
    found = {name: value for each in [*stated, _given(given)] for name, value in each.items() if isinstance(value, str)}
    for name in ("user_id", "agent_id", "run_id"):
        if name in found:
            checked_id(found[name], field=name)
    if "user_id" not in found:
        raise Unprocessable("Memories are a user's.", errors=(FieldError("user_id", "is required"),))
    return found["user_id"], found.get("agent_id"), found.get("run_id")


def _limits(agent: str | None, run: str | None) -> Json:
    return _given({"types": TYPES, "agent_id": agent, "session_id": run})


def _split(mem0_id: str) -> tuple[str, str]:
    memory, _, user = mem0_id.partition("@")
    if not (memory and user):
        raise BadRequest("This is no id of a memory.", code="invalid_id", errors=(FieldError("memory_id", "is none"),))
    return memory, user


def _listed(user: str, agent: str | None, run: str | None, *, limit: int = MOST_LISTED) -> Mem0Results:
    page = memories.list_memories(user, types=TYPES, agent_id=agent, session_id=run, limit=limit)
    results = [_shown(user, each) for each in page["memories"]]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def _said(message: Json) -> str | None:
    """What a message says, as mem0 takes it without inference: nothing of the system, and of parts their texts."""
    content = message.get("content")
    if message.get("role") == "system":
        return None
    if isinstance(content, list):
        content = "\n".join(str(each["text"]) for each in content if isinstance(each, dict) and each.get("text"))
    return content if isinstance(content, str) else None


def _statement(content: str, metadata: Json | None, agent: str | None) -> Json:
    terms = None if metadata is None else _terms(metadata)
    return _given({"type": "fact", "content": content, "metadata": terms, "agent_id": agent})


def _terms(metadata: Json) -> Json:
    """What our metadata can hold; other values as JSON text."""
    return {
        name: value if isinstance(value, SCALARS) else json.dumps(value)
        for name, value in metadata.items()
        if value is not None
    }


def _event(outcome: str) -> str:
    return {"created": "ADD", "updated": "UPDATE"}.get(outcome, "NONE")


def _shown(user: str, memory: Mapping[str, object], **more: Any) -> Mem0Memory:
    since = memory.get("created_at") or memory["valid_from"]
    shown: Any = {
        "id": f"{memory['id']}@{user}",
        "memory": memory["content"],
        "user_id": user,
        "agent_id": memory.get("agent_id"),
        "metadata": memory.get("metadata") or {},
        "categories": [memory["type"]],
        "created_at": since,
        "updated_at": since,
        **more,
    }
    return cast("Mem0Memory", shown)
