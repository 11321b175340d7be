"""Long-term memory within one process, whose time moves only when a test says so."""

from __future__ import annotations

from typing import Any

from palimpsest.clock import Clock, FakeClock, milliseconds
from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.state import Faults, State
from palimpsest.engines.in_memory.tenants import InMemoryTenants
from palimpsest.memory.filters import Filter
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.records import Record, Source
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import Near, Remembered, Statement, is_same
from palimpsest.scope import Scope
from palimpsest.tenants.ports import TenantSettings

TENANT = Scope("acme")
SARAH = TENANT.user("sarah")
DAY = 24 * 3600


class MemoryWorld:
    """The use cases over in-memory adapters. `faults` is told of every write and may raise there."""

    def __init__(self, *, faults: Faults | None = None, clock: Clock | None = None, near: Near = is_same) -> None:
        self.time = FakeClock()
        clock = clock or self.time
        self.memories = InMemoryMemories(State() if faults is None else State(faults=faults))
        self.tenants = InMemoryTenants()
        self.remember = Remember(self.memories, self.tenants, clock, near)
        self.manage = ManageMemories(self.memories, self.tenants, clock)

    @property
    def now(self) -> int:
        """Epoch milliseconds."""
        return milliseconds(self.time.now())

    def keep_for(self, days: int | None) -> None:
        self.tenants.replace_settings(TENANT, TenantSettings(memory_days=days))

    def say(self, content: str, **more: Any) -> Remembered:
        """A fact about the employer, unless said otherwise."""
        (one,) = self.remember(SARAH, [fact(content, **more)])
        return one

    def current(self, **where: Any) -> list[str]:
        """What is current, newest first."""
        records, after = self.manage.listed(SARAH, where=Filter(**where), limit=99)
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
