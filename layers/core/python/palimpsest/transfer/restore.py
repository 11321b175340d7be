"""Import: store again what an export holds, under the same ids, by a job of many steps; twice is the same as once."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from palimpsest.blobs import Blobs
from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, NotFound, Unprocessable
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.kinds import ImportPayload
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, UserScope
from palimpsest.transfer.files import folder
from palimpsest.transfer.kinds import Kind, by_beginning, units
from palimpsest.transfer.lines import Row, rows


@dataclass(frozen=True, slots=True)
class Import:
    """Begins imports. Nothing is written unless every line can be taken."""

    jobs: Jobs
    blobs: Blobs
    clock: Clock

    def of_text(self, scope: Scope, text: str, *, user: str | None, key: str | None = None) -> str:
        """Begin an import of these lines for a user (None: for those whom the lines name), and return its job's id: the
        same for the same `key`. Raises `Unprocessable` (`invalid_import`) that names the line, `Unavailable`.
        """
        data = text.encode()
        check(io.BytesIO(data), user=user)
        key = key or secrets.token_hex(16)
        job = self._job(scope, user, where := f"imports/{scope.tenant}/{key}/", key=key)
        if self.jobs.get(scope, job.id) is None:
            self.blobs.put(f"{where}000000.jsonl", data)
            self._put(job)
        return job.id

    def of_export(self, scope: Scope, job_id: str, *, user: str | None, key: str | None = None) -> str:
        """Begin an import of what an export of this tenant wrote. Raises `NotFound` (`export_not_found`)."""
        found = self.jobs.get(scope, job_id)
        if found is None or found.kind != "export" or found.state != "done" or found.user != user:
            raise NotFound("There is no such export, or it is not done.", code="export_not_found")
        where = folder(found)
        if next(self.blobs.keys(where), None) is None:
            raise NotFound("The export was removed.", code="export_not_found")
        self._put(job := self._job(scope, user, where, key=key or secrets.token_hex(16)))
        return job.id

    def _put(self, job: Job) -> None:
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)

    def _job(self, scope: Scope, user: str | None, where: str, *, key: str) -> Job:
        payload, now = ImportPayload(source=where), seconds(self.clock.now())
        return on_tenant(scope, kind="import", user=user, key=key, payload=payload, now=now)


def check(file: io.BytesIO, *, user: str | None) -> None:
    """Raise `Unprocessable` (`invalid_import`) unless every line can be taken; a user's import is of one user."""
    users = sum(row["kind"] == "user" for row in rows(file))
    if user is not None and users != 1:
        raise Unprocessable(f"It has {users} users, and must have one.", code="invalid_import")


@dataclass(frozen=True, slots=True)
class ImportPages:
    """Does the job of an import: session after session, record after record, in the order of the file."""

    kinds: Sequence[Kind]
    blobs: Blobs
    steps: UserSteps
    clock: Clock

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat: the counts may then differ. Raises `Unavailable`."""
        job = self.steps.taken_up(notice)
        if job is None:
            self._tidy(notice)
            return
        place, until, user = job.payload_as(ImportPayload), self.steps.deadline, job.user
        for kind, first, unit in units(rows(self._lines(place.source)), by_beginning(self.kinds)):
            if kind is None:
                user = job.user or unit[0].get("user_id", user)
            elif first > place.line and user is not None:
                if self.clock.now() >= until:
                    self.steps.go_on(job, place, result=_counts(place))
                    return
                place = self._restored(kind, Scope(job.tenant).user(user), unit, replace(place, line=first))
        self.steps.end(job, _counts(place))
        self._tidy(notice)

    def _tidy(self, notice: JobNotice) -> None:
        """Remove what was sent, once all of it is stored."""
        job = self.steps.jobs.get(Scope(notice.tenant), notice.job_id)
        root = job and self.steps.jobs.get(Scope(notice.tenant), job.root)
        source = job.payload_as(ImportPayload).source if job else ""
        if root and root.state == "done" and source.startswith("imports/"):
            self.blobs.remove(list(self.blobs.keys(source)))

    def _restored(self, kind: Kind, scope: UserScope, unit: Sequence[Row], place: ImportPayload) -> ImportPayload:
        outcome = until_committed(lambda: kind.restore(scope, iter(unit)), clock=self.clock)
        return replace(place, **{outcome: getattr(place, outcome) + 1})

    def _lines(self, source: str) -> Iterator[bytes]:
        for key in self.blobs.keys(source):
            yield from io.BytesIO(self.blobs.get(key) or b"")


def _counts(place: ImportPayload) -> dict[str, int]:
    return {"restored": place.restored, "there": place.there, "conflicts": place.conflicts}
