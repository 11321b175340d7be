"""Ranks a user's records for a context without a model: by importance, use and age."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from palimpsest.context.blocks.ports import Item, StableItems
from palimpsest.context.stable import stable_records
from palimpsest.memory.as_line import is_long_past, quoted_in, unlabelled, when, with_one_date
from palimpsest.memory.ended_on import EndTime
from palimpsest.memory.record import Record
from palimpsest.memory.stated_in import Place
from palimpsest.profile.kinds import SectionKind
from palimpsest.profile.profile import line_of_record
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
    """The records of one user, which can be ranked for any message.

    `changed` are the ids of records that rest on something that has changed. `ended` are records
    that ended without a new value, each with the time of its end. `is_whole` is true if these
    are all records of the user, and `outdated` then returns the messages that say a value which no
    longer holds. The texts are split into words only once.
    """

    records: tuple[Record, ...]
    earlier: tuple[Record, ...] = ()
    """The user's superseded records."""
    changed: frozenset[str] = frozenset()
    ended: tuple[tuple[Record, EndTime], ...] = ()
    is_whole: bool = False
    outdated: Callable[[], frozenset[Place] | None] | None = None

    @property
    def _every(self) -> tuple[Record, ...]:
        return (*self.records, *(record for record, _ in self.ended))

    @cached_property
    def _having(self) -> dict[str, list[int]]:
        """Return, for each word, the indexes of the records that have it."""
        having: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(self._every):
            for word in set(terms(f"{words_of(record)}\n{record.topic_key or ''}")):
                having[word].append(place)
        return dict(having)

    def ranked(self, message: str | None, *, user: str, session: str, now: int) -> tuple[Item, ...]:
        """Return the records that have not expired, the best first. `now` is in epoch milliseconds.

        These records come last: tasks of other sessions, tasks that were due long ago, and records
        that rest on something that has changed. Records that have ended come after all others, and
        only if the message is about them. Records in somebody's own words have the name of the
        speaker.
        """
        shared = self._shared(message)
        day = datetime.fromtimestamp(now / 1000, UTC)
        over = {record.id for record in self.records if is_long_past(record, now=day)}
        over |= self.changed
        ends = {record.id: end for record, end in self.ended}
        items = [
            _item(
                record,
                _score(record, shared[place], now),
                user,
                day,
                end=ends.get(record.id),
                rests_on_changed=record.id in self.changed,
                is_asked_for=message is None or shared[place] > 0,
            )
            for place, record in enumerate(self._every)
            if (record.expires_at is None or record.expires_at * 1000 > now)
            and (record.id not in ends or shared[place] > 0)
        ]
        items.sort(
            key=lambda item: (
                item.ended_at is not None,
                item.id in over or _is_others_task(item, session),
                -(item.score or 0),
                item.id,
            )
        )
        return tuple(items)

    def stable(
        self, *, since: int | None, user: str, now: int, most: int | None = None
    ) -> StableItems:
        """Return the records that were known at `since` (None: now), in an order that no question
        changes. The lines of the profile come first. Then all records follow, because a profile has
        room for only a few. Times are epoch milliseconds. Changes since then may take at most
        `most` tokens.
        """
        records = stable_records(
            self.records, self.earlier, user=user, since=since, now=now, most=most
        )
        day = datetime.fromtimestamp(now / 1000, UTC)

        def item(record: Record) -> Item:
            has_changed = record.id in self.changed
            return _item(record, None, user, day, rests_on_changed=has_changed)

        return StableItems(
            items=(
                *(_of_profile(item(record), kind, record) for kind, record in records.profile),
                *map(item, records.shown),
            ),
            replaced={name: item(record) for name, record in records.replaced.items()},
            added=tuple(map(item, records.added)),
        )

    def _shared(self, message: str | None) -> list[float]:
        """Return the share (0 to 1) of the message's words that each record has. A word that fewer
        records have weighs more. Words that no record has do not count.
        """
        shared = [0.0] * len(self._every)
        bags = [bag for word in content_terms(message or "") if (bag := self._having.get(word))]
        weights = [math.log(1 + len(shared) / len(bag)) for bag in bags]
        total = sum(weights)
        for bag, weight in zip(bags, weights, strict=True):
            for place in bag:
                shared[place] += weight / total
        return shared


def _score(record: Record, shared: float, now: int) -> float:
    recency = faded(max(0, now - record.valid_from), half_life=HALF_LIFE)
    return round(IMPORTANCE * record.importance + SHARED * shared + RECENCY * recency, 4)


def _item(
    record: Record,
    score: float | None,
    user: str,
    now: datetime,
    *,
    end: EndTime | None = None,
    rests_on_changed: bool = False,
    is_asked_for: bool = True,
) -> Item:
    time = when(record, now=now, ended=end.day if end else None)
    return Item(
        id=record.id,
        kind=record.type,
        text=with_one_date(unlabelled(record.content, record.speaker), when=time),
        when=time,
        ended_at=end.at if end else None,
        score=score,
        said_at=record.valid_from,
        source=record.source,
        agent=record.agent,
        said_by=record.speaker or "user",
        who=quoted_in(record, user=user),
        rests_on_changed=rests_on_changed,
        is_asked_for=is_asked_for,
    )


def _of_profile(item: Item, kind: SectionKind, record: Record) -> Item:
    """Return the item as a line of the user's profile. It names neither a day nor the user."""
    statement = line_of_record(record, kind).statement
    return replace(item, section=kind, text=statement, when=None, who=None, said_at=None)


def _is_others_task(item: Item, session: str) -> bool:
    return item.kind == "task" and item.source.session != session
