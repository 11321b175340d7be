"""A job: the one kind of asynchronous work. It holds ids and counts, never text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from palimpsest.scope import Scope, UserScope

JobKind = Literal[
    "summarize", "delete", "withdraw", "extract", "flush", "forget", "forget_sessions", "erase", "reindex"
]
JobState = Literal["pending", "running", "done", "failed"]

RETENTION_SECONDS = 30 * 24 * 3600
OVERDUE_SECONDS = 4 * 540 + 120
"""When a job that has not ended is stuck: its message's receives, each hidden for the queue's visibility, and some."""
MAX_RECEIVES = 4


@dataclass(frozen=True, slots=True)
class Job:
    """Work on sequence numbers `first` through `last` of a session. Times are epoch seconds.

    `due_at` is when the sweep looks at it; None once nothing is left to do. `error` is a code, never a text. `user` is
    whose it is; work on a user's memory also carries the epoch it was begun in. What is left of a job after a step is a
    job whose `parent` is the first one. A job with `parts` can only be done once all of them are marked in `stored`.
    Work on all of a user's memory has no session and no range; what it is limited to is `told`, in ids, numbers and
    digests.
    """

    id: str
    tenant: str
    kind: JobKind
    session: str
    first: int
    last: int
    attempt: int
    created_at: int
    state: JobState = "pending"
    due_at: int | None = None
    error: str | None = None
    user: str | None = None
    epoch: int = 0
    parent: str | None = None
    parts: tuple[str, ...] = ()
    stored: frozenset[str] = frozenset()
    told: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        return self.state in ("done", "failed")

    @property
    def lacking(self) -> frozenset[str]:
        """Parts that are not stored yet."""
        return frozenset(self.parts) - self.stored

    @property
    def needed(self) -> tuple[str, ...]:
        """Parts that must be stored for the job to become what this says: all, if it shall have done its work."""
        return self.parts if self.state == "done" and self.error is None else ()


def armed(
    *,
    tenant: str,
    user: str | None = None,
    kind: JobKind,
    session: str,
    first: int,
    last: int,
    attempt: int = 0,
    version: int = 0,
    now: int,
) -> Job:
    """A new job on a session of the user's. Its id follows from what is to be done, so that arming the same work twice
    makes one job.

    `version` is the head's where a range may come back: a withdrawal opens what was folded, and it is folded again.
    """
    text = "\x1f".join(map(str, (tenant, kind, session, first, last, attempt, version)))
    return Job(
        id="job_" + hashlib.sha256(text.encode()).hexdigest()[:32],
        tenant=tenant,
        kind=kind,
        session=session,
        first=first,
        last=last,
        attempt=attempt,
        created_at=now,
        due_at=now + OVERDUE_SECONDS,
        user=user,
    )


def retry_delay(attempts: int) -> int:
    """Seconds until a failed overflow may be armed again: min(1 h, 1 min x 2^attempts)."""
    return int(min(3600, 60 * 2 ** min(attempts, 10)))


ERASED, STUCK = "erased", "stuck"


def on_user(scope: UserScope, *, kind: JobKind, epoch: int, key: str = "", told: Mapping[str, Any], now: int) -> Job:
    """A new job on what is remembered of a user in that epoch. `key` tells jobs of one kind and epoch apart."""
    return Job(
        id=_id(scope.tenant, kind, scope.user, epoch, key),
        tenant=scope.tenant,
        kind=kind,
        session="",
        first=0,
        last=0,
        attempt=0,
        created_at=now,
        due_at=now + OVERDUE_SECONDS,
        user=scope.user,
        epoch=epoch,
        told=told,
    )


def on_tenant(scope: Scope, *, kind: JobKind, user: str | None, told: Mapping[str, Any], now: int) -> Job:
    """A new job on what `told` says, of one user or of everybody."""
    return Job(
        id=_id(scope.tenant, kind, user or "", sorted(told.items())),
        tenant=scope.tenant,
        kind=kind,
        session="",
        first=0,
        last=0,
        attempt=0,
        created_at=now,
        due_at=now + OVERDUE_SECONDS,
        user=user,
        told=told,
    )


def root_of(job: Job) -> str:
    return job.parent or job.id


def following(job: Job, *, told: Mapping[str, Any], now: int) -> Job:
    """The step after this one; `told` says where it goes on."""
    step = int(job.told.get("step", 0)) + 1
    new_id = _id("step", root_of(job), job.attempt, step)
    return replace(_anew(job, new_id, now=now), parent=root_of(job), told={**told, "step": step})


def again(job: Job, *, now: int) -> Job:
    """The same step as a new job: the old one's message was lost, or it failed."""
    step = int(job.told.get("step", 0))
    attempt = job.attempt + 1
    return replace(_anew(job, _id("again", root_of(job), attempt, step), now=now), attempt=attempt)


def _anew(job: Job, new_id: str, *, now: int) -> Job:
    return replace(job, id=new_id, state="pending", error=None, result={}, created_at=now, due_at=now + OVERDUE_SECONDS)


def _id(*parts: object) -> str:
    return "job_" + hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:32]
