"""The types of the service's inputs and answers. `write_types.py` writes this file."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AnyFilter(TypedDict):
    types: NotRequired[
        list[
            Literal[
                "fact",
                "event",
                "instruction",
                "task",
                "preference",
                "entity",
                "relationship",
                "message",
            ]
        ]
    ]
    min_importance: NotRequired[float | None]
    max_importance: NotRequired[float | None]
    min_confidence: NotRequired[float | None]
    max_confidence: NotRequired[float | None]
    created_after: NotRequired[str | None]
    created_before: NotRequired[str | None]
    subject: NotRequired[str | None]
    topic_key: NotRequired[str | None]
    session_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | float | bool | dict[str, Any]]]


class Appended(TypedDict):
    session_id: str
    created: bool
    messages: list[AppendedMessage]
    window: Window
    overflow: Overflow | None
    replayed: bool
    context: NotRequired[Context | None]
    degraded: NotRequired[list[str]]


class AppendedMessage(TypedDict):
    id: str
    seq: int
    tokens: int


class CacheInfo(TypedDict):
    mark: str
    common_tokens: int | None
    broke_at: int | None
    why: Literal["system", "memory", "summary", "window", "recalled", "message"] | None


Compaction = TypedDict(
    "Compaction",
    {
        "n": int,
        "from": int,
        "to": int,
        "summary": str | None,
        "method": str,
        "model": str | None,
        "prompt_hash": str | None,
        "tokens_before": int,
        "tokens_after": int,
        "created_at": str,
    },
)


class Context(TypedDict):
    messages: list[dict[str, Any]]
    system: NotRequired[str | list[dict[str, Any]]]
    refs: list[MessageRef | None]
    tokens: ContextTokens
    omitted: SequenceRange | None
    compaction: Literal["none", "pending", "failed"]
    why_not: NotRequired[
        Literal["below_trigger", "only_recent_turns", "paused_after_failure", "fits_already"] | None
    ]
    degraded: list[str]
    static_facts: list[ShownFact]
    extracted_facts: list[ShownMemory]
    vector_matches: list[ShownMessage]
    memory_prompt: str
    tools: NotRequired[list[dict[str, Any]]]
    cache: CacheInfo
    prompt_cache_key: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


class ContextTokens(TypedDict):
    context: int
    budget: int
    window: int
    summary: int
    memory: int
    tools: int
    total: int
    parts: TokenParts


class Deleted(TypedDict):
    id: str
    deleted: Literal[True]
    hidden: NotRequired[HiddenSources]
    redactions: NotRequired[list[str]]


class EndedSession(TypedDict):
    session_id: str
    user_id: str
    agent_id: str | None
    status: Literal["active", "ended"]
    system: str | dict[str, Any] | None
    memory: dict[str, Any]
    metadata: dict[str, Any]
    retention_days: int | None
    window: Window
    totals: Totals
    compaction: Literal["none", "pending", "failed"]
    last_extracted: NotRequired[LastExtracted | None]
    created_at: str
    updated_at: str
    expires_at: str | None
    job_id: str | None
    state: Literal["pending", "running", "done", "failed"]


class Expires(TypedDict):
    state: Literal["expires"]
    until: str


class FeedbackTaken(TypedDict):
    recall_id: str
    counted: list[str]
    ignored: list[str]
    reviews: list[str]


class Filter(TypedDict):
    types: NotRequired[list[Literal["fact", "event", "instruction", "task", "preference"]]]
    min_importance: NotRequired[float | None]
    max_importance: NotRequired[float | None]
    min_confidence: NotRequired[float | None]
    max_confidence: NotRequired[float | None]
    created_after: NotRequired[str | None]
    created_before: NotRequired[str | None]
    subject: NotRequired[str | None]
    topic_key: NotRequired[str | None]
    session_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, str | float | bool | dict[str, Any]]]


class Found(TypedDict):
    id: str
    type: Literal[
        "fact", "event", "instruction", "task", "preference", "entity", "relationship", "message"
    ]
    content: str
    score: float
    found_by: list[str]
    times: int
    source: Provenance
    valid_from: str
    valid_to: str | None
    ended: bool
    occurs_at: str | None
    due_at: str | None
    when: str | None
    rests_on_changed: bool
    role: str | None
    speaker: str
    material: bool
    outdated_by: str | None
    subject: str | None
    topic_key: str | None
    importance: float | None
    agent_id: str | None
    metadata: dict[str, Any]
    data: Any


class GraphEntity(TypedDict):
    id: str
    type: str
    properties: dict[str, Any]
    valid_from: str | None
    valid_to: str | None
    source: Provenance
    memory_id: str
    method: str
    outcome: NotRequired[Literal["created", "updated", "unchanged"]]
    name: str


GraphRelationship = TypedDict(
    "GraphRelationship",
    {
        "id": str,
        "type": str,
        "properties": dict[str, Any],
        "valid_from": str | None,
        "valid_to": str | None,
        "source": "Provenance",
        "memory_id": str,
        "method": str,
        "outcome": NotRequired[Literal["created", "updated", "unchanged"]],
        "from": str,
        "to": str,
    },
)


class GraphRows(TypedDict):
    columns: list[str]
    rows: list[list[Any]]
    is_whole: bool


class Health(TypedDict):
    status: Literal["ok"]
    stage: str


class HiddenSources(TypedDict):
    messages: int
    message_ids: list[str]


class HistoryMessage(TypedDict):
    id: str
    seq: int
    role: Literal["system", "developer", "user", "assistant", "tool", "item"]
    content: NotRequired[str | list[dict[str, Any]] | None]
    name: NotRequired[str | None]
    refusal: NotRequired[str | None]
    tool_calls: NotRequired[list[dict[str, Any]] | None]
    tool_call_id: NotRequired[str | None]
    item: NotRequired[dict[str, Any] | None]
    tokens: int
    timestamp: str | None
    created_at: str
    client_id: NotRequired[str | None]
    metadata: dict[str, Any]
    content_url: NotRequired[str]
    redacted_at: NotRequired[str]
    off_record: NotRequired[bool]
    hidden: NotRequired[Literal[True]]
    material: NotRequired[Literal[True]]


class Indexed(TypedDict):
    state: Literal["pending", "done"]


class Job(TypedDict):
    job_id: str
    kind: Literal[
        "summarize",
        "delete",
        "withdraw",
        "redact",
        "take_back",
        "extract",
        "flush",
        "forget",
        "forget_sessions",
        "erase",
        "retain",
        "upload",
        "export",
        "import",
    ]
    state: Literal["pending", "running", "done", "failed"]
    user_id: str | None
    session_id: str | None
    range: SequenceRange | None
    attempt: int
    error: str | None
    created_at: str
    result: dict[str, int]
    ledger: Ledger
    records: list[str]
    usage: JobUsage
    receipt: NotRequired[Receipt | RedactionReceipt]
    files: NotRequired[list[str]]


class JobUsage(TypedDict):
    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class LastExtracted(TypedDict):
    seq: int
    id: str | None


class Ledger(TypedDict):
    received: int
    extracted: int
    skipped: int
    parked: int
    reasons: dict[str, int]
    dropped: dict[str, int]
    withheld: dict[str, int]


class ListedJob(TypedDict):
    job_id: str
    kind: Literal[
        "summarize",
        "delete",
        "withdraw",
        "redact",
        "take_back",
        "extract",
        "flush",
        "forget",
        "forget_sessions",
        "erase",
        "retain",
        "upload",
        "export",
        "import",
    ]
    state: Literal["pending", "running", "done", "failed"]
    user_id: str | None
    session_id: str | None
    range: SequenceRange | None
    attempt: int
    error: str | None
    created_at: str


class ListedUser(TypedDict):
    user_id: str
    name: NotRequired[str | None]
    aliases: NotRequired[list[str]]
    memories: NotRequired[MemoryCounts]
    sessions: NotRequired[SessionCounts]
    last_activity: NotRequired[str | None]


class Memory(TypedDict):
    id: str
    type: Literal["fact", "event", "instruction", "task", "preference", "entity", "relationship"]
    content: str
    subject: str | None
    speaker: str
    topic_key: str | None
    keywords: list[str]
    queries: list[str]
    importance: float
    confidence: float
    status: Literal["current", "superseded"]
    version: int
    valid_from: str
    valid_to: str | None
    ended: bool
    occurs_at: str | None
    due_at: str | None
    rests_on: list[str]
    rests_on_changed: bool
    created_at: str
    supersedes: str | None
    superseded_by: str | None
    source: Provenance
    sources: list[Provenance]
    agent_id: str | None
    metadata: dict[str, Any]
    data: Any
    method: str
    expires_at: str | None
    access_count: int
    last_accessed_at: str | None
    decay: float


class MemoryCounts(TypedDict):
    fact: int
    event: int
    instruction: int
    task: int
    preference: int
    total: int


class MessageRef(TypedDict):
    seq: int
    id: str


class ModelCall(TypedDict):
    at: str
    model: str | None
    instructions: str
    text: str
    answer: str | None
    error: str | None
    tokens_in: int
    tokens_out: int


class ModelUsage(TypedDict):
    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class NamedUser(TypedDict):
    user_id: str
    name: str | None
    aliases: list[str]


class Nameless(TypedDict):
    state: Literal["pending", "nameless"]


class Neighbor(TypedDict):
    id: str
    type: str
    properties: dict[str, Any]
    valid_from: str | None
    valid_to: str | None
    source: Provenance
    memory_id: str
    method: str
    outcome: NotRequired[Literal["created", "updated", "unchanged"]]
    name: str
    depth: int


class Neighbors(TypedDict):
    entities: list[Neighbor]
    relationships: list[GraphRelationship]
    is_whole: bool


class Overflow(TypedDict):
    strategy: str
    state: Literal["done", "pending"]
    job_id: str | None


class Preference(TypedDict):
    key: str
    value: Any
    memory_id: str
    updated_at: str


class Provenance(TypedDict):
    session_id: str | None
    message_ids: list[str]
    seqs: list[int]
    quote: str | None
    text: str | None


class Reached(TypedDict):
    state: Literal["pending", "done"]
    count: int


class Recalled(TypedDict):
    memories: list[Found]
    answerable: float
    answer: str | None
    recall_id: str
    citations: list[str]
    method: str | None
    degraded: list[str]
    usage: ModelUsage
    context: NotRequired[str]
    trace: NotRequired[dict[str, Any]]


class Receipt(TypedDict):
    sessions: Reached
    memories: Reached
    index: Indexed
    usage: Nameless
    jobs: Expires
    tombstones: Expires
    keys: Expires
    queues: Expires
    streams: Expires
    exports: Reached
    logs: Expires
    backups: Expires
    epoch: Stays


class RedactionReceipt(TypedDict):
    messages: Reached
    summaries: Reached
    memories: Reached
    exports: Reached
    index: Indexed
    streams: Expires
    backups: Expires


class RetentionJob(TypedDict):
    job_id: str
    state: Literal["pending", "running", "done", "failed"]


class Review(TypedDict):
    id: str
    user_id: str
    kind: Literal["wrong", "missing"]
    recall_id: str
    created_at: str
    memory: ReviewedMemory | None
    missing: str | None


class ReviewedMemory(TypedDict):
    id: str
    type: Literal[
        "fact", "event", "instruction", "task", "preference", "entity", "relationship", "message"
    ]
    content: str
    topic_key: str | None
    valid_from: str


class SavedMemory(TypedDict):
    id: str
    type: Literal["fact", "event", "instruction", "task", "preference", "entity", "relationship"]
    content: str
    subject: str | None
    speaker: str
    topic_key: str | None
    keywords: list[str]
    queries: list[str]
    importance: float
    confidence: float
    status: Literal["current", "superseded"]
    version: int
    valid_from: str
    valid_to: str | None
    ended: bool
    occurs_at: str | None
    due_at: str | None
    rests_on: list[str]
    rests_on_changed: bool
    created_at: str
    supersedes: str | None
    superseded_by: str | None
    source: Provenance
    sources: list[Provenance]
    agent_id: str | None
    metadata: dict[str, Any]
    data: Any
    method: str
    expires_at: str | None
    access_count: int
    last_accessed_at: str | None
    decay: float
    outcome: Literal["created", "updated", "unchanged"]


SequenceRange = TypedDict("SequenceRange", {"from": int, "to": int})


class Session(TypedDict):
    session_id: str
    user_id: str
    agent_id: str | None
    status: Literal["active", "ended"]
    system: str | dict[str, Any] | None
    memory: dict[str, Any]
    metadata: dict[str, Any]
    retention_days: int | None
    window: Window
    totals: Totals
    compaction: Literal["none", "pending", "failed"]
    last_extracted: NotRequired[LastExtracted | None]
    created_at: str
    updated_at: str
    expires_at: str | None


class SessionCounts(TypedDict):
    active: int
    ended: int
    total: int


class ShownFact(TypedDict):
    id: str
    content: str
    agent_id: str | None


class ShownLimits(TypedDict):
    requests_per_second: int | None
    sessions: int | None
    memories: int | None
    model_cost_usd: float | None


class ShownMemory(TypedDict):
    id: str
    type: Literal[
        "fact", "event", "instruction", "task", "preference", "entity", "relationship", "message"
    ]
    content: str
    speaker: str
    score: float | None
    valid_from: str | None
    valid_to: str | None
    ended: bool
    when: str | None
    rests_on_changed: bool
    material: bool
    source: Provenance
    agent_id: str | None


class ShownMessage(TypedDict):
    id: str
    type: Literal[
        "fact", "event", "instruction", "task", "preference", "entity", "relationship", "message"
    ]
    content: str
    speaker: str
    score: float | None
    valid_from: str | None
    valid_to: str | None
    ended: bool
    when: str | None
    rests_on_changed: bool
    material: bool
    source: Provenance
    agent_id: str | None
    role: str | None


class ShownRetention(TypedDict):
    conversations: str
    facts: str
    events: str
    instructions: str
    preferences: str


class StaticFact(TypedDict):
    id: str
    content: Any
    agent_id: str | None
    updated_at: str


class Stays(TypedDict):
    state: Literal["stays"]


class TenantSettings(TypedDict):
    memory: dict[str, Any]
    retention_days: int | None
    memory_days: int | None
    retention: ShownRetention
    models: list[str] | None
    secrets: Literal["keep_in_message", "mask", "refuse"]
    limits: ShownLimits
    answer_floor: float | None
    keep_model_calls: bool
    retention_job: RetentionJob | None


class TokenParts(TypedDict):
    system: int
    memory: int
    summary: int
    messages: int
    framing: int
    tools: int


class ToolResult(TypedDict):
    role: Literal["tool"]
    tool_call_id: NotRequired[str]
    content: str
    recall_id: NotRequired[str]
    memory_ids: NotRequired[list[str]]


class Totals(TypedDict):
    messages: int
    tokens: int


class Used(TypedDict):
    day: str | None
    user_id: str | None
    messages: int
    message_tokens: int
    bytes: int
    model_calls: int
    tokens_in: int
    tokens_out: int
    embedding_calls: int
    embedding_tokens: int
    cost_usd: float
    unpriced_calls: int
    chat_calls: int
    chat_tokens_in: int
    chat_tokens_cached: int
    chat_tokens_out: int
    chat_cost_usd: float
    chat_unpriced_calls: int
    feedback_useful: int
    feedback_wrong: int
    feedback_missing: int


class User(TypedDict):
    user_id: str
    name: str | None
    aliases: list[str]
    memories: MemoryCounts
    sessions: SessionCounts
    last_activity: str | None


class UserProfile(TypedDict):
    user_id: str
    sections: list[UserProfileSection]
    text: str
    tokens: int
    complete: bool


class UserProfileLine(TypedDict):
    memory_id: str
    text: str
    topic_key: str | None
    subject: str | None
    due_at: str | None
    rests_on_changed: bool


class UserProfileSection(TypedDict):
    kind: Literal[
        "who", "health", "work", "likes", "more", "instructions", "preferences", "people", "tasks"
    ]
    lines: list[UserProfileLine]


class Window(TypedDict):
    messages: int
    tokens: int
    max_tokens: int
    is_full: bool


class WindowEmptied(TypedDict):
    session_id: str
    window: Window
