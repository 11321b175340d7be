"""The import of an export. A job of many steps stores its things again, under the same ids. A
repeated import changes nothing.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from palimpsest.clock import Clock, milliseconds, seconds
from palimpsest.conversations.ports import Blobs
from palimpsest.errors import (
    CommitLost,
    Conflict,
    FieldError,
    LimitReached,
    NotFound,
    Unprocessable,
)
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import ERASED, Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.users import erased_at
from palimpsest.retry import until_committed
from palimpsest.scope import Scope
from palimpsest.tenants.ports import Tenants
from palimpsest.tenants.settings import SecretsRule
from palimpsest.transfer.checks import rows
from palimpsest.transfer.files import sent, uploaded, written
from palimpsest.transfer.lines import Outcome, Row, TransferKind, by_beginning, units
from palimpsest.transfer.masking import holds_a_secret
from palimpsest.transfer.moved import Moved
from palimpsest.transfer.payloads import ImportPayload


@dataclass(frozen=True, slots=True)
class Import:
    """Starts imports. Nothing is stored unless every line is valid. The uploads for a user are
    removed when the user is erased.
    """

    jobs: Jobs
    blobs: Blobs
    memories: Memories
    clock: Clock
    tenants: Tenants

    def of_text(self, scope: Scope, text: str, *, user: str | None, key: str | None = None) -> str:
        """Start an import of these lines for a user (None: for the users that the lines name) and
        return the id of its job. The same `key` always gives the same job. Raises `Unprocessable`
        (`invalid_import`, which names the line, or `secret_refused` by the tenant's setting),
        `Unavailable`.
        """
        data = text.encode()
        rule = self.tenants.settings(scope).secrets
        check(io.BytesIO(data), user=user, now=self.clock.now(), rule=rule)
        key = key or secrets.token_hex(16)
        epoch = self._epoch(scope, user)
        where = (
            f"imports/{scope.tenant}/{key}/"
            if user is None
            else f"{sent(scope.user(user))}{epoch}/{key}/"
        )
        job = self._job(scope, user, where, key=key, epoch=epoch)
        if self.jobs.get(scope, job.id) is None:
            self.blobs.put(f"{where}000000.jsonl", data)
            self._put(job)
        return job.id

    def of_export(
        self, scope: Scope, job_id: str, *, user: str | None, key: str | None = None
    ) -> str:
        """Start an import of the files of an export of this tenant, and return the id of its job.
        Raises `NotFound` (`export_not_found`).
        """
        export = self.jobs.get(scope, job_id)
        if (
            export is None
            or export.kind != "export"
            or export.state != "done"
            or export.user != user
        ):
            raise NotFound("There is no such export, or it is not done.", code="export_not_found")
        where = written(self.blobs, export)
        if where is None:
            raise NotFound("The export was removed.", code="export_not_found")
        epoch, key = self._epoch(scope, user), key or secrets.token_hex(16)
        self._put(job := self._job(scope, user, where, key=key, epoch=epoch))
        return job.id

    def put_part(self, scope: Scope, upload: str, part: int, text: str, *, user: str | None) -> int:
        """Keep a part of the lines for `of_upload` for a week, and return its bytes. The lines may
        be cut anywhere. A part may be sent again. Another text for the same part raises
        `Unprocessable` (`invalid_import`). Raises `Unavailable`.
        """
        key, data = f"{uploaded(scope, user)}{upload}/{part:06d}.jsonl", text.encode()
        there = self.blobs.get(key)
        if there is None:
            self.blobs.put(key, data)
        elif there != data:
            raise _invalid(
                f"Part {part} was already sent with another text. "
                "Send all parts again under a new upload_id."
            )
        return len(data)

    def of_upload(
        self, scope: Scope, upload: str, *, user: str | None, key: str | None = None
    ) -> str:
        """Start an import of the parts that were sent, and return the id of its job. The job checks
        every line before it stores anything. Raises `Unprocessable` (`invalid_import`) if a part is
        missing.
        """
        where = f"{uploaded(scope, user)}{upload}/"
        job = self._job(
            scope, user, where, key=key or secrets.token_hex(16), epoch=self._epoch(scope, user)
        )
        if self.jobs.get(scope, job.id) is None:
            there = [int(name.removeprefix(where)[:6]) for name in self.blobs.keys(where)]
            missing = next((number for number in range(len(there) + 1) if number not in there), 0)
            if missing < max(there, default=0) or not there:
                raise _invalid(f"Part {missing} was not sent.")
            self._put(job)
        return job.id

    def _put(self, job: Job) -> None:
        with suppress(CommitLost):  # the same call was made before
            self.jobs.put(job)

    def _epoch(self, scope: Scope, user: str | None) -> int:
        """Return the epoch of the user that the import is for; 0 for an import of a whole
        tenant.
        """
        return 0 if user is None else self.memories.user(scope.user(user)).epoch

    def _job(self, scope: Scope, user: str | None, where: str, *, key: str, epoch: int) -> Job:
        now = self.clock.now()
        payload = ImportPayload(source=where, at=milliseconds(now))
        job = on_tenant(scope, kind="import", user=user, key=key, payload=payload, now=seconds(now))
        return replace(job, epoch=epoch)


def check(lines: Iterable[bytes], *, user: str | None, now: datetime, rule: SecretsRule) -> None:
    """Raise `Unprocessable` (`invalid_import`) unless every line is valid. With `user`, the lines
    must name exactly one user. If the tenant's `rule` refuses secrets, a message with a secret
    raises `secret_refused`.
    """
    users = 0
    for number, row in enumerate(rows(lines, now=now), 1):
        users += row["kind"] == "user"
        if rule == "refuse" and holds_a_secret(row):
            raise Unprocessable(
                f"Line {number} of the import holds a secret, which the tenant's settings refuse.",
                code="secret_refused",
                errors=(FieldError(f"line {number}", "holds a secret"),),
            )
    if user is not None and users != 1:
        raise _invalid(f"The import has {users} users, but must have exactly one.")


def _invalid(detail: str) -> Unprocessable:
    return Unprocessable(detail, code="invalid_import", errors=(FieldError("data", detail),))


@dataclass(frozen=True, slots=True)
class ImportPages:
    """Does the job of an import. It stores sessions, records and vectors in the order of the
    file.
    """

    kinds: Sequence[TransferKind]
    blobs: Blobs
    memories: Memories
    steps: UserSteps
    clock: Clock
    tenants: Tenants

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat; the counts may then differ. Raises `Unavailable`.

        If a line is not valid, the job fails with `invalid_import`, or with `secret_refused` by the
        tenant's setting. Its result names the `line`, and nothing is stored. If the tenant's limits
        leave no room for a thing, the job fails with the limit's code, and the result names the
        thing's first `line`. When the job is started again, it stores the rest. If the user is
        erased meanwhile, the job fails with `erased`. An import of several users skips users who
        were erased since it was started.
        """
        job = self.steps.take_up(notice)
        if job is None:
            self._tidy(notice)
            return
        place, until, user = job.payload_as(ImportPayload), self.steps.deadline, job.user
        moved: Moved | None = None
        # All lines are checked before the first one is stored.
        if self._is_erased(job, place) or (job.step == 0 and not self._is_sound(job, place.source)):
            return
        for kind, first, unit in units(
            rows(self._lines(place.source), now=self.clock.now()), by_beginning(self.kinds)
        ):
            if kind is None:
                user = job.user or unit[0].get("user_id", user)
                moved = self._moved(unit[0], job, place.source) or moved
            elif first > place.line and user is not None:
                if self.clock.now() >= until:
                    self.steps.go_on(job, place, result=_counts(place))
                    return
                try:
                    its = [moved.row(row) for row in unit] if moved else unit
                    place = self._restored(kind, job, user, its, replace(place, line=first))
                except (LimitReached, Conflict) as error:
                    self.steps.end(
                        job, {**_counts(place), "line": first}, error=error.code, state="failed"
                    )
                    return
        self.steps.end(job, _counts(place))
        self._tidy(notice)

    def _moved(self, row: Row, job: Job, source: str) -> Moved | None:
        """Return what changes because the import is for another user than this row names."""
        if row["kind"] != "user" or job.user in (None, row["user_id"]):
            return None
        return Moved.of(self._lines(source), was=row["user_id"], now=job.user or "")

    def _is_erased(self, job: Job, place: ImportPayload) -> bool:
        """Return whether the user that the import is for was erased since it was started. The job
        then fails.
        """
        if (
            job.user is None
            or self.memories.user(Scope(job.tenant).user(job.user)).epoch == job.epoch
        ):
            return False
        self.steps.end(job, _counts(place), error=ERASED, state="failed")
        self._remove(place.source)
        return True

    def _is_sound(self, job: Job, source: str) -> bool:
        """Return whether every line is valid. If not, the job fails, and its upload is removed."""
        try:
            rule = self.tenants.settings(Scope(job.tenant)).secrets
            check(self._lines(source), user=job.user, now=self.clock.now(), rule=rule)
        except Unprocessable as error:
            place = error.errors[0].field.rpartition(" ")[2]
            result = {"line": int(place)} if place.isdigit() else {}
            self.steps.end(job, result, error=error.code, state="failed")
            self._remove(source)
            return False
        return True

    def _tidy(self, notice: JobNotice) -> None:
        """Remove the upload once everything in it is stored."""
        job = self.steps.jobs.get(Scope(notice.tenant), notice.job_id)
        root = job and self.steps.jobs.get(Scope(notice.tenant), job.root)
        source = job.payload_as(ImportPayload).source if job else ""
        if root and root.state == "done":
            self._remove(source)

    def _remove(self, source: str) -> None:
        # The source may be an export, which stays.
        if source.startswith("imports/"):
            self.blobs.remove(list(self.blobs.keys(source)))

    def _restored(
        self, kind: TransferKind, job: Job, user: str, unit: Sequence[Row], place: ImportPayload
    ) -> ImportPayload:
        scope = Scope(job.tenant).user(user)

        def attempt() -> Outcome | Literal["erased"]:
            epoch = self.memories.user(scope).epoch if job.user is None else job.epoch
            erased = erased_at(self.steps.jobs, scope, epoch=epoch) if job.user is None else None
            if place.at is not None and erased is not None and place.at < erased:
                return "erased"
            return kind.restore(scope, iter(unit), epoch)

        outcome = until_committed(attempt, clock=self.clock)
        return replace(place, **{outcome: getattr(place, outcome) + 1})

    def _lines(self, source: str) -> Iterator[bytes]:
        rest = b""
        for key in self.blobs.keys(source):
            *lines, rest = (rest + (self.blobs.get(key) or b"")).split(b"\n")
            yield from lines
        if rest:
            yield rest


def _counts(place: ImportPayload) -> dict[str, int]:
    counts = {"restored": place.restored, "there": place.there, "conflicts": place.conflicts}
    some = {"erased": place.erased, "expired": place.expired, "deleted": place.deleted}
    return counts | {name: count for name, count in some.items() if count}
