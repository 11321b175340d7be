"""Time, so that tests can turn it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The server's time, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
