"""The payloads of jobs on sessions and their messages, which extend the range of messages that each
job has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.jobs.payloads import Digest, Id, Payload, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPayload(Payload):
    """The number of messages that leave the window, and their tokens."""

    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPayload(Payload):
    """With `forgets`, the memories that came only from the session, or only from the messages that
    are taken back, are removed too. Withdrawing messages always removes such memories. `at` is the
    time when the session was deleted (epoch milliseconds), even if the job runs much later. If it
    is None, the session was deleted when the job was created.
    """

    forgets: bool = False
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainPayload(Payload):
    """The change of retention that a job applies, and the job's progress. `sessions` and `memories`
    count the changed expiries.

    `after` is the next place in the list of sessions or users. Users on that page before `user` are
    done. `page` is the next place in the list of that user's records.
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
    """The name of an upload. No other upload has this name."""

    upload: Digest
