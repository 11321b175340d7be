"""The operations for recall, for search by one retriever, and for the tools of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, NotRequired, cast

from aws_lambda_powertools.event_handler.openapi.params import Path
from aws_lambda_powertools.event_handler.openapi.params import Query as InQuery
from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from palimpsest.api.answers import (
    Due,
    HasEnded,
    IsMaterial,
    Occurs,
    Provenance,
    RestsOnChanged,
    Speaker,
    provenance,
)
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import (
    LIKE_AN_ID,
    NOT_BLANK,
    Closed,
    Moment,
    Timestamp,
    UserId,
    Values,
    check_embedding,
    milliseconds_of,
    moment_or_null,
    not_blank,
    rfc3339,
)
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.chat import Id
from palimpsest.api.resources.filters import Filter
from palimpsest.memory import filters
from palimpsest.memory.record import Record
from palimpsest.recall import recall as use_case
from palimpsest.recall.as_text import format_as_context, quotes_material
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import DEFAULT_K, RecallRequest
from palimpsest.recall.tool import TOOLS, ToolFormat, definition, tool_named

operation = operations_on("recall", function="memories")

MAX_QUERY = 2_000  # characters

Query = Annotated[
    str,
    Field(
        max_length=MAX_QUERY,
        description="The words or the question to search for",
        json_schema_extra=NOT_BLANK,
    ),
    AfterValidator(not_blank),
]
K = Annotated[int, Field(ge=1, le=100, description="The most results")]
AskingSession = Annotated[
    Id | None, Field(description="The session that asks; messages in its window are not returned")
]


class AnyFilter(Filter):
    """The filter for memories, with past messages as one more type. Without `types`, all six types
    are searched.
    """

    types: Annotated[  # type: ignore[assignment] # one type more than memories have
        list[filters.MemoryType],
        Field(max_length=6, default_factory=list, description="Only these types"),
    ]


class RecallBody(Closed):
    query: Query
    k: K = DEFAULT_K
    max_tokens: Annotated[
        int | None,
        Field(ge=1, le=1_000_000, description="The most tokens of all returned memories together"),
    ] = None
    filter: AnyFilter | None = None
    as_of: Annotated[
        Timestamp | None, Field(description="Recall the memories that were valid at this time")
    ] = None
    known_at: Annotated[
        Timestamp | None, Field(description="Recall the memories that were recorded by this time")
    ] = None
    answer: Annotated[
        bool, Field(description="Answer the question from the memories, with citations")
    ] = False
    explain: Annotated[bool, Field(description="Say how the memories were found and ranked")] = (
        False
    )
    min_score: Annotated[
        float | None,
        Field(
            ge=0, le=1, description="Leave out memories with a lower `score`, even if few are left"
        ),
    ] = None
    format: Annotated[
        Literal["json", "context"],
        Field(
            description="context: the answer also has a `context`, the memories as `[User Memory]` "
            "text for a model"
        ),
    ] = "json"
    similarity: Annotated[
        bool, Field(description="With `format: context`: each line ends in its score")
    ] = False
    session_id: AskingSession = None
    rerank: Annotated[
        bool,
        Field(
            description="Let a model read the best 21 candidates, for at most 400 ms of processor "
            "time, and sort them"
        ),
    ] = True

    def request(self) -> RecallRequest:
        return RecallRequest(
            query=self.query,
            k=self.k,
            max_tokens=self.max_tokens,
            filter=self.filter.read() if self.filter else filters.MemoryFilter(),
            as_of=milliseconds_of(self.as_of),
            known_at=milliseconds_of(self.known_at),
            answer=self.answer,
            explain=self.explain,
            session=self.session_id,
            rerank=self.rerank,
            min_score=self.min_score,
        )


class SearchBody(Closed):
    model_config = ConfigDict(json_schema_extra={"required": ["mode"]})

    mode: Annotated[
        Literal["keyword", "vector"],
        Field(description="By words (BM25) or by meaning (cosine); the two are not combined"),
    ]
    k: K = DEFAULT_K
    filter: AnyFilter | None = None
    embedding: Annotated[
        Values | None,
        Field(description="With mode vector: your own vector, which replaces the query's"),
    ] = None
    query: Annotated[Query | None, Field(validate_default=True)] = None

    @field_validator("query")
    @classmethod
    def _asks_something(cls, value: str | None, others: ValidationInfo) -> str | None:
        if value is None and others.data.get("embedding") is None:
            raise ValueError("needs a query, or an embedding")
        return value

    @field_validator("embedding")
    @classmethod
    def _is_searched_by_vector(
        cls, value: list[float] | None, others: ValidationInfo
    ) -> list[float] | None:
        if value is not None and others.data.get("mode") != "vector":
            raise ValueError("may be given only if the mode is vector")
        return value

    def where(self) -> filters.MemoryFilter:
        return self.filter.read() if self.filter else filters.MemoryFilter()


class Found(TypedDict):
    """A memory or a message that was found. A message has no subject and no importance."""

    id: str
    type: filters.MemoryType
    content: str
    score: float
    found_by: Annotated[Sequence[str], Field(description="Which retrievers found it")]
    times: Annotated[
        int, Field(description="How many memories and messages that were found have this text")
    ]
    source: Provenance
    valid_from: Moment
    valid_to: Annotated[Moment | None, Field(description="When it ended")]
    ended: HasEnded
    occurs_at: Occurs
    due_at: Due
    when: Annotated[
        str | None, Field(description="Its time in words, such as `planned for 2026-10-01`")
    ]
    rests_on_changed: RestsOnChanged
    role: Annotated[str | None, Field(description="Role of a message; null for a memory")]
    speaker: Speaker
    material: IsMaterial
    outdated_by: Annotated[
        str | None,
        Field(
            description="If this memory states an outdated value: the id of the memory or message "
            "that states the current one"
        ),
    ]
    subject: str | None
    topic_key: str | None
    importance: float | None
    agent_id: str | None
    metadata: Mapping[str, Any]
    data: Annotated[
        Any,
        Field(description="JSON of the caller; for a preference, its value; null for a message"),
    ]


class FoundMemories(TypedDict):
    memories: list[Found]


class ModelUsage(TypedDict):
    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: Annotated[float | None, Field(description="null: the price of a call is not known")]


class Recalled(FoundMemories):
    answerable: Annotated[
        float, Field(description="How likely it is (0..1) that the memories answer the question")
    ]
    answer: Annotated[
        str | None,
        Field(
            description="The answer, if it was asked for. Empty if no memory answers the question, "
            "or if `answerable` is below the tenant's `answer_floor`. Without a model: one "
            "sentence, at most 400 characters"
        ),
    ]
    recall_id: Annotated[
        str,
        Field(
            description="Name of the recall, for feedback. The same question with the same result "
            "has the same name"
        ),
    ]
    citations: Annotated[
        Sequence[str], Field(description="Ids of the memories that the answer rests on")
    ]
    method: Annotated[
        str | None,
        Field(description="How it was answered: by a model, or quoted from the memories"),
    ]
    degraded: Annotated[
        Sequence[str],
        Field(
            description="The parts that failed: vector, search, reranker, answer. `reranker: "
            "partial`: the reranker had no time to read all of the first memories"
        ),
    ]
    usage: ModelUsage
    context: NotRequired[
        Annotated[
            str, Field(description="With `format: context`: the memories as text for a model")
        ]
    ]
    trace: NotRequired[
        Annotated[
            Mapping[str, Any],
            Field(description="With `explain`: how the memories were found and ranked"),
        ]
    ]


@operation("POST /v1/users/{user_id}/recall", scopes=("read",), answers={200: "Recalled"})
def recall(service: Service, call: Call, *, user_id: UserId, body: RecallBody) -> Recalled:
    """Recall.

    Return the memories and messages that answer a question best, each with its source. They are
    found by words, by topics and by meaning. If nothing fits, the list is empty. Memories that were
    corrected are not returned as current. Recall leaves out calls and results of this service's own
    tools, repetitions of the question, and equal texts after the first (`times` counts them). With
    `session_id` it also leaves out everything that this session's window still holds. With
    `answer`, a model answers the question from the memories and cites them. A memory that the
    reranker does not read in time is ranked without it. Its cost and effect are in the `trace` of
    `explain`. `degraded` names the parts that were unavailable.
    """
    return recalled(service.recall(call.user(user_id), body.request()), user=user_id, body=body)


def recalled(result: use_case.RecallResult, *, user: str, body: RecallBody) -> Recalled:
    """Return the answer to a recall request."""
    answer = _recalled(result, user=user, query=body.query, wants_answer=body.answer)
    if body.format == "context":
        answer["context"] = format_as_context(
            result.memories, user=user, query=body.query, similarity=body.similarity
        )
    return answer


@operation(
    "POST /v1/users/{user_id}/memories/search", scopes=("read",), answers={200: "FoundMemories"}
)
def search_memories(
    service: Service, call: Call, *, user_id: UserId, body: SearchBody
) -> FoundMemories:
    """Search memories.

    Search with one retriever, by words or by meaning, and return its own scores. If the retriever
    fails, the answer is 503. Without an embedding model, a search by meaning is answered 422
    `no_vectors`.
    """
    search = service.search
    if body.embedding is not None:
        check_embedding(body.embedding, search.vectors.space, field="embedding")
    memories = search(
        call.user(user_id),
        body.query or "",
        mode=body.mode,
        k=body.k,
        where=body.where(),
        vector=body.embedding,
    )
    return {"memories": [_found(memory, user=user_id) for memory in memories]}


def _found(memory: FoundMemory, *, user: str) -> Found:
    record = memory.record
    own: dict[str, Any] = NO_RECORD if record is None else _fields_of(record)
    return {
        "id": memory.id,
        "type": memory.type,
        "content": memory.content,
        "score": memory.score,
        "found_by": memory.found_by,
        "times": memory.times,
        "source": provenance(memory.source),
        "valid_from": rfc3339(memory.valid_from),
        "valid_to": moment_or_null(memory.ended_at),
        "ended": memory.ended_at is not None,
        "when": memory.when,
        "rests_on_changed": memory.rests_on_changed,
        "role": memory.speaker,
        "speaker": memory.said_by,
        "material": quotes_material(memory, user=user),
        "outdated_by": memory.outdated_by,
        **own,  # type: ignore[typeddict-item] # the fields of a record
    }


NO_RECORD: dict[str, Any] = {
    "subject": None,
    "topic_key": None,
    "importance": None,
    "agent_id": None,
    "metadata": {},
    "data": None,
    "occurs_at": None,
    "due_at": None,
}


def _fields_of(record: Record) -> dict[str, Any]:
    return {
        "subject": record.subject,
        "topic_key": record.topic_key,
        "importance": record.importance,
        "agent_id": record.agent,
        "metadata": record.metadata,
        "data": record.data,
        "occurs_at": record.occurs_at,
        "due_at": record.due_at,
    }


def _recalled(
    result: use_case.RecallResult, *, user: str, query: str, wants_answer: bool
) -> Recalled:
    """Return the answer to a recall. With `wants_answer`, the caller wanted the question answered;
    `answer` is then "" if no memory answers it.
    """
    answer: Recalled = {
        "answerable": result.answerable,
        "recall_id": result.recall_id(user=user, query=query),
        "answer": result.answer if wants_answer else None,
        "citations": result.citations,
        "method": result.method,
        "memories": [_found(memory, user=user) for memory in result.memories],
        "degraded": result.degraded,
        "usage": cast("ModelUsage", {**asdict(result.usage), "cost_usd": result.cost_usd}),
    }
    if result.trace is not None:
        answer["trace"] = result.trace
    return answer


class ToolCallBody(Closed):
    arguments: Annotated[
        str | dict[str, Any],
        Field(description="As the model wrote them: as JSON text, or as an object"),
    ]
    tool_call_id: Annotated[str | None, Field(min_length=1, max_length=256)] = None
    k: Annotated[
        int | None,
        Field(
            ge=1,
            le=50,
            description="The most memories that are shown; default: `max_records`, or 5",
        ),
    ] = None
    session_id: AskingSession = None
    identify: Annotated[
        bool,
        Field(
            description="For a search: also return `recall_id` and `memory_ids`, for feedback. Do "
            "not send these two to a model"
        ),
    ] = False


class Tools(TypedDict):
    tools: list[Mapping[str, Any]]


class ToolResult(TypedDict):
    """A tool message that can be appended as it is."""

    role: Literal["tool"]
    tool_call_id: NotRequired[str]
    content: str
    recall_id: NotRequired[Annotated[str, Field(description="With `identify`, of a search")]]
    memory_ids: NotRequired[
        Annotated[
            Sequence[str],
            Field(
                description="With `identify`, for a search: the ids of the memories that it shows"
            ),
        ]
    ]


@operation("GET /v1/tools", answers={200: "Tools"})
def list_tools(
    service: Service,
    call: Call,
    *,
    form: Annotated[
        ToolFormat, InQuery(alias="format", description="The API that they are written for")
    ] = "openai",
) -> Tools:
    """List tools.

    Return the definitions of the tools that the caller may call, in the form that a model's API or
    MCP takes.
    """
    may_write = "write" in call.caller.scopes
    return {
        "tools": [definition(tool, form) for tool in TOOLS.values() if may_write or not tool.writes]
    }


@operation("POST /v1/users/{user_id}/tools/{name}", scopes=("read",), answers={200: "ToolResult"})
def call_tool(
    service: Service,
    call: Call,
    *,
    user_id: UserId,
    name: Annotated[str, Path(description="Name of the tool", json_schema_extra=LIKE_AN_ID)],
    body: ToolCallBody,
) -> ToolResult:
    """Call a tool.

    The answer is a tool message that can be appended as it is. The user comes from the path, never
    from the arguments. Unusable arguments are answered with a tool message that says so, and the
    model can call again. With `session_id`, a search leaves out everything that the session's
    window still holds. `remember` and `forget` also need the scope `write`.
    """
    tool = tool_named(name)
    if tool.writes:
        call.caller.require("write")
    return cast(
        "ToolResult",
        service.tools(
            tool,
            call.user(user_id),
            body.arguments,
            tool_call_id=body.tool_call_id,
            k=body.k,
            session=body.session_id,
            identify=body.identify,
        ),
    )
