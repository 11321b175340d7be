"""The shapes of answers, for the API's description only: no request loads them, and tests hold real answers to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = dict[str, Any]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
NextCursor = Annotated[str | None, Field(description="Where the next page begins; null at the end")]


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Window(Answer):
    """What the model would see of the conversation; `is_full` says that the overflow's trigger is met."""

    messages: int
    tokens: int
    max_tokens: int
    is_full: bool


class Totals(Answer):
    messages: int
    tokens: int


class Session(Answer):
    session_id: str
    user_id: str
    agent_id: str | None
    status: Literal["active", "ended"]
    system: Annotated[str | Json | None, Field(description="Text, or the message if it is more than that")]
    memory: Annotated[Json, Field(description="The whole configuration, defaults included")]
    metadata: Json
    window: Window
    totals: Totals
    compaction: Literal["none", "pending", "failed"]
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None


class SessionPage(Answer):
    sessions: list[Session]
    next_cursor: NextCursor


class AppendedMessage(Answer):
    id: Annotated[str, Field(description="Running digest: equal histories have equal ids")]
    seq: int
    tokens: int


class Overflow(Answer):
    strategy: str
    state: Literal["done", "pending"]
    job_id: str | None


class ContextTokens(Answer):
    """`context` weighs this answer's messages, `window` all that the window holds, `summary` the summary in it.

    `memory` weighs the memory prompt: a part of `context` where it stands in the system message, else it comes on top.
    Both together keep within the budget.
    """

    context: int
    budget: int
    window: int
    summary: int
    memory: int


class Provenance(Answer):
    """Where something comes from: messages of a session, and the words in them that it rests on."""

    session_id: str | None
    message_ids: list[str]
    seqs: list[int]
    quote: str | None


class ShownFact(Answer):
    id: str
    content: str
    agent_id: str | None


class ShownMemory(Answer):
    id: str
    type: Literal["fact", "event", "instruction", "task", "message"]
    content: str
    score: float | None
    valid_from: Moment | None
    source: Provenance
    agent_id: str | None


class ShownMessage(ShownMemory):
    role: str | None


class Context(Answer):
    messages: Annotated[list[Json], Field(description="Chat messages, ready to send")]
    tokens: ContextTokens
    compaction: Literal["none", "pending", "failed"]
    degraded: Annotated[list[str], Field(description="What could not be asked and is missing here")]
    static_facts: Annotated[list[ShownFact], Field(description="What the tenant states")]
    extracted_facts: Annotated[list[ShownMemory], Field(description="What was extracted from the user's conversations")]
    vector_matches: Annotated[list[ShownMessage], Field(description="Past messages that resemble the given one")]
    memory_prompt: Annotated[str, Field(description="All three as a model is shown them, escaped; empty without any")]
    tools: Annotated[list[Json] | None, Field(description="With `auto_recall`: what the model may be given")] = None
    trace: Annotated[Json | None, Field(description="With `explain`: why each part is there")] = None


class Appended(Answer):
    session_id: str
    created: bool
    messages: list[AppendedMessage]
    window: Window
    overflow: Overflow | None
    replayed: Annotated[bool, Field(description="This had been stored before; this is its first result")]
    context: Annotated[Context | None, Field(description="If asked for; null if it could not be had")] = None
    degraded: list[str] = []


class HistoryMessage(BaseModel):
    """A message as it was sent, unknown fields included, and what is known of it."""

    model_config = ConfigDict(extra="allow")

    id: str
    seq: int
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Json] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[Json] | None = None
    tool_call_id: str | None = None
    tokens: int
    timestamp: Annotated[Moment | None, Field(description="When it was said, by the caller's clock")]
    created_at: Moment
    client_id: Annotated[str | None, Field(description="The id that it was sent with")] = None
    metadata: Json


class MessagePage(Answer):
    messages: list[HistoryMessage]
    next_cursor: NextCursor


class Compaction(Answer):
    n: int
    from_: Annotated[int, Field(alias="from")]
    to: int
    summary: Annotated[str | None, Field(description="null where the strategy drops without a summary")]
    method: Annotated[str, Field(description="model, extractive, trim, delete, fifo or empty")]
    model: str | None
    prompt_hash: str | None
    tokens_before: int
    tokens_after: int
    created_at: Moment


class CompactionPage(Answer):
    compactions: list[Compaction]
    next_cursor: NextCursor


class WindowEmptied(Answer):
    session_id: str
    window: Window


class Pruned(Answer):
    session_id: str
    job_id: str | None
    state: Literal["done", "failed"]
    window: Window
    context: Context | None
    degraded: list[str]


class TenantSettings(Answer):
    memory: Json
    retention_days: Annotated[int | None, Field(description="Days from a session's last activity; null = for ever")]
    memory_days: Annotated[int | None, Field(description="Days after a memory was last said; null = for ever")]


class Health(Answer):
    status: Literal["ok"]
    stage: str


class FieldProblem(Answer):
    field: str
    message: str


class Problem(Answer):
    """RFC 9457. `code` is stable; `retryable` says that the same call may work later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
    errors: list[FieldProblem]
    minimum: Annotated[int | None, Field(description="The smallest budget that fits, with `budget_too_small`")] = None
