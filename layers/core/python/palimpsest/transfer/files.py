"""Begin exports, and find the files that they wrote."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

from palimpsest.clock import Clock, seconds
from palimpsest.conversations.ports import Blobs
from palimpsest.errors import CommitLost
from palimpsest.jobs import Job, on_tenant
from palimpsest.jobs.kinds import ExportPayload
from palimpsest.jobs.ports import Jobs
from palimpsest.scope import Scope, UserScope

LINK_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Export:
    """Begins exports, and gives the addresses of what they wrote."""

    jobs: Jobs
    blobs: Blobs
    clock: Clock

    def __call__(self, scope: Scope, *, user: str | None, key: str | None = None) -> str:
        """Begin an export of a user (None: of the whole tenant), and return its job's id: the same for the same `key`.
        Raises `Unavailable`.
        """
        payload, now = ExportPayload(user=user), seconds(self.clock.now())
        if user is not None:
            scope.user(user)
        job = on_tenant(scope, kind="export", user=user, key=key or secrets.token_hex(16), payload=payload, now=now)
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id

    def files(self, job: Job) -> list[str]:
        """An address for each file of an export that is done: one after the other they are the whole. Each works for
        an hour; there are none any more after seven days, or once the user was erased.
        """
        if job.kind != "export" or job.state != "done":
            return []
        return [self.blobs.link(key, seconds=LINK_SECONDS) for key in self.blobs.keys(folder(job))]

    def text(self, job: Job) -> str:
        """The lines that an export wrote. Raises `Unavailable`."""
        return b"".join(self.blobs.get(key) or b"" for key in self.blobs.keys(folder(job))).decode()


def folder(job: Job) -> str:
    """What the keys of an export's files begin with."""
    return f"{folder_of(Scope(job.tenant), job.user)}{job.root}/"


def folder_of(scope: Scope, user: str | None) -> str:
    """What the keys of all exports of a user begin with; None: of the whole tenant."""
    return f"exports/{scope.tenant}/tenant/" if user is None else f"exports/{scope.tenant}/user/{user}/"


def uploaded(scope: Scope, user: str | None) -> str:
    """What the keys of all parts begin with that were sent to be imported for a user; None: for the whole tenant."""
    return f"imports/{scope.tenant}/tenant/" if user is None else f"imports/{scope.tenant}/user/{user}/"


def sent(scope: UserScope) -> str:
    """What the keys of all texts begin with that were sent at once to be imported for a user; the epoch follows."""
    return f"imports/{scope.tenant}/text/{scope.user}/"


def forget_exports(blobs: Blobs, scope: UserScope, epoch: int) -> None:
    """Remove every export of a user, and what was sent to be imported before this epoch began."""
    texts = sent(scope)
    keys = [key for key in blobs.keys(texts) if int(key.removeprefix(texts).partition("/")[0]) < epoch]
    for where in (folder_of(scope.owner, scope.user), uploaded(scope.owner, scope.user)):
        keys += blobs.keys(where)
    if keys:
        blobs.remove(keys)
