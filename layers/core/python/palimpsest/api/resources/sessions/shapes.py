"""The bodies and answers of the operations on sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from typing_extensions import TypedDict

from palimpsest.api.answers import Window, window
from palimpsest.api.fields import (
    Closed,
    Json,
    MemoryFields,
    Moment,
    WaitSeconds,
    in_rfc3339,
    rfc3339,
    rfc3339_or_null,
)
from palimpsest.api.pages import NextCursor
from palimpsest.api.resources.chat import Id, Metadata, System
from palimpsest.conversations import manage
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.lifecycle import DAY
from palimpsest.conversations.message import Chat
from palimpsest.conversations.session import CompactionState, LiveSession, Status
from palimpsest.jobs.job import JobState


class SessionSetup(Closed):
    """A configuration of a session. With PUT, fields that are left out return to the tenant's
    defaults.
    """

    user_id: Annotated[
        Id | None,
        Field(
            description="The user of the session, who never changes. PUT begins the session if "
            "it does not exist"
        ),
    ] = None
    agent_id: Annotated[Id | None, Field(description="The agent of the session")] = None
    system: Annotated[
        System | None, Field(description="System message: text, or a system or developer message")
    ] = None
    memory: Annotated[
        MemoryFields | None, Field(description="Fields that override the tenant's defaults")
    ] = None
    metadata: Metadata | None = None
    retention_days: Annotated[
        int | None,
        Field(
            ge=1,
            le=36_500,
            description="Days for which it is kept after its last activity, in place of the "
            "tenant's days; null = for ever",
        ),
    ] = None

    @model_validator(mode="after")
    def _says_it_once(self) -> Self:
        of_memory = (self.memory or {}).get("retention")
        if (
            isinstance(of_memory, Mapping)
            and of_memory.get("conversations")
            and "retention_days" in self.model_fields_set
        ):
            raise ValueError(
                "memory.retention.conversations and retention_days mean the same. Give only "
                "one of them"
            )
        return self

    def wanted(self) -> manage.SessionRequest:
        kept = (self.retention_days or 0) if "retention_days" in self.model_fields_set else None
        return manage.SessionRequest(
            system=self.system, memory=self.memory, metadata=self.metadata, retention=kept
        )


class NewSession(SessionSetup):
    session_id: Annotated[
        Id | None, Field(description="Chosen by the service if it is left out")
    ] = None
    user_id: Id


class SessionChange(SessionSetup):
    """The fields of a session to change. `memory` is merged field by field, `metadata` key by key.
    A null removes a field or key.
    """


AGE = re.compile(r"[1-9]\d{0,3}d|[1-9]\d?y")

LIKE_AN_AGE: JsonDict = {
    "anyOf": [
        {"pattern": f"^({AGE.pattern})$"},
        {"format": "date", "pattern": r"^\d{4}-\d\d-\d\d$"},
        {"format": "date-time"},
    ]
}


def _age_or_time(value: str) -> str:
    if not AGE.fullmatch(value):
        _moment(value)
    return value


def _moment(value: str) -> datetime:
    """Return the moment of a date, or of a time with an offset, as in RFC 3339. A date begins at
    midnight in UTC. Raises `ValueError`.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    try:
        return datetime.fromisoformat(in_rfc3339(value))
    except ValueError as error:
        raise ValueError(
            "must be an age, such as 30d or 2y, or a date or time as in RFC 3339"
        ) from error


def moment_of(older_than: str, *, now: datetime) -> datetime:
    """Return the moment that an age, a date or a time names. An age is counted back from `now`."""
    if not AGE.fullmatch(older_than):
        return _moment(older_than)
    return now - timedelta(days=int(older_than[:-1]) * (365 if older_than.endswith("y") else 1))


class ForgetSessionsRequest(Closed):
    """The sessions to forget. At least one of user, agent, status and age must be given."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    user_id: Annotated[Id | None, Field(description="Only sessions of this user")] = None
    agent_id: Annotated[Id | None, Field(description="Only sessions of this agent")] = None
    status: Annotated[
        Literal["active", "ended"] | None, Field(description="Only sessions in this state")
    ] = None
    older_than: Annotated[
        Annotated[str, AfterValidator(_age_or_time), Field(json_schema_extra=LIKE_AN_AGE)] | None,
        Field(
            description="Only sessions whose last activity was longer ago than this age (`30d`, "
            "`2y`; a year has 365 days), or before this past date or time (RFC 3339)"
        ),
    ] = None
    keep_memories: Annotated[
        bool, Field(description="Keep every memory that was extracted from them")
    ] = False
    dry_run: Annotated[bool, Field(description="Only return which sessions would be deleted")] = (
        False
    )
    wait: WaitSeconds = 0

    @model_validator(mode="after")
    def _limits_something(self) -> ForgetSessionsRequest:
        if (self.user_id, self.agent_id, self.status, self.older_than) == (None,) * 4:
            raise ValueError("must hold at least one limit")
        return self


class EndRequest(Closed):
    wait: WaitSeconds = 0


class Totals(TypedDict):
    messages: int
    tokens: int


class LastExtracted(TypedDict):
    seq: int
    id: Annotated[str | None, Field(description="null: the message was removed since")]


class Session(TypedDict):
    session_id: str
    user_id: str
    agent_id: str | None
    status: Annotated[Status, Field(json_schema_extra={"enum": ["active", "ended"]})]
    system: Annotated[
        str | Json | None,
        Field(description="The text, or the whole message if it is more than text"),
    ]
    memory: Annotated[Json, Field(description="The whole configuration, defaults included")]
    metadata: Mapping[str, Any]
    retention_days: Annotated[
        int | None,
        Field(description="The session's own days, or else the tenant's; null = for ever"),
    ]
    window: Window
    totals: Totals
    compaction: CompactionState
    last_extracted: NotRequired[
        Annotated[
            LastExtracted | None,
            Field(
                description="The last message from which memories were extracted; left out in lists"
            ),
        ]
    ]
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None


class EndedSession(Session):
    """A session, and the job that extracts memories from its last messages. `state` is `done` if
    there is nothing to extract.
    """

    job_id: str | None
    state: JobState


class SessionPage(TypedDict):
    sessions: list[Session]
    next_cursor: NextCursor


def session(shown: LiveSession) -> Session:
    head, settings = shown.head, shown.settings
    return {
        "session_id": shown.id,
        "user_id": head.user,
        "agent_id": head.agent,
        "status": head.status,
        "system": _system(settings.system),
        "memory": parsed(dict(settings.memory)).model_dump(),
        "metadata": settings.metadata,
        "retention_days": None if head.retention is None else head.retention // DAY,
        "window": window(head),
        "totals": {"messages": head.total_messages, "tokens": head.total_tokens},
        "compaction": head.compaction,
        "created_at": settings.created_at,
        "updated_at": rfc3339(head.updated_at),
        "expires_at": rfc3339_or_null(head.expires_at),
    }


def _system(chat: Chat | None) -> Any:
    is_plain = chat is not None and chat["role"] == "system" and set(chat) == {"role", "content"}
    return (
        chat["content"]
        if chat is not None and is_plain and isinstance(chat["content"], str)
        else chat
    )


class ExtractRequest(Closed):
    if_needed: Annotated[
        bool, Field(description="Extract only if at least `max_buffer_turns` turns wait")
    ] = False
    max_buffer_turns: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000,
            description="The least number of waiting turns; default: the session's own number",
        ),
    ] = None
    wait: WaitSeconds = 0
