"""Secrets that others keep."""

from __future__ import annotations

from typing import Protocol


class Secret(Protocol):
    def value(self) -> str | None:
        """The secret as it is now (it may be some minutes old), None where there is none. Raises `Unavailable`."""
