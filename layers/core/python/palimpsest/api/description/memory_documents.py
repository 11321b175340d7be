"""The shapes of what long-term memory answers, for the API's description only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from palimpsest.api.description.documents import Answer, Json, Moment, NextCursor, Provenance


class Memory(Answer):
    id: str
    type: Literal["fact", "event", "instruction", "task"]
    content: str
    subject: str | None
    topic_key: Annotated[str | None, Field(description="Folded to words joined by `_`")]
    keywords: list[str]
    queries: list[str]
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
    metadata: Json
    method: Annotated[str, Field(description="given, model or pattern")]
    expires_at: Moment | None


class SavedMemory(Memory):
    outcome: Literal["created", "unchanged", "superseded"]


class SavedMemories(Answer):
    memories: list[SavedMemory]


class MemoryPage(Answer):
    memories: list[Memory]
    next_cursor: NextCursor


class MemoryVersions(Answer):
    versions: list[Memory]
    next_cursor: NextCursor


class Deleted(Answer):
    id: str
    deleted: Literal[True]


class Found(Answer):
    """A memory or a message that was found, and what speaks for it; a message has no subject and no importance."""

    id: str
    type: Literal["fact", "event", "instruction", "task", "message"]
    content: str
    score: float
    found_by: Annotated[list[str], Field(description="Which retrievers found it")]
    source: Provenance
    valid_from: Moment
    role: Annotated[str | None, Field(description="Who said a message")]
    outdated_by: Annotated[str | None, Field(description="The current memory, where a message says an earlier value")]
    subject: str | None
    topic_key: str | None
    importance: float | None
    agent_id: str | None
    metadata: Json


class FoundMemories(Answer):
    memories: list[Found]


class ModelUsage(Answer):
    model_calls: int
    tokens_in: int
    tokens_out: int


class Recalled(FoundMemories):
    answer: Annotated[str | None, Field(description="If it was asked for; empty where nothing answers")]
    citations: Annotated[list[str], Field(description="Ids of the memories that the answer rests on")]
    method: Annotated[str | None, Field(description="Who answered: model, or quoted, in the memories' own words")]
    degraded: Annotated[list[str], Field(description="What could not take part: vector, search, reranker, answer")]
    usage: ModelUsage
    trace: Annotated[Json | None, Field(description="With `explain`: how the memories were found and ranked")] = None


class Tools(Answer):
    tools: list[Json]


class ToolMessage(Answer):
    """A chat message that can be appended as it is."""

    role: Literal["tool"]
    tool_call_id: str | None = None
    content: str


class StaticFact(Answer):
    id: str
    content: str
    agent_id: Annotated[str | None, Field(description="null: for every agent")]
    updated_at: Moment


class StaticFacts(Answer):
    static_facts: list[StaticFact]


class WouldForget(Answer):
    """What a forgetting would remove now."""

    dry_run: Literal[True]
    count: int
    ids: list[str]


class MemoryCounts(Answer):
    fact: int
    event: int
    instruction: int
    task: int
    total: int


class User(Answer):
    user_id: str
    memories: Annotated[MemoryCounts, Field(description="Current memories by type")]


class ListedUser(Answer):
    user_id: str


class UserPage(Answer):
    users: list[ListedUser]
    next_cursor: NextCursor
