"""The use cases that start exports, give addresses of their files, and remove exports that may
contain data which was removed later.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Blobs
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.model_calls.kept import calls_of
from palimpsest.scope import Scope, UserScope
from palimpsest.transfer.payloads import ExportPayload

LINK_SECONDS = 3_600
FILES = "files"
"""The field in the result of an export that counts its files."""
LOOKED_BACK = 300_000
"""How far back notes of removals are read, in milliseconds. The clocks of the server that writes a
note and of the server that reads it may differ.
"""


@dataclass(frozen=True, slots=True)
class Export:
    """Starts exports, and returns the addresses of their files."""

    jobs: Jobs
    blobs: Blobs
    clock: Clock

    def __call__(self, scope: Scope, *, user: str | None, key: str | None = None) -> str:
        """Start an export of a user (None: of the whole tenant) and return the id of its job. The
        same `key` always gives the same job. Raises `Unavailable`.
        """
        payload, now = ExportPayload(user=user), seconds(self.clock.now())
        if user is not None:
            scope.user(user)
        job = on_tenant(
            scope,
            kind="export",
            user=user,
            key=key or secrets.token_hex(16),
            payload=payload,
            now=now,
        )
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)
        return job.id

    def files(self, job: Job) -> list[str]:
        """Return an address for each file of a finished export. The files in this order are the
        whole export. Each address works for an hour. The list is empty after seven days, or once
        data that the export may contain was removed.
        """
        where = written(self.blobs, job)
        return (
            []
            if where is None
            else [self.blobs.link(key, seconds=LINK_SECONDS) for key in self.blobs.keys(where)]
        )

    def text(self, job: Job) -> str:
        """Return the lines of an export; empty if its files are gone. Raises `Unavailable`."""
        where = written(self.blobs, job)
        return b"".join(
            self.blobs.get(key) or b"" for key in (self.blobs.keys(where) if where else ())
        ).decode()


def written(blobs: Blobs, job: Job) -> str | None:
    """Return the common prefix of the keys of an export's files. In the order of their keys, the
    files are the whole export. None if the export is not done or one of its files is gone.
    """
    keys = list(blobs.keys(folder(job))) if job.kind == "export" and job.state == "done" else []
    if not keys:
        return None
    run, dash, _ = keys[-1].rpartition("/")[2].partition("-")
    where = f"{folder(job)}{run}-" if dash else folder(job)
    count = sum(key.startswith(where) for key in keys)
    return where if count == job.result.get(FILES, count) else None


def folder(job: Job, *, run: int | None = None) -> str:
    """Return the prefix of the keys of an export's files. With `run`, it covers only the files of
    that run.
    """
    whole = f"{folder_of(Scope(job.tenant), job.user)}{job.root}/"
    return whole if run is None else f"{whole}{run}-"


def folder_of(scope: Scope, user: str | None) -> str:
    """Return the prefix of the keys of a user's exports or, if `user` is None, of the exports of
    the whole tenant.
    """
    return (
        f"exports/{scope.tenant}/tenant/"
        if user is None
        else f"exports/{scope.tenant}/user/{user}/"
    )


def uploaded(scope: Scope, user: str | None) -> str:
    """Return the prefix of the keys of all parts that were uploaded for a user's imports or, if
    `user` is None, for imports of the whole tenant.
    """
    return (
        f"imports/{scope.tenant}/tenant/"
        if user is None
        else f"imports/{scope.tenant}/user/{user}/"
    )


def sent(scope: UserScope) -> str:
    """Return the prefix of the keys of imports for a user that came as one text in a call. In each
    key, the user's epoch follows this prefix.
    """
    return f"imports/{scope.tenant}/text/{scope.user}/"


@dataclass(frozen=True, slots=True)
class RemoveExports:
    """Removes all exports that may contain removed data of a user: every export of that user, and
    every export of the whole tenant. Also removes the user's kept model calls, whose prompts may
    contain it.

    A running export may have read the data before its removal and write it later. Therefore each
    removal writes a note before it lists the files, and each export looks for notes after it has
    written (`Notes`). Whichever comes first, one of them finds the other.
    """

    blobs: Blobs
    clock: Clock

    def __call__(self, scope: UserScope) -> int:
        """Remove the exports that may contain data of this user, and return how many. The data must
        already be removed, so that no read returns it. Safe to repeat; the count may then be lower.
        Raises `Unavailable`.
        """
        at = milliseconds(self.clock.now())
        self.blobs.put(f"{_notes(scope.owner)}{at:015d}-{_name(scope)}-{secrets.token_hex(8)}", b"")
        folders = [folder_of(scope.owner, scope.user), folder_of(scope.owner, None)]
        keys = [key for where in folders for key in self.blobs.keys(where)]
        calls = list(self.blobs.keys(calls_of(scope)))
        if keys or calls:
            self.blobs.remove([*keys, *calls])
        return len({key.rpartition("/")[0] for key in keys})


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of a tenant's latest removals that existed when a step of an export began."""

    blobs: Blobs
    scope: Scope
    since: int
    known: frozenset[str]

    @classmethod
    def read(cls, blobs: Blobs, scope: Scope, clock: Clock) -> Notes:
        since = max(0, milliseconds(clock.now()) - LOOKED_BACK)
        return cls(blobs, scope, since, _noted(blobs, scope, since))

    def has_more(self, users: Collection[str]) -> bool:
        """Return whether data of these users was removed since the notes were read. Raises
        `Unavailable`.
        """
        names = {_name(self.scope.user(user)) for user in users}
        more = _noted(self.blobs, self.scope, self.since) - self.known
        return any(note.split("-")[-2] in names for note in more)


def removed_lately(blobs: Blobs, clock: Clock, user: UserScope) -> bool:
    """Return whether data of the user was removed in the last minutes. Raises `Unavailable`."""
    since = max(0, milliseconds(clock.now()) - LOOKED_BACK)
    return Notes(blobs, user.owner, since, frozenset()).has_more([user.user])


def _noted(blobs: Blobs, scope: Scope, since: int) -> frozenset[str]:
    return frozenset(blobs.keys(_notes(scope), first=f"{since:015d}"))


def _notes(scope: Scope) -> str:
    return f"exports/{scope.tenant}/removals/"


def _name(scope: UserScope) -> str:
    """Return the name of a user in a note. It is a hash that does not reveal the user."""
    return hashlib.sha256(scope.partition.encode()).hexdigest()[:32]


def forget_sent(blobs: Blobs, scope: UserScope, epoch: int) -> None:
    """Remove the uploads for imports of a user from before this epoch."""
    texts = sent(scope)
    keys = [
        key for key in blobs.keys(texts) if int(key.removeprefix(texts).partition("/")[0]) < epoch
    ]
    keys += blobs.keys(uploaded(scope.owner, scope.user))
    if keys:
        blobs.remove(keys)
