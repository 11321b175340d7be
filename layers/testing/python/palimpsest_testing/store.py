"""Fixtures for tests of the contract."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.conversations.ports import Sessions
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Expiries, Memories


@dataclass(frozen=True, slots=True)
class Store:
    engine: str
    sessions: Sessions
    jobs: Jobs


@dataclass(frozen=True, slots=True)
class MemoryStore:
    engine: str
    memories: Memories
    jobs: Jobs
    expiries: Expiries
