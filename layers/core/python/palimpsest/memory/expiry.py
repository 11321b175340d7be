"""When a user's records expire, and how a walk through them in several rounds misses none that is written meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from palimpsest.memory.records import Record


@dataclass(frozen=True, slots=True)
class Walk:
    """What the sweep knows of a user's records. Times are epoch seconds.

    Nothing expires before `due_at`; from then on the records are walked, by id, a part in each round. `noted` is the
    earliest expiry that was written since the walk began: that may lie in a part that is behind it.
    """

    epoch: int
    due_at: int
    noted: int | None = None
    number: int = 0  # counts walks, so that no round goes on with another's
    after: str | None = None  # the record behind which the next round goes on
    earliest: int | None = None  # expiry of what was walked and stays

    def begun(self) -> Walk:
        """From the first record on: whatever was written before is met on the way."""
        return replace(self, noted=None, number=self.number + 1, after=None, earliest=None)

    def gone_on(self, *, after: str | None, earliest: int | None) -> Walk | None:
        """After a part that ends with `after`. At the end (None) it waits for the next expiry, if there is any."""
        if after is not None:
            return replace(self, after=after, earliest=earliest)
        next_due = first(earliest, self.noted)
        if next_due is None:
            return None
        return replace(self, due_at=next_due, noted=next_due, after=None, earliest=None)


def noting(walk: Walk | None, *, epoch: int, expires_at: int) -> Walk:
    """The walk after something that expires then was written."""
    if walk is None:
        return Walk(epoch, due_at=expires_at, noted=expires_at)
    noted = expires_at if walk.noted is None else min(walk.noted, expires_at)
    return replace(walk, due_at=min(walk.due_at, expires_at), noted=noted)


def first(*times: int | None) -> int | None:
    """The earliest of those that are given."""
    return min((time for time in times if time is not None), default=None)


def first_expiry(records: Iterable[Record]) -> int | None:
    return first(*(record.expires_at for record in records))


def is_expired(record: Record, *, now: int) -> bool:
    """`now` in epoch seconds."""
    return record.expires_at is not None and record.expires_at <= now
