"""The job: work that may outlast a call. It holds ids and counts, never text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from palimpsest.errors import DamagedJob, NewerJob
from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.payloads import NOTHING, NewerPayload, Payload, as_stored
from palimpsest.scope import Scope, UserScope

P = TypeVar("P", bound=Payload)

JobState = Literal["pending", "running", "done", "failed"]

RETENTION_SECONDS = 30 * 24 * 3600

OVERDUE_SECONDS = 4 * 540 + 120
"""A job that has not ended after this long is stuck. A worker tries it up to four times, and its
message is hidden for 540 s each time, and two minutes are added for delays.
"""

UNHEARD_SECONDS = 60
"""A job that is still pending after this long may have lost its stream record or queue message, so
the message is sent again. It may also wait in a long queue, so the next messages are sent each time
that the job's age has doubled.
"""

LEASE_SECONDS = 100
"""A worker that has not ended its job after this long is gone, because its function may run for 90
s. The sweep, which runs once a minute, then sends the job's message again.
"""

NEWER_SECONDS = 300
"""How often the sweep looks at a job that only a newer release can do. That release's own sweep
sends the job's message, as long as the job is stored.
"""

MOST_LOST = 3
"""How often the sweep sends a job's message again because its worker is gone. After that, a job
whose workers all stop waits until it is overdue.
"""

ERASED, STUCK = "erased", "stuck"
"""Error codes of jobs. `ERASED` means that the user was erased in the meantime. `STUCK` means that
no worker did the job for too long.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job on the messages `first` through `last` of a session (sequence numbers), or on all of a
    user's memory. In the second case `session` is "" and both numbers are 0. Times are epoch
    seconds.

    `payload` holds the other data of its kind. `user` is the user whose data the job works on. A
    job on a user's memory also has the epoch in which it began. `due_at` is when the sweep looks at
    the job. It is None once nothing is left to do. `error` is a code, never a text.

    Work that is too long for one step is a chain of jobs. The first job was requested. Each later
    job does one step and has the first one as its `parent`. `step` counts the steps that walk
    through a list. A job with `parts` can only be done once all parts are in `stored`. In a
    redaction's job, the parts name the memories that it removed.

    `trace` is the `traceparent` of the work that made the job, if that was traced.

    `usage` is the usage of the job's model calls. `spent` is the usage of calls without a result
    (`models.catalogue.priced`). `lost` counts the workers that began the job and had stopped before
    the sweep looked. `tries` counts the tries at it that failed.
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
    step: int = 0
    payload: Payload = NOTHING
    result: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    spent: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    tries: int = 0
    trace: str = field(default="", compare=False)

    @property
    def has_ended(self) -> bool:
        return self.state in ("done", "failed")

    @property
    def is_newer(self) -> bool:
        """Return whether a newer release made the job, and this one can't do it."""
        return isinstance(self.payload, NewerPayload)

    @property
    def overdue_at(self) -> int:
        """Return when the job counts as stuck unless it has ended (epoch seconds)."""
        return self.created_at + OVERDUE_SECONDS

    def begun(self, *, now: int) -> Job:
        """Return the job as running. The worker that begins it has it for `LEASE_SECONDS`."""
        return replace(self, state="running", due_at=now + LEASE_SECONDS)

    @property
    def is_unheard(self) -> bool:
        """Return whether the job's message is sent again once the job is due. It is sent again if
        no worker has begun the job, if the worker is gone, or if missing parts may be stored by
        now.
        """
        return self.state == "pending" or self.lost < MOST_LOST or bool(self.lacking)

    def looked_at(self, *, now: int) -> Job:
        """Return the job after the sweep has looked at it. The job was due and had not ended."""
        if self.state == "pending":
            age = max(UNHEARD_SECONDS, now - self.created_at)
            return replace(self, due_at=min(self.overdue_at, self.created_at + 2 * age))
        if not self.is_unheard:
            return replace(self, due_at=self.overdue_at)
        return replace(self, due_at=now + LEASE_SECONDS, lost=self.lost + (not self.lacking))

    @property
    def lacking(self) -> frozenset[str]:
        """Return the parts that are not stored yet."""
        return frozenset(self.parts) - self.stored

    @property
    def needed(self) -> tuple[str, ...]:
        """Return the parts that must be stored before this state of the job may be written. If the
        job is done, these are all its parts.
        """
        return self.parts if self.state == "done" and self.error is None else ()

    @property
    def root(self) -> str:
        """Return the id of the requested job. For a step, that is the first job of the chain. For
        any other job, it is the job itself.
        """
        return self.parent or self.id

    def payload_as(self, expected: type[P]) -> P:
        """Return the payload, which has the type `expected`. Raises `NewerJob` if only a newer
        release can read it, and `DamagedJob` if nobody can.
        """
        if self.is_newer:
            raise NewerJob(f"A newer release made this job of kind {self.kind}.")
        if not isinstance(self.payload, expected):
            raise DamagedJob(f"The payload of a job of kind {self.kind} can't be read.")
        return self.payload


def armed(
    *,
    tenant: str,
    user: str | None = None,
    epoch: int = 0,
    kind: JobKind,
    session: str,
    first: int,
    last: int,
    attempt: int = 0,
    version: int = 0,
    parts: tuple[str, ...] = (),
    payload: Payload = NOTHING,
    now: int,
) -> Job:
    """Return a new job on a session of the user. Its id depends on kind, range, attempt and
    version, so the same work requested twice makes one job.

    `version` is the version of the session's head. It is needed if the same range may need the work
    again. For example, a range whose summary was withdrawn is summarized again later, and an import
    restores a session with its sequence numbers.
    """
    return Job(
        id=job_id(tenant, kind, session, first, last, attempt, version),
        tenant=tenant,
        kind=kind,
        session=session,
        first=first,
        last=last,
        attempt=attempt,
        created_at=now,
        due_at=now + UNHEARD_SECONDS,
        user=user,
        epoch=epoch,
        parts=parts,
        payload=payload,
    )


def on_user(
    scope: UserScope, *, kind: JobKind, epoch: int, key: str = "", payload: Payload, now: int
) -> Job:
    """Return a new job on the memory of a user in that epoch. `key` distinguishes jobs of the same
    kind and epoch.
    """
    new_id = job_id(scope.tenant, kind, scope.user, epoch, key)
    return replace(
        _without_range(new_id, scope.owner, kind, now),
        user=scope.user,
        epoch=epoch,
        payload=payload,
    )


def on_tenant(
    scope: Scope,
    *,
    kind: JobKind,
    user: str | None,
    key: str | None = None,
    payload: Payload,
    now: int,
) -> Job:
    """Return a new job on data that the payload names, of one user or, if `user` is None, of the
    whole tenant. Its id depends on `key` or, without a key, on the payload.
    """
    new_id = job_id(scope.tenant, kind, user or "", key or sorted(as_stored(payload).items()))
    return replace(_without_range(new_id, scope, kind, now), user=user, payload=payload)


def _without_range(new_id: str, scope: Scope, kind: JobKind, now: int) -> Job:
    return Job(
        id=new_id,
        tenant=scope.tenant,
        kind=kind,
        session="",
        first=0,
        last=0,
        attempt=0,
        created_at=now,
        due_at=now + UNHEARD_SECONDS,
    )


def job_id(*parts: object) -> str:
    return "job_" + hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:32]
