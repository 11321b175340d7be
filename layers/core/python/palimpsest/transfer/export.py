"""The export of a user's or a whole tenant's data. A job of many steps writes files into the
bucket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from palimpsest.clock import Clock
from palimpsest.conversations.ports import Blobs
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job
from palimpsest.jobs.steps import UserSteps
from palimpsest.memory.ports import Memories
from palimpsest.scope import Scope
from palimpsest.transfer.files import FILES, Notes, folder
from palimpsest.transfer.lines import HEADER, Row, TransferKind, line
from palimpsest.transfer.payloads import ExportPayload

MOST_BYTES = 8_000_000  # of one file, without its last line
MOST_RUNS = 3  # an export that is overtaken again and again would never end
OVERTAKEN = "overtaken"
"""The error code of an export if data was removed during each of its runs."""


@dataclass(frozen=True, slots=True)
class ExportPages:
    """Does the job of an export, user after user, kind after kind, and page after page. Each step
    writes one file.
    """

    kinds: Sequence[TransferKind]
    memories: Memories
    blobs: Blobs
    steps: UserSteps
    clock: Clock

    def __call__(self, notice: JobNotice) -> None:
        """Do one step of the job. Safe to repeat, because it writes the same file. If data that the
        export may contain is removed meanwhile, the export starts again; after three runs it fails
        with `overtaken`. Raises `Unavailable`.
        """
        job = self.steps.take_up(notice)
        if job is None:
            return
        place, until = job.payload_as(ExportPayload), self.steps.deadline
        before, where = (
            Notes.read(self.blobs, Scope(job.tenant), self.clock),
            folder(job, run=place.run),
        )
        data: list[bytes] = []
        users = {place.user}
        size = 0
        try:
            for place, rows in self._pages(job, place):  # noqa: B020 - it goes on from there
                users.add(place.user)
                data += map(line, rows)
                size = sum(map(len, data)) if rows else size
                if size >= MOST_BYTES or self.clock.now() >= until:
                    break
        except CommitLost:
            self._begin_anew(job, place)
            return
        self.blobs.put(f"{where}{job.step:06d}.jsonl", b"".join(data))
        place, files = replace(place, bytes=place.bytes + size), job.step - place.begun + 1
        # A removal either deletes these files, or leaves a note that is newer than the pages
        # (docs/adr/0067).
        is_whole = sum(1 for _ in self.blobs.keys(where)) >= files
        if not is_whole or before.has_more({user for user in users if user is not None}):
            self._begin_anew(job, place)
        elif place.is_over:
            self.steps.end(job, {**_counts(place), FILES: files})
        else:
            self.steps.go_on(job, place, result=_counts(place))

    def _begin_anew(self, job: Job, place: ExportPayload) -> None:
        """Remove the written files and start the export again. The files may contain data that was
        removed meanwhile.
        """
        if keys := list(self.blobs.keys(folder(job))):
            self.blobs.remove(keys)
        begun = ExportPayload(user=job.user, run=place.run + 1, begun=job.step + 1)
        if begun.run < MOST_RUNS:
            self.steps.go_on(job, begun, result=_counts(begun))
        else:
            self.steps.end(job, _counts(begun), error=OVERTAKEN, state="failed")

    def _pages(
        self, job: Job, begun: ExportPayload
    ) -> Iterator[tuple[ExportPayload, Sequence[Row]]]:
        """Yield page after page, each with the place where the next one begins."""
        place = begun
        if not place.lines:
            place = _on(place, [HEADER])
            yield place, [HEADER]
        while place.user is not None or job.user is None:
            if place.user is None or (job.user is None and place.kind == len(self.kinds)):
                place = self._next_user(Scope(job.tenant), place)
                if place.user is None:
                    break
            if place.kind == 0 and place.place is None and not place.is_begun:
                rows: Sequence[Row] = [{"kind": "user", "user_id": place.user}]
                place = replace(_on(place, rows), is_begun=True, users=place.users + 1)
                yield place, rows
            while place.kind < len(self.kinds) and place.user is not None:
                page, after = self.kinds[place.kind].page(
                    Scope(job.tenant).user(place.user), place.place
                )
                rows = list(page)
                place = replace(_on(place, rows), place=after, kind=place.kind + (after is None))
                yield place, rows
            if job.user is not None:
                break
        last = [{"kind": "end", "lines": place.lines + 1}]
        yield replace(_on(place, last), is_over=True), last

    def _next_user(self, scope: Scope, place: ExportPayload) -> ExportPayload:
        page: tuple[str, ...] = ()
        while not page and not place.is_last:
            page, after = self.memories.users(scope.tenant, limit=1, after=place.after)
            place = replace(place, after=after, is_last=after is None)
        return replace(place, user=page[0] if page else None, kind=0, is_begun=False)


def _on(place: ExportPayload, rows: Sequence[Row]) -> ExportPayload:
    """Return the place after these rows, with the rows counted."""
    count = Counter(row["kind"] for row in rows)
    return replace(
        place,
        lines=place.lines + len(rows),
        sessions=place.sessions + count["session"],
        messages=place.messages + count["message"],
        records=place.records + count["record"],
    )


def _counts(place: ExportPayload) -> dict[str, int]:
    names = ("users", "sessions", "messages", "records", "lines", "bytes")
    return {name: getattr(place, name) for name in names}
