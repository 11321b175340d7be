"""The shapes of jobs, and of what is answered while and after one works, for the API's description only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from palimpsest.api.description.documents import Answer, Moment, NextCursor, Window


class SequenceRange(Answer):
    from_: Annotated[int, Field(alias="from")]
    to: int


class Ledger(Answer):
    """What became of the messages of an extraction: received = extracted + skipped + parked."""

    received: int
    extracted: int
    skipped: int
    parked: int
    reasons: Annotated[dict[str, int], Field(description="Why messages were skipped")]
    dropped: Annotated[dict[str, int], Field(description="Findings that did not hold, by reason")]


class Usage(Answer):
    model_calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class ListedJob(Answer):
    id: str
    kind: Literal["summarize", "delete", "withdraw", "extract", "flush", "forget", "forget_sessions", "erase"]
    state: Literal["pending", "running", "done", "failed"]
    user_id: Annotated[str | None, Field(description="Whose memory it is about")]
    session_id: str | None
    range: SequenceRange | None
    attempt: int
    error: Annotated[str | None, Field(description="A code")]
    created_at: Moment


class Reached(Answer):
    state: Literal["pending", "done"]
    count: Annotated[int, Field(description="How much went")]


class Follows(Answer):
    """The index follows the tables by their streams, and answers nothing that they do not have."""

    state: Literal["follows"]


class Expires(Answer):
    """What ends by itself, and when the last of it does."""

    state: Literal["expires"]
    until: Moment


class Receipt(Answer):
    """How far the erasure of a user has come, store by store."""

    sessions: Reached
    memories: Annotated[Reached, Field(description="Counted in items, with what is kept beside the memories")]
    index: Follows
    jobs: Annotated[Expires, Field(description="They hold ids and counts")]
    backups: Expires


class Job(ListedJob):
    result: dict[str, int]
    receipt: Annotated[Receipt | None, Field(description="Of an erasure")] = None
    ledger: Ledger
    records: Annotated[list[str], Field(description="Memories that it gave, or that were said again")]
    usage: Usage


class JobPage(Answer):
    jobs: list[ListedJob]
    next_cursor: NextCursor


class Beside(BaseModel):
    """What stands beside a job, if it was begun by a withdrawal, an extraction or an ingest."""

    window: Window | None = None
    armed: Annotated[bool | None, Field(description="Whether this call began the extraction")] = None
    created: Annotated[bool | None, Field(description="Whether an ingest began the session")] = None
    appended: Annotated[int | None, Field(description="How many messages an ingest stored")] = None


class JobDone(Job, Beside):
    """A job that ended within `wait`."""

    job_id: str


class UserErased(JobDone):
    """An erasure that ended within `wait`."""

    receipt: Receipt


class JobPending(Answer, Beside):
    """The job can be read under Location."""

    job_id: str
    state: Literal["pending", "running"]
    session_id: str | None = None


class NothingExtracted(Answer, Beside):
    """Nothing was ever said that could be extracted."""

    session_id: str
    job_id: None
    state: Literal["done"]
