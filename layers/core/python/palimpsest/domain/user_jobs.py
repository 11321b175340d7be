"""Jobs on all that there is of a user, or of a tenant: no range of messages, but steps until nothing is left."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from palimpsest.domain.jobs import OVERDUE_SECONDS, Job, JobKind
from palimpsest.domain.scope import Scope, UserScope

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
