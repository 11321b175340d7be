"""What a recall is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.memory.filters import Filter, MemoryType
from palimpsest.memory.records import Record, Source
from palimpsest.models.ports import Usage
from palimpsest.recall.ranking import Candidate

DEFAULT_K = 5


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """`as_of` asks for what held at a moment, `known_at` for what had been recorded by then (epoch milliseconds). `k`
    is how many memories may be returned, `max_tokens` how much they may weigh together.
    """

    query: str
    k: int = DEFAULT_K
    max_tokens: int | None = None
    filter: Filter = field(default_factory=Filter)
    as_of: int | None = None
    known_at: int | None = None
    answer: bool = False
    explain: bool = False

    @property
    def looks_back(self) -> bool:
        return self.as_of is not None or self.known_at is not None


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A record or a message that was found, as the tables have it, with its `candidate` for ranking.

    `id` is the record's or the message's own; `valid_from` is in epoch milliseconds; `speaker` is the role of a
    message, None for a record. `outdated_by` is the id of the current record of a topic of which this message says an
    earlier value.
    """

    id: str
    type: MemoryType
    content: str
    source: Source
    valid_from: int
    candidate: Candidate
    record: Record | None = None
    speaker: str | None = None
    score: float = 0.0

    @property
    def found_by(self) -> tuple[str, ...]:
        return tuple(sorted(self.candidate.scores))

    @property
    def outdated_by(self) -> str | None:
        return self.candidate.outdated_by


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories, best first, and, if it was asked for, an answer that rests on them ("" if they hold none).

    `citations` are ids of memories. `method` says how the answer was made: `model`, or `quoted` where it consists of
    the memories' own words. `degraded` names what could not take part: `vector`, `search`, `reranker`, `answer`.
    """

    memories: tuple[FoundMemory, ...]
    degraded: tuple[str, ...] = ()
    answer: str | None = None
    citations: tuple[str, ...] = ()
    method: str | None = None
    usage: Usage = field(default_factory=Usage)
    trace: Mapping[str, Any] | None = None
