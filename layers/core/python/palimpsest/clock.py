"""Time: a clock that tests can set, and the formats in which times are stored."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the server's time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


def seconds(now: datetime) -> int:
    """Epoch seconds."""
    return int(now.timestamp())


def stamp(now: datetime) -> str:
    """Return the time in RFC 3339, in UTC and with milliseconds."""
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(now: datetime) -> int:
    """Epoch milliseconds."""
    return (now - EPOCH) // timedelta(milliseconds=1)


EARLIEST, LATEST = (
    milliseconds(datetime.min.replace(tzinfo=UTC)),
    milliseconds(datetime.max.replace(tzinfo=UTC)),
)
"""The first and the last millisecond that can be written as a time."""


def day_of(moment: int) -> str:
    """Return the date of a time in epoch milliseconds, in UTC and in ISO's form."""
    return datetime.fromtimestamp(moment / 1000, UTC).date().isoformat()


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class FakeClock:
    """A `Clock` for tests: `sleep` returns at once and moves its time forward."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
