"""Rank a user's records for a context without a model: by importance, words shared with a message, and recency."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from palimpsest.context.blocks.block import Item
from palimpsest.memory.records import Record, quoted_in
from palimpsest.recall.ranking import faded, words_of
from palimpsest.text.analyser import content_terms, terms

IMPORTANCE, SHARED, RECENCY = 0.5, 0.3, 0.2
"""The weights of a record's importance, of the words it shares with the message, and of its recency."""
HALF_LIFE = 30 * 24 * 3600 * 1000  # milliseconds until a record counts as half as recent


@dataclass(frozen=True)
class RecordRanking:
    """The records of one user, to be ranked for any message. Their texts are split into words only once."""

    records: tuple[Record, ...]

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(terms(f"{words_of(record)}\n{record.topic_key or ''}")) for record in self.records)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        """The weight of each word: the fewer records have it, the more it weighs."""
        having = Counter(word for found in self._words for word in found)
        return {word: math.log(1 + len(self.records) / number) for word, number in having.items()}

    def ranked(self, message: str | None, *, user: str, session: str, now: int) -> tuple[Item, ...]:
        """Return the records that have not expired, the best first; tasks of other sessions come last. Those in their
        user's own words carry the name of that user. `now` is in epoch milliseconds.
        """
        asked = self._shares(message)
        items = [
            _item(record, self._score(number, asked, now), user)
            for number, record in enumerate(self.records)
            if record.expires_at is None or record.expires_at * 1000 > now
        ]
        items.sort(key=lambda item: (_is_others_task(item, session), -(item.score or 0), item.id))
        return tuple(items)

    def _shares(self, message: str | None) -> dict[str, float]:
        """The words of the message that any record has, each with its share of their total weight."""
        rarity = {word: self._rarity[word] for word in content_terms(message or "") if word in self._rarity}
        total = sum(rarity.values())
        return {word: value / total for word, value in rarity.items()}

    def _score(self, number: int, asked: dict[str, float], now: int) -> float:
        record = self.records[number]
        shared = sum(asked[word] for word in self._words[number].intersection(asked)) if asked else 0.0
        recency = faded(max(0, now - record.valid_from), half_life=HALF_LIFE)
        return round(IMPORTANCE * record.importance + SHARED * shared + RECENCY * recency, 4)


def _item(record: Record, score: float, user: str) -> Item:
    return Item(
        id=record.id,
        kind=record.type,
        text=record.content,
        score=score,
        said_at=record.valid_from,
        source=record.source,
        agent=record.agent,
        who=quoted_in(record, user=user),
    )


def _is_others_task(item: Item, session: str) -> bool:
    return item.kind == "task" and item.source.session != session
