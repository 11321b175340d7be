"""How moments are written: whole seconds where they are compared, RFC 3339 where they are shown."""

from __future__ import annotations

from datetime import datetime


def seconds(now: datetime) -> int:
    """Epoch seconds."""
    return int(now.timestamp())


def stamp(now: datetime) -> str:
    """RFC 3339 in UTC, milliseconds."""
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(now: datetime) -> int:
    """Epoch milliseconds."""
    return int(now.timestamp() * 1000)
