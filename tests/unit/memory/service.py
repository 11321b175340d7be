"""What tests of long-term memory say to the service."""

from __future__ import annotations

from typing import Any

from palimpsest.clock import milliseconds
from palimpsest.memory.decisions import Near, Remembered, is_same
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import Record, Source
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import Statement
from palimpsest.tenants.settings import TenantSettings

from tests.service import SARAH, TENANT, Service


class MemoryService(Service):
    """`near` says which statements of a topic say the same."""

    def __init__(self, *, near: Near = is_same, **more: Any) -> None:
        super().__init__(**more)
        self.remember = Remember(self.memories, self.tenants, self.clock, near)
        self.manage = self.memories_app.manage_memories

    @property
    def now(self) -> int:
        """Epoch milliseconds."""
        return milliseconds(self.time.now())

    def keep_for(self, days: int | None) -> None:
        self.tenants.replace_settings(TENANT, TenantSettings(memory_days=days))

    def say(self, content: str, **more: Any) -> Remembered:
        """A fact about the employer, unless said otherwise."""
        (remembered,) = self.remember(SARAH, [fact(content, **more)])
        return remembered

    def current(self, **where: Any) -> list[str]:
        """What is current, newest first."""
        records, after = self.manage.listed(SARAH, where=MemoryFilter(**where), limit=99)
        assert after is None
        return [record.content for record in records]

    def history(self, record: Record) -> list[tuple[int, str, bool]]:
        """Number, content and whether it is current, of every version, newest first."""
        chain = self.manage.history(SARAH, record.id)
        return [(version.number, version.record.content, version.is_current) for version in chain]


def fact(content: str, **more: Any) -> Statement:
    return Statement(**{"type": "fact", "content": content, "topic": "employer"} | more)


def message(seq: int, session: str = "talk") -> Source:
    return Source(session, (f"m{seq}",), (seq,), f"said in {seq}")
