"""Ranks a user's records for a context without a model: by importance, use and age."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial

from palimpsest.context.blocks.ports import Item, StableItems
from palimpsest.context.stable import stable_records
from palimpsest.memory.as_line import is_long_past, quoted_in, unlabelled, when, with_one_date
from palimpsest.memory.record import Record
from palimpsest.recall.found import words_of
from palimpsest.recall.freshness import faded
from palimpsest.text.analyser import content_terms, terms

IMPORTANCE, SHARED, RECENCY = 0.5, 0.3, 0.2
"""The weights of a record's importance, of the words it shares with the message, and of its
recency.
"""

HALF_LIFE = 30 * 24 * 3600 * 1000  # milliseconds until a record counts as half as recent


@dataclass(frozen=True)
class RecordRanking:
    """The records of one user, to be ranked for any message. `changed` are the ids of records that
    rest on a record that has changed. The texts are split into words only once.
    """

    records: tuple[Record, ...]
    earlier: tuple[Record, ...] = ()
    """The records that were superseded."""
    changed: frozenset[str] = frozenset()

    @cached_property
    def _having(self) -> dict[str, list[int]]:
        """For each word, the places of the records that have it."""
        having: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(self.records):
            for word in set(terms(f"{words_of(record)}\n{record.topic_key or ''}")):
                having[word].append(place)
        return dict(having)

    def ranked(self, message: str | None, *, user: str, session: str, now: int) -> tuple[Item, ...]:
        """Return the records that have not expired, best first. Last come tasks of other sessions,
        records that were due long ago, and records that rest on a changed record. Records that
        quote somebody have the name of the speaker. `now` is in epoch milliseconds.
        """
        shared = self._shared(message)
        day = datetime.fromtimestamp(now / 1000, UTC)
        over = {record.id for record in self.records if is_long_past(record, now=day)}
        over |= self.changed
        items = [
            replace(
                _item(record, _score(record, shared[place], now), user, day),
                rests_on_changed=record.id in self.changed,
                is_asked_for=message is None or shared[place] > 0,
            )
            for place, record in enumerate(self.records)
            if record.expires_at is None or record.expires_at * 1000 > now
        ]
        items.sort(
            key=lambda item: (
                item.id in over or _is_others_task(item, session),
                -(item.score or 0),
                item.id,
            )
        )
        return tuple(items)

    def stable(self, *, since: int | None, user: str, now: int) -> StableItems:
        """The records as they were known at `since` (None: now), in an order that no question
        changes. Times are epoch milliseconds.
        """
        found = stable_records(self.records, self.earlier, since=since, now=now)
        day = datetime.fromtimestamp(now / 1000, UTC)
        item = partial(_item, score=None, user=user, now=day)
        return StableItems(
            items=tuple(map(item, found.shown)),
            replaced={name: item(record) for name, record in found.replaced.items()},
            added=tuple(map(item, found.added)),
        )

    def _shared(self, message: str | None) -> list[float]:
        """The share (0 to 1) of the message's words that each record has. A word weighs more if
        fewer records have it. Words that no record has do not count.
        """
        shared = [0.0] * len(self.records)
        asked = [
            found for word in content_terms(message or "") if (found := self._having.get(word))
        ]
        weights = [math.log(1 + len(self.records) / len(found)) for found in asked]
        total = sum(weights)
        for found, weight in zip(asked, weights, strict=True):
            for place in found:
                shared[place] += weight / total
        return shared


def _score(record: Record, shared: float, now: int) -> float:
    recency = faded(max(0, now - record.valid_from), half_life=HALF_LIFE)
    return round(IMPORTANCE * record.importance + SHARED * shared + RECENCY * recency, 4)


def _item(record: Record, score: float | None, user: str, now: datetime) -> Item:
    time = when(record, now=now)
    return Item(
        id=record.id,
        kind=record.type,
        text=with_one_date(unlabelled(record.content, record.speaker), when=time),
        when=time,
        score=score,
        said_at=record.valid_from,
        source=record.source,
        agent=record.agent,
        said_by=record.speaker or "user",
        who=quoted_in(record, user=user),
    )


def _is_others_task(item: Item, session: str) -> bool:
    return item.kind == "task" and item.source.session != session
