"""The data of the jobs on sessions and their messages, besides a job's range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.jobs.payloads import Digest, Id, Payload, Place


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
