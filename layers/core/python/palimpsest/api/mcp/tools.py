"""The MCP tools: their descriptions for models, and the use cases that they call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field, ValidationError, model_validator

from palimpsest.api import problems
from palimpsest.api.answers import hidden_sources
from palimpsest.api.call import Call, Service
from palimpsest.api.encoding import dumps
from palimpsest.api.fields import Closed, Json
from palimpsest.api.mcp.schemas import schema_of
from palimpsest.api.operations import Scope
from palimpsest.api.pages import DEFAULT_LIMIT
from palimpsest.api.resources import feedback
from palimpsest.api.resources import recall as recalling
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.filters import Filter, stored_topic
from palimpsest.api.resources.memories import views
from palimpsest.api.resources.memories.shapes import (
    ForgetRequest,
    NewMemories,
    NewMemory,
    statement,
)
from palimpsest.errors import PalimpsestError
from palimpsest.memory.as_line import MATERIAL, NO_LONGER_SURE, OUTDATED
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import ListedType, SaidType

FORGET_SECONDS = 10.0  # how long a tool waits for memories to be removed


class RememberArguments(NewMemory):
    type: SaidType = "fact"


class ListArguments(Closed):
    types: Annotated[
        list[ListedType] | None, Field(max_length=5, description="Only these types")
    ] = None
    topic_key: Annotated[
        str | None, Field(max_length=80, description="Only memories of this topic")
    ] = None
    subject: Annotated[
        str | None, Field(max_length=200, description="Only memories about this person or thing")
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="The most memories to list")] = 20
    cursor: Annotated[
        str | None, Field(max_length=2_000, description="next_cursor of the page before")
    ] = None


class FeedbackArguments(feedback.FeedbackBody):
    recall_id: Annotated[Id, Field(description="Id of the recall, as recall returns it")]


class HistoryArguments(Closed):
    memory_id: Annotated[Id, Field(description="Id of the memory, as recall returns it")]


class ForgetArguments(Closed):
    memory_ids: Annotated[list[Id] | None, Field(min_length=1, max_length=50)] = None
    filter: Filter | None = None
    dry_run: Annotated[bool, Field(description="Only list the memories that would be deleted")] = (
        False
    )

    @model_validator(mode="after")
    def _selects(self) -> ForgetArguments:
        if (self.memory_ids is None) == (self.filter is None):
            raise ValueError("needs memory_ids or filter, and not both")
        return self


class ConversationArguments(Closed):
    query: recalling.Query
    k: recalling.K = 5
    filter: Annotated[Filter | None, Field(description="Limits of time and session")] = None


Answer = Mapping[str, Any] | Response[str]
"""The answer of a tool. It is a `Response` for a job that has not ended yet."""


def _recall(service: Service, call: Call, user: str, arguments: recalling.RecallBody) -> Answer:
    return recalling.recalled(
        service.recall(call.user(user), arguments.request()), user=user, body=arguments
    )


def _feedback(service: Service, call: Call, user: str, arguments: FeedbackArguments) -> Answer:
    counted = service.feedback(
        call.user(user),
        arguments.recall_id,
        useful=arguments.useful,
        wrong=arguments.wrong,
        missing=arguments.missing,
    )
    return feedback.taken(arguments.recall_id, counted)


def _search_conversations(
    service: Service, call: Call, user: str, arguments: ConversationArguments
) -> Answer:
    limits = {} if arguments.filter is None else arguments.filter.model_dump(exclude_unset=True)
    only_messages = {**limits, "types": ["message"]}
    body = recalling.RecallBody.model_validate(
        {"query": arguments.query, "k": arguments.k, "filter": only_messages}
    )
    return _recall(service, call, user, body)


def _remember(service: Service, call: Call, user: str, arguments: RememberArguments) -> Answer:
    new = NewMemories(memories=[arguments])
    if new.memories[0].embedding is not None:
        new.check_embeddings(service.index.space)
    statements = [statement(memory) for memory in new.memories]
    scope = call.user(user)
    return views.saved(service, scope, service.remember(scope, statements, once=call.once))


def _list_memories(service: Service, call: Call, user: str, arguments: ListArguments) -> Answer:
    where = MemoryFilter(
        types=frozenset(arguments.types or ()),
        subject=arguments.subject,
        topic=stored_topic(arguments.topic_key),
    )
    return views.page_of_memories(
        service, call.user(user), where, limit=arguments.limit, cursor=arguments.cursor
    )


def _memory_history(service: Service, call: Call, user: str, arguments: HistoryArguments) -> Answer:
    return views.page_of_versions(
        service, call.user(user), arguments.memory_id, limit=DEFAULT_LIMIT
    )


def _forget(service: Service, call: Call, user: str, arguments: ForgetArguments) -> Answer:
    from palimpsest.memory.removal.sources import Hidden  # not at import: few calls need it

    scope = call.user(user)
    if arguments.filter is not None:
        limits = arguments.filter.model_dump(exclude_unset=True)
        where = ForgetRequest.model_validate({"filter": limits}).filter.read()
        return views.forgotten(
            service, call, scope, where, dry_run=arguments.dry_run, wait=FORGET_SECONDS
        )
    manage, ids = service.manage_memories, [*dict.fromkeys(arguments.memory_ids or ())]
    for memory in ids:  # before anything is deleted
        manage.read(scope, memory)
    if arguments.dry_run:
        return {"dry_run": True, "count": len(ids), "ids": ids}
    hidden = Hidden()
    for memory in ids:
        with views.no_static_fact(service, call, memory):
            hidden += manage.delete(scope, memory)
    return {"deleted": ids, "hidden": hidden_sources(hidden)}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and its description for models. `arguments` is the body that checks the arguments, and
    `shown` lists the fields of it that models see. `run` gives the same answer as the API's
    corresponding operation.
    """

    description: str
    scope: Scope
    run: Callable[[Service, Call, str, Any], Answer]
    arguments: type[BaseModel]
    shown: tuple[str, ...]
    hints: Mapping[str, bool] = field(default_factory=lambda: {"readOnlyHint": True})

    @property
    def schema(self) -> Json:
        return schema_of(self.arguments, self.shown)

    def described(self, name: str) -> Json:
        return {
            "name": name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"openWorldHint": False, **self.hints},
        }


