"""What callers may ask of a user's memory: to take in a transcript, to recall, to search, to call a tool."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from palimpsest.api.chat import ChatMessage, Id, Timestamp
from palimpsest.api.memory_requests import SAYING_SOMETHING, Filter, instant, says_something
from palimpsest.api.requests import Closed, WaitSeconds
from palimpsest.extraction.ingest import MAX_TRANSCRIPT
from palimpsest.recall.request import DEFAULT_K, EVERY_TYPE, RecallFilter, RecallRequest, ResultType

MAX_QUERY = 2_000  # characters

Query = Annotated[str, Field(max_length=MAX_QUERY, json_schema_extra=SAYING_SOMETHING), AfterValidator(says_something)]
K = Annotated[int, Field(ge=1, le=100, description="The most that is answered")]


class IngestRequest(Closed):
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_TRANSCRIPT)]
    session_id: Annotated[
        Id | None, Field(description="Where it is stored; without it the whole transcript names its session")
    ] = None
    agent_id: Id | None = None
    wait: WaitSeconds = 0


class AnyFilter(Filter):
    """As for memories; messages that were said are a type of their own. Default: all five."""

    types: Annotated[  # type: ignore[assignment] # one type more than memories have
        list[ResultType], Field(max_length=5, default_factory=list)
    ]

    def wanted(self) -> RecallFilter:
        return RecallFilter(
            types=frozenset(self.types) or EVERY_TYPE,
            min_importance=self.min_importance,
            created_after=instant(self.created_after),
            created_before=instant(self.created_before),
            subject=self.subject,
            session=self.session_id,
            agent=self.agent_id,
            metadata=self.metadata,
        )


class RecallBody(Closed):
    query: Query
    k: K = DEFAULT_K
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000, description="Room for the memories, in tokens")] = None
    filter: AnyFilter | None = None
    as_of: Annotated[Timestamp | None, Field(description="What held at this time")] = None
    known_at: Annotated[Timestamp | None, Field(description="What had been recorded by this time")] = None
    answer: Annotated[bool, Field(description="Answer the question from the memories, with citations")] = False
    explain: Annotated[bool, Field(description="Say how the memories were found and ranked")] = False

    def asked(self) -> RecallRequest:
        return RecallRequest(
            query=self.query,
            k=self.k,
            max_tokens=self.max_tokens,
            filter=self.filter.wanted() if self.filter else RecallFilter(),
            as_of=instant(self.as_of),
            known_at=instant(self.known_at),
            answer=self.answer,
            explain=self.explain,
        )


class SearchBody(Closed):
    query: Query
    mode: Annotated[
        Literal["keyword", "vector"], Field(description="By words (BM25) or by meaning (cosine), nothing fused")
    ]
    k: K = DEFAULT_K
    filter: AnyFilter | None = None

    def where(self) -> RecallFilter:
        return self.filter.wanted() if self.filter else RecallFilter()


class ToolCallBody(Closed):
    arguments: Annotated[
        str | dict[str, Any], Field(description="As the model wrote them: JSON text, or the object it stands for")
    ]
    tool_call_id: Annotated[str | None, Field(min_length=1, max_length=256)] = None
    k: Annotated[int | None, Field(ge=1, le=50, description="The most memories that are shown")] = None


class StaticFactBody(Closed):
    content: Annotated[str, Field(min_length=1)]
    agent_id: Annotated[Id | None, Field(description="Only for sessions of this agent")] = None
