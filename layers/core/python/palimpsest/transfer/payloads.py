"""The payloads of the jobs that export and import."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.jobs.payloads import Id, Payload, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPayload(Payload):
    """The progress of an export. `after` is the next place in the list of users. `user` is the
    current user, `kind` the index of the current kind, and `place` the place within it. `run` is
    the number of times that the export was started again; `begun` is the step at which the last run
    started.
    """

    user: Id | None = None
    after: Place | None = None
    kind: int = 0
    place: Place | None = None
    is_begun: bool = False
    is_last: bool = False
    is_over: bool = False
    users: int = 0
    sessions: int = 0
    messages: int = 0
    records: int = 0
    lines: int = 0
    bytes: int = 0
    run: int = 0
    begun: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPayload(Payload):
    """The progress of an import. `source` is the prefix of the keys of its files. `at` is the time
    when the import was started (epoch milliseconds; None: unknown). `line` is the last line that is
    done.

    The other fields count the outcomes. `erased` counts things of users who were erased since,
    `expired` things whose retention is over, and `deleted` memories that their user has deleted
    since.
    """

    source: Place
    at: int | None = None
    line: int = 0
    restored: int = 0
    there: int = 0
    conflicts: int = 0
    erased: int = 0
    expired: int = 0
    deleted: int = 0
