"""A user's current records, kept within the process for as long as nothing of the user changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from palimpsest import parallel
from palimpsest.clock import Clock
from palimpsest.context.blocks.cache import Kept
from palimpsest.context.recollection import Ranking
from palimpsest.memory.ports import Memories, User
from palimpsest.memory.records import Record
from palimpsest.scope import UserScope

NEWEST, OLDEST = 400, 100
"""How many records of a user are looked at: those that were made last, and the very first, which say who the user is.
Whoever has more is answered by recall.
"""
POINTERS = 100  # in one read
LAG = timedelta(seconds=2)
"""A list may be late by so much: what was read right after a change is read once more."""
MOST_KEPT = 20_000  # records within a process


@dataclass(frozen=True, slots=True)
class _Known:
    """Records as they were at a version of the user. `is_settled`: no list is late any more."""

    user: User
    ranking: Ranking
    read_at: datetime
    is_settled: bool


class CurrentRecords:
    """Keep one for all sessions; safe to use from many threads."""

    def __init__(self, memories: Memories, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock
        self._kept: Kept[UserScope, _Known] = Kept(most=MOST_KEPT)

    def of(self, scope: UserScope) -> Ranking:
        """What holds of the user: one small read if nothing changed. Raises `Unavailable`."""
        now = self._clock.now()
        user = self._memories.user(scope)
        kept = self._kept.get(scope)
        is_same = kept is not None and kept.user == user
        if kept is not None and is_same and (kept.is_settled or now < kept.read_at + LAG):
            return kept.ranking
        ranking = Ranking(self._read(scope) if user.version else ())
        self._kept.put(scope, _Known(user, ranking, now, is_settled=is_same), weight=1 + len(ranking.records))
        return ranking

    def _read(self, scope: UserScope) -> tuple[Record, ...]:
        newest = self._memories.listed(scope, limit=NEWEST)
        found = {record.id: record for record in newest.records}
        if newest.after is not None:
            oldest = self._memories.listed(scope, limit=OLDEST, newest_first=False)
            found |= {record.id: record for record in oldest.records}
        return self._current(scope, tuple(found.values()))

    def _current(self, scope: UserScope, records: Sequence[Record]) -> tuple[Record, ...]:
        """Without those that another record of their topic has displaced."""
        topics = sorted({record.topic_key for record in records if record.topic_key is not None})
        parts = [topics[start : start + POINTERS] for start in range(0, len(topics), POINTERS)]
        read = parallel.each(lambda part: self._memories.pointers(scope, part), parts)
        current = {pointer.record for pointers in read for pointer in pointers.values()}
        return tuple(record for record in records if record.topic_key is None or record.id in current)
