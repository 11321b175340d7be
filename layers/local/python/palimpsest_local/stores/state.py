"""The state that the stores of one machine share: its records, one lock, and the point where tests
inject a crash.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from palimpsest.conversations.session import Head, Settings
from palimpsest.engines.places import job_partition
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.events import Changed
from palimpsest.jobs.job import Job
from palimpsest.payloads import decoded, encoded
from palimpsest.usage import Row, Tally

from palimpsest_local.stores.kinds import (
    CALLS,
    CHANGES,
    COMPACTIONS,
    EPOCHS,
    HEADS,
    JOBS,
    KEYS,
    MESSAGES,
    SETTINGS,
    USAGE,
    USERS,
    NumberedChange,
    Pair,
)
from palimpsest_local.stores.shelves import NO_END, Dicts, Series, Shelf, Shelves

T = TypeVar("T")

Faults = Callable[[str], None]
"""Called with `before commit`, `after commit` and so on around each write. If it raises an error,
the write fails with that error at this point.
"""


def _no_faults(_step: str) -> None:
    return


class Partition:
    """All data under one session's id."""

    def __init__(self, shelves: Shelves, tenant: str, session: str) -> None:
        self._session = session
        self._heads = shelves.shelf(HEADS, tenant)
        self._settings = shelves.shelf(SETTINGS, tenant)
        self.messages = shelves.series(MESSAGES, tenant, session)
        self.compactions = shelves.series(COMPACTIONS, tenant, session)
        self.keys = shelves.shelf(KEYS, tenant, session)

    @property
    def head(self) -> Head | None:
        return self._heads.get(self._session)

    @head.setter
    def head(self, head: Head) -> None:
        self._heads[self._session] = head

    @property
    def settings(self) -> Settings | None:
        return self._settings.get(self._session)

    @settings.setter
    def settings(self, settings: Settings | None) -> None:
        if settings is None:
            self._settings.pop(self._session, None)
        else:
            self._settings[self._session] = settings


@dataclass(slots=True)
class State:
    """The records of all stores, the feed of their changes, and one lock for the threads of this
    process.

    `outbox` holds every job that this process stored. On AWS a stream carries them. `taken` counts
    the requests of each tenant in each second.
    """

    faults: Faults = _no_faults
    shelves: Shelves = field(default_factory=Dicts)
    outbox: list[Job] = field(default_factory=list)
    taken: dict[tuple[str, int], int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def jobs(self) -> Shelf[str, Job]:
        """The jobs by partition."""
        return self.shelves.shelf(JOBS)

    @property
    def epochs(self) -> Shelf[Pair, int]:
        """How often each user was erased, by tenant and id."""
        return self.shelves.shelf(EPOCHS)

    @property
    def users(self) -> Shelf[Pair, bool]:
        """The users that lists show, by tenant and id."""
        return self.shelves.shelf(USERS)

    @property
    def calls(self) -> Shelf[Pair, KeyedCall]:
        """The calls with an idempotency key, by tenant and name."""
        return self.shelves.shelf(CALLS)

    def usage_of(self, tenant: str) -> Shelf[Pair, Row]:
        """Return the rows of a tenant's usage, by day and name."""
        return self.shelves.shelf(USAGE, tenant)

    @property
    def change_log(self) -> Series[NumberedChange]:
        """The changes from which the search index learns, numbered from 1. On AWS a stream carries
        them.
        """
        return self.shelves.series(CHANGES)

    @property
    def changes(self) -> list[Changed]:
        """The changes of the log, oldest first."""
        return [change for _, change in self.change_log.between(0, NO_END)]

    @property
    def last_change(self) -> int:
        """The number of the newest change, or 0 if there is none."""
        newest = self.change_log.between(0, NO_END, newest_first=True, limit=1)
        return newest[0][0] if newest else 0

    def note(self, changes: Sequence[Changed]) -> None:
        """Store changes. The caller holds a transaction."""
        series = self.change_log
        for number, change in enumerate(changes, self.last_change + 1):
            series.put(number, (number, change))

    @property
    def partitions(self) -> dict[Pair, Partition]:
        """The partitions of all sessions that were ever stored, by tenant and id."""
        return {
            (tenant, session): self.partition(tenant, session)
            for (tenant,) in self.shelves.places(HEADS)
            for session in self.shelves.shelf(HEADS, tenant)
        }

    def partition(self, tenant: str, session: str) -> Partition:
        return Partition(self.shelves, tenant, session)

    @contextmanager
    def write(self, step: str) -> Iterator[None]:
        """Do one write. Nobody else reads or writes in the meantime. A crash that a test injects
        comes before or after the write.
        """
        self.faults(f"before {step}")
        with self.lock, self.shelves.turn():
            yield
        self.faults(f"after {step}")

    def reach(self, tally: Tally) -> dict[str, int]:
        """Count a tally, as the reader of the stream does on AWS, and return the added counts."""
        new = {
            "messages": tally.messages,
            "message_tokens": tally.message_tokens,
            "bytes": tally.bytes,
        }
        rows = self.usage_of(tally.tenant)
        place = (tally.day, _digest(tally.user, tally.session, tally.base))
        before = rows.get(place, Row(tally.day, tally.user))
        if before.counts.get("messages", 0) >= tally.messages:
            return {}
        rows[place] = replace(before, counts=new)
        return {name: amount - before.counts.get(name, 0) for name, amount in new.items()}

    def may_move(self, new: Sequence[Job], finished: Job | None, call: KeyedCall | None) -> bool:
        """Return whether a commit's jobs may be written: the new jobs do not exist, the finished
        job may end, and the call is as it was read.
        """
        jobs = self.jobs
        if any(job_partition(job) in jobs for job in new) or not self.may_put(call):
            return False
        return finished is None or self.may_finish(finished)

    def move(self, new: Sequence[Job], finished: Job | None, call: KeyedCall | None) -> None:
        """Apply a commit's changes of jobs and of a call."""
        for job in new:
            self.put_job(job)
        if finished is not None:
            self.finish(finished)
        self.put_call(call)

    def put_job(self, job: Job) -> None:
        """Store a job in the form in which a table would hold it. Raises `DamagedJob`."""
        stored = replace(job, payload=decoded(job.kind, encoded(job.kind, job.payload)))
        self.jobs[job_partition(job)] = stored
        self.outbox.append(stored)

    def may_put(self, call: KeyedCall | None) -> bool:
        """Return whether the stored call has the version that was read. Return True also for a
        commit without a call.
        """
        stored = call and self.calls.get((call.tenant, call.name))
        return call is None or call.version == (stored.version if stored else 0)

    def put_call(self, call: KeyedCall | None) -> None:
        if call is not None:
            made = json.loads(json.dumps(call.made))
            self.calls[call.tenant, call.name] = replace(call, made=made, version=call.version + 1)

    def may_finish(self, job: Job) -> bool:
        """Return whether the stored job exists, has not ended, and lacks no part that it needs."""
        stored = self.jobs.get(job_partition(job))
        return stored is not None and not stored.has_ended and stored.stored.issuperset(job.needed)

    def finish(self, job: Job) -> None:
        """Apply the replacements of `Jobs.finish`."""
        stored = self.jobs[job_partition(job)]
        self.jobs[job_partition(job)] = replace(
            stored,
            state=job.state,
            due_at=job.due_at,
            error=job.error,
            result=dict(job.result),
            usage=dict(job.usage),
        )


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
