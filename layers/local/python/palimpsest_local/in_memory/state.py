"""The state that the in-memory stores share: its records, one lock, and the point where tests
inject a crash.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from palimpsest.conversations.message import Message
from palimpsest.conversations.session import Compaction, Head, IdempotencyKey, Settings
from palimpsest.engines.places import job_partition
from palimpsest.idempotency import KeyedCall
from palimpsest.jobs.events import Changed
from palimpsest.jobs.job import Job
from palimpsest.payloads import decoded, encoded
from palimpsest.usage import Row, Tally

T = TypeVar("T")

Faults = Callable[[str], None]
"""Called with `before commit`, `after commit` and so on around each write. If it raises an error,
the write fails with that error at this point.
"""


def _no_faults(_step: str) -> None:
    return


class Series(Generic[T]):
    """Records by number. A range of them is found without looking at the others."""

    def __init__(self) -> None:
        self._records: dict[int, T] = {}
        self._numbers: list[int] = []

    def __contains__(self, number: int) -> bool:
        return number in self._records

    def get(self, number: int) -> T | None:
        return self._records.get(number)

    def put(self, number: int, record: T) -> None:
        """Store the record. It replaces a record with the same number."""
        if number not in self._records:
            insort(self._numbers, number)
        self._records[number] = record

    def between(
        self, first: int, last: int, *, newest_first: bool = False, limit: int | None = None
    ) -> list[T]:
        numbers = self._numbers[
            bisect_left(self._numbers, first) : bisect_right(self._numbers, last)
        ]
        if newest_first:
            numbers.reverse()
        return [self._records[number] for number in numbers[:limit]]

    def remove_between(self, first: int, last: int, *, limit: int) -> int:
        """Remove the records in the range with the lowest numbers, at most `limit`. Return how many
        were removed.
        """
        start = bisect_left(self._numbers, first)
        end = min(bisect_right(self._numbers, last), start + limit)
        for number in self._numbers[start:end]:
            del self._records[number]
        del self._numbers[start:end]
        return max(0, end - start)


@dataclass(slots=True)
class Partition:
    """All data under one session's id."""

    head: Head | None = None
    settings: Settings | None = None
    messages: Series[Message] = field(default_factory=Series)
    compactions: Series[Compaction] = field(default_factory=Series)
    keys: dict[str, IdempotencyKey] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """Sessions by tenant and id, jobs by partition, and keyed calls by tenant and name.

    `outbox` holds every job that was stored, and `changes` every change of which the search index
    must learn. On AWS the streams carry both. `usage` has rows by tenant, day and name, and `taken`
    how many requests a tenant made in a second. `epochs` has the erased users by tenant and id, and
    `users` has the listed users.
    """

    faults: Faults = _no_faults
    partitions: dict[tuple[str, str], Partition] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    outbox: list[Job] = field(default_factory=list)
    changes: list[Changed] = field(default_factory=list)
    epochs: dict[tuple[str, str], int] = field(default_factory=dict)
    calls: dict[tuple[str, str], KeyedCall] = field(default_factory=dict)
    users: set[tuple[str, str]] = field(default_factory=set)
    usage: dict[tuple[str, str, str], Row] = field(default_factory=dict)
    taken: dict[tuple[str, int], int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def write(self, step: str) -> Iterator[None]:
        """Do one write. Nobody else reads or writes in the meantime. A crash that a test injects
        comes before or after the write.
        """
        self.faults(f"before {step}")
        with self.lock:
            yield
        self.faults(f"after {step}")

    def reach(self, tally: Tally) -> dict[str, int]:
        """Count a tally, as the reader of the stream does on AWS, and return the added counts."""
        new = {
            "messages": tally.messages,
            "message_tokens": tally.message_tokens,
            "bytes": tally.bytes,
        }
        place = (tally.tenant, tally.day, f"{hash((tally.user, tally.session, tally.base)):x}")
        before = self.usage.get(place, Row(tally.day, tally.user))
        if before.counts.get("messages", 0) >= tally.messages:
            return {}
        self.usage[place] = replace(before, counts=new)
        return {name: amount - before.counts.get(name, 0) for name, amount in new.items()}

    def may_move(self, new: Sequence[Job], finished: Job | None, call: KeyedCall | None) -> bool:
        """Return whether a commit's jobs may be written: the new jobs do not exist, the finished
        job may end, and the call is as it was read.
        """
        if any(job_partition(job) in self.jobs for job in new) or not self.may_put(call):
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
        found = call and self.calls.get((call.tenant, call.name))
        return call is None or call.version == (found.version if found else 0)

    def put_call(self, call: KeyedCall | None) -> None:
        if call is not None:
            made = json.loads(json.dumps(call.made))
            self.calls[call.tenant, call.name] = replace(call, made=made, version=call.version + 1)

    def may_finish(self, job: Job) -> bool:
        """Return whether the stored job exists, has not ended, and lacks no part that it needs."""
        found = self.jobs.get(job_partition(job))
        return found is not None and not found.has_ended and found.stored.issuperset(job.needed)

    def finish(self, job: Job) -> None:
        """Apply the replacements of `Jobs.finish`."""
        found = self.jobs[job_partition(job)]
        self.jobs[job_partition(job)] = replace(
            found,
            state=job.state,
            due_at=job.due_at,
            error=job.error,
            result=dict(job.result),
            usage=dict(job.usage),
        )
