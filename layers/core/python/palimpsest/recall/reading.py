"""What of the things that were found may be shown, as the tables have them now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from palimpsest.clock import milliseconds
from palimpsest.recall.question import Query
from palimpsest.recall.ranking import Channel
from palimpsest.recall.request import RecallRequest, Recollection
from palimpsest.scope import UserScope

PAGE = 100  # keys that one read takes

Given = TypeVar("Given")
Scores = Mapping[Channel, float]


@dataclass(slots=True)
class Read:
    """What is there, and why the rest is not shown, by key."""

    there: list[Recollection] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)

    def join(self, others: Iterable[Read]) -> Read:
        for other in others:
            self.there += other.there
            self.dropped |= other.dropped
        return self


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, and what was found: raw scores by retriever, of each key."""

    scope: UserScope
    query: Query
    request: RecallRequest
    found: Mapping[str, Scores]
    now: datetime

    @property
    def moment(self) -> int:
        """When that must hold which is asked for, in epoch milliseconds."""
        return next(
            (moment for moment in (self.request.as_of, self.request.known_at) if moment is not None),
            milliseconds(self.now),
        )

    def was_created(self, moment: int) -> bool:
        """Whether what was created at that moment passes the filter."""
        wanted = self.request.filter
        after, before = wanted.created_after, wanted.created_before
        return (after is None or moment >= after) and (before is None or moment <= before)

    def is_described(self, metadata: Mapping[str, Any]) -> bool:
        return all(metadata.get(name) == value for name, value in self.request.filter.metadata.items())


def pages(keys: Sequence[Given]) -> Iterator[Sequence[Given]]:
    for start in range(0, len(keys), PAGE):
        yield keys[start : start + PAGE]
