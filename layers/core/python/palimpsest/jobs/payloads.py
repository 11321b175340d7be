"""The data of each kind of job besides its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, StringConstraints

from palimpsest.scope import ID_PATTERN

Id = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Place = Annotated[str, StringConstraints(pattern=r"^\S{1,4096}$")]
"""Where a list continues: a cursor, or an owner's name in a list of owners."""
StoredCondition = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ne|in|gte?|lte?|exists|absent):[0-9a-f]{32}(:([0-9a-f]{32}|[0-9a-f]{16}))*$"
    ),
]
"""A condition of a filter: its operator, digests, and for a range the place of a number
(`memory.filters`).
"""
ModelName = Annotated[str, StringConstraints(pattern=r"^[\w.:/@+ -]{1,200}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The data of a job besides its range: ids, numbers, digests and places, never text. Most kinds
    need nothing.

    A field that a kind does not know makes the payload damaged, so that a job is never half done.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


NOTHING = Payload()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPayload(Payload):
    """How many messages leave the window, and how many tokens they have."""

    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPayload(Payload):
    """`forgets`: the memories that came from the session alone go as well. `at` is when the session
    was deleted (epoch milliseconds), however late the job is done; None: when the job was created.
    """

    forgets: bool = False
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPayload(Payload):
    """How far a job has walked a list: what it has forgotten so far, of how many messages it has
    hidden words, and where the next page begins.
    """

    forgotten: int = 0
    hidden: int = 0
    after: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPayload(ListPayload):
    """The filter of the memories to remove; None and () limit nothing. Times are epoch
    milliseconds. `subject` and `topic` are digests, and each of `metadata` is that of one entry.
    """

    types: tuple[Id, ...] = ()
    min_importance: float | None = None
    max_importance: float | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    session: Id | None = None
    agent: Id | None = None
    subject: Digest | None = None
    topic: Digest | None = None
    metadata: tuple[Digest, ...] = ()
    conditions: tuple[StoredCondition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSessionsPayload(ListPayload):
    """The filter of the sessions to remove; None limits nothing. They have begun until `before`,
    and were not active since `idle_since` (epoch milliseconds).
    """

    user: Id | None = None
    agent: Id | None = None
    status: Literal["active", "ended", "deleted"] | None = None
    idle_since: int | None = None
    keep_memories: bool = False
    before: int


EraseStage = Literal["sessions", "memories", "late_sessions", "over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasePayload(Payload):
    """The store that an erasure has reached, its next place there, and the removed items of each
    store.

    Sessions are looked for twice: their list follows the table a moment later. `at` is when the
    user was erased (epoch milliseconds); None: when the job was created.
    """

    at: int | None = None
    stage: EraseStage = "sessions"
    after: Place | None = None
    sessions: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainPayload(Payload):
    """The change of a tenant's retention that is applied, its progress, and the number of changed
    expiries.

    `after` is the next place in the list of sessions or users. Of the users from there on those
    before `user` are done, and `page` is how far the records of `user` are.
    """

    change: Digest
    stage: Literal["sessions", "memories", "over"] = "sessions"
    after: Place | None = None
    user: Id | None = None
    page: Place | None = None
    sessions: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPayload(Payload):
    """A name that no other upload has."""

    upload: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPayload(Payload):
    """The progress of an export: `after` is the next place in the list of users, `user` the current
    user, with the number of the `kind` and the `place` within it. `run` is how often it was begun
    anew, the last time with the step `begun`.
    """

    user: Id | None = None
    after: Place | None = None
    kind: int = 0
    place: Place | None = None
    is_begun: bool = False
    is_last: bool = False
    is_over: bool = False
    users: int = 0
    sessions: int = 0
    messages: int = 0
    records: int = 0
    lines: int = 0
    bytes: int = 0
    run: int = 0
    begun: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPayload(Payload):
    """What the keys of the files begin with, when the import was begun (epoch milliseconds; None:
    nobody knows), and the last line that is done, with what became of the lines. `erased` counts
    those of users who were erased since, `expired` those whose time is over, `deleted` memories
    that their user has deleted since.
    """

    source: Place
    at: int | None = None
    line: int = 0
    restored: int = 0
    there: int = 0
    conflicts: int = 0
    erased: int = 0
    expired: int = 0
    deleted: int = 0


ReindexPhase = Literal["prepare", "messages", "records", "switch", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexPayload(Payload):
    """How far a reindexing is.

    `after` is the next place in the list of sessions or users. `within` names the current one, and
    `seq` or `page` is its progress. `left_out` counts what no model could make a vector of: its
    words are indexed. `model` is the embedding model that the index is built for; None until the
    first step has been done.
    """

    phase: ReindexPhase = "prepare"
    after: Place | None = None
    within: Place | None = None
    seq: int = 0
    page: Place | None = None
    indexed: int = 0
    left_out: int = 0
    model: ModelName | None = None

    @property
    def is_done(self) -> bool:
        return self.phase == "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPayload(Payload):
    """Stands where a stored payload could not be read: such a job can be looked at and ended, but
    not done.
    """
