"""The expiry of records, and the sweep's progress through a user's records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from palimpsest.memory.record import Record


@dataclass(frozen=True, slots=True)
class Walk:
    """The sweep's progress through a user's records. Times are epoch seconds.

    No record expires before `due_at`. From then on each round visits some of the records, in the
    order of their ids. `noted` is the earliest expiry of the records that were written since the
    walk began, because the sweep may have passed them already.
    """

    epoch: int
    due_at: int
    noted: int | None = None
    number: int = 0  # id of the walk, so that no round continues an older walk
    after: str | None = None  # id of the last record that was visited
    earliest: int | None = None  # of the visited records that stay

    def begun(self) -> Walk:
        """Return a new walk from the first record on. It visits every record that was written
        before it.
        """
        return replace(self, noted=None, number=self.number + 1, after=None, earliest=None)

    def gone_on(self, *, after: str | None, earliest: int | None) -> Walk | None:
        """Return the walk after a round that ended at the record `after`. If `after` is None, the
        list has ended and the walk waits for the next expiry. Return None if no record can expire.
        """
        if after is not None:
            return replace(self, after=after, earliest=earliest)
        next_due = first(earliest, self.noted)
        if next_due is None:
            return None
        return replace(self, due_at=next_due, noted=next_due, after=None, earliest=None)


def noting(walk: Walk | None, *, epoch: int, expires_at: int) -> Walk:
    """Return the sweep's walk as it must be after a record that expires at `expires_at` was
    written. If the user had no walk, return a new one.
    """
    if walk is None:
        return Walk(epoch, due_at=expires_at, noted=expires_at)
    noted = expires_at if walk.noted is None else min(walk.noted, expires_at)
    return replace(walk, due_at=min(walk.due_at, expires_at), noted=noted)


def first(*times: int | None) -> int | None:
    """Return the earliest of the times, or None if there is none."""
    return min((time for time in times if time is not None), default=None)


def first_expiry(records: Iterable[Record]) -> int | None:
    """Return the earliest expiry of the records, in epoch seconds, or None if none of them
    expires.
    """
    return first(*(record.expires_at for record in records))


def is_expired(record: Record, *, now: int) -> bool:
    """Return whether the record has expired at `now` (epoch seconds)."""
    return record.expires_at is not None and record.expires_at <= now