_TIME_AND_PLACE = ("filter.session_id", "filter.created_after", "filter.created_before")
_LIMITS = ("filter.types", "filter.subject", *_TIME_AND_PLACE)
TOOLS: Mapping[str, Tool] = {
    "recall": Tool(
        "Search and recall what is known of the user: facts, events, instructions, tasks, and what "
        "was said before.",
        "read",
        _recall,
        recalling.RecallBody,
        ("query", "k", *_LIMITS),
    ),
    "remember": Tool(
        "Save something about the user that will matter in later conversations. A newer fact of "
        "the same topic"
        " replaces the older one, whose history is kept.",
        "write",
        _remember,
        RememberArguments,
        ("content", "type", "topic_key", "subject", "importance"),
        {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    ),
    "list_memories": Tool(
        "List what is known of the user, the newest first.",
        "read",
        _list_memories,
        ListArguments,
        ("types", "topic_key", "subject", "limit", "cursor"),
    ),
    "memory_history": Tool(
        "Read how a memory changed: all versions of its topic, the newest first.",
        "read",
        _memory_history,
        HistoryArguments,
        ("memory_id",),
    ),
    "forget": Tool(
        "Delete memories for good, by their ids or by a filter. With dry_run nothing is deleted. "
        "The answer says in how many messages the words that they came from were hidden.",
        "write",
        _forget,
        ForgetArguments,
        ("memory_ids", *_LIMITS, "dry_run"),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
    ),
    "feedback": Tool(
        "Say which memories of a recall were useful or wrong, and what was missing. A person "
        "reviews what is wrong or missing.",
        "write",
        _feedback,
        FeedbackArguments,
        ("recall_id", "useful", "wrong", "missing"),
        {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    ),
    "search_conversations": Tool(
        "Search what was said in the user's past conversations, word by word and by meaning.",
        "read",
        _search_conversations,
        ConversationArguments,
        ("query", "k", *_TIME_AND_PLACE),
    ),
}


def called(service: Service, call: Call, user: str, tool: Tool, arguments: Json) -> Json:
    """Return the result of a tool. It has the operation's answer as data, and as text for clients
    that show only text.
    """
    try:
        call.caller.require(tool.scope)
        answer = tool.run(service, call, user, tool.arguments.model_validate(arguments))
    except ValidationError as error:
        return _failed(problems.refusal_of(error))
    except PalimpsestError as error:
        return _failed(error)
    data = json.loads(answer.body or "{}") if isinstance(answer, Response) else answer
    return {
        "content": [{"type": "text", "text": _text(data)}],
        "structuredContent": data,
        "isError": False,
    }


def _failed(error: PalimpsestError) -> Json:
    """Return an error as a tool result. A model can read it and call again with other arguments."""
    failure = problems.problem(error)
    lines = [
        f"{failure.code}: {failure.detail}",
        *(f"- {problem.field}: {problem.message}" for problem in failure.errors),
    ]
    if failure.retryable:
        lines.append("The same call may work later.")
    return {"content": [{"type": "text", "text": "\n".join(lines)}], "isError": True}


def _text(data: Mapping[str, Any]) -> str:
    """Return one line for each memory or version, with the id that other tools take. Any other
    answer is returned as JSON.
    """
    rows = data.get("memories", data.get("versions"))
    if rows is None:
        return dumps(data)
    lines = [f"- {row['content']} ({', '.join(_notes(row))})" for row in rows]
    if data.get("next_cursor"):
        lines.append(f"More: cursor {data['next_cursor']}")
    lines = lines or ["Nothing is known of that."]
    if data.get("recall_id"):
        lines.append(f"(recall {data['recall_id']})")
    return "\n".join(lines)


def _notes(row: Mapping[str, Any]) -> list[str]:
    session = (row.get("source") or {}).get("session_id")
    superseded = row["status"] if row.get("status") == "superseded" else None
    speaker = f"said by {row['speaker']}"
    time = row.get("when") or row["valid_from"][:10]
    about = [speaker, row["type"], time, f"id {row['id']}"]
    changed = NO_LONGER_SURE if row.get("rests_on_changed") else None
    outdated = f"{OUTDATED} by {row['outdated_by']}" if row.get("outdated_by") else None
    material = MATERIAL if row.get("material") else None
    notes = [row.get("outcome"), superseded, *about, changed, outdated, material]
    return [note for note in [*notes, session and f"session {session}"] if note]
