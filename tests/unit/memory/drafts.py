"""Records as statements make them."""

from __future__ import annotations

from typing import Any

from palimpsest.memory.record import Record
from palimpsest.memory.statements import DAY, Statement, drafted

NOW = 1_000_000
YEAR = 365 * DAY


def draft(
    content: str, *, at: int | None = 10, topic: str | None = "home", now: int = NOW, **more: Any
) -> Record:
    statement = Statement(
        **{"type": "fact", "content": content, "topic": topic, "valid_from": at} | more
    )
    return drafted(statement, tenant="acme", user="sarah", now=now, lifetime=None)
