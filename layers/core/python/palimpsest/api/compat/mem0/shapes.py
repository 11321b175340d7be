"""The bodies and answers of the operations of mem0's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from palimpsest.api.answers import HiddenSources
from palimpsest.api.resources.recall import MAX_QUERY

Filters = Annotated[
    dict[str, Any],
    Field(
        description="Conditions on `user_id`, `agent_id`, `run_id`, `created_at`, "
        "`updated_at`, `categories`, `keywords`, `memory_ids` and metadata, "
        "joined by `AND`, `OR`, `NOT`; 422 for a condition that can't be tested"
        " here"
    ),
]


class Open(BaseModel):
    """A body that may have more fields than are read."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Mem0Add(Open):
    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1_000)]
    user_id: str | None = None
    agent_id: str | None = None
    run_id: Annotated[str | None, Field(description="The session that the messages belong to")] = (
        None
    )
    app_id: str | None = None
    metadata: dict[str, Any] | None = None
    filters: Annotated[
        dict[str, Any],
        Field(
            description="`user_id`, `agent_id`, `run_id`, if not at the top", default_factory=dict
        ),
    ]
    infer: Annotated[
        bool, Field(description="Extract memories; false: each message becomes a memory unchanged")
    ] = True


class Mem0Query(Open):
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    app_id: str | None = None
    filters: Filters | None = None
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Only memories with these values")
    ] = None
    categories: Annotated[list[str] | None, Field(description="Only these types")] = None
    limit: Annotated[int | None, Field(ge=1, le=100)] = None
    top_k: Annotated[int | None, Field(ge=1, le=100)] = None
    threshold: float | None = None


class Mem0List(Open):
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    app_id: str | None = None
    filters: Filters
    categories: Annotated[list[str] | None, Field(description="Only these types")] = None
    start_date: Annotated[
        str | None, Field(description="Only memories saved at this time or later")
    ] = None
    end_date: Annotated[
        str | None,
        Field(description="Only memories saved at this time, or on this day, or earlier"),
    ] = None


class Mem0Update(Open):
    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra={"minProperties": 1})

    text: str | None = None
    metadata: dict[str, Any] | None = None


class Mem0Memory(TypedDict):
    id: str
    memory: str
    user_id: str
    agent_id: NotRequired[str | None]
    actor_id: NotRequired[Annotated[str, Field(description="Who said it, if not the user")]]
    metadata: Mapping[str, Any]
    categories: list[str]
    created_at: str
    updated_at: str
    score: NotRequired[float]
    event: NotRequired[str]


class Mem0Results(TypedDict):
    results: list[Mem0Memory]
    count: NotRequired[int]
    next: NotRequired[str | None]
    previous: NotRequired[str | None]


class Mem0Message(TypedDict):
    """The answer to a deletion. mem0's clients read only `message`."""

    message: str
    hidden: NotRequired[
        Annotated[
            HiddenSources,
            Field(description="For one memory: the words that were hidden in its messages"),
        ]
    ]
    hidden_messages: NotRequired[
        Annotated[
            int, Field(description="For all memories: the number of messages with hidden words")
        ]
    ]


class Mem0Ping(TypedDict):
    """The organisation and the project, without which mem0's client does nothing. Both are the
    tenant.
    """

    status: str
    org_id: str
    project_id: str


class Mem0Change(TypedDict):
    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str
    event: str
    created_at: str
    updated_at: str
