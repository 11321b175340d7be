"""What long-term memory brings into a context, as plain data: facts, records and past messages, and their order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from palimpsest.conversations.configuration import BlockType
from palimpsest.memory.records import Record, RecordType, Source
from palimpsest.text.words import content_terms, terms

ItemKind = RecordType | Literal["static", "message"]

IMPORTANCE, SHARED, RECENCY = 0.5, 0.3, 0.2
"""What a record's rank is made of: its importance, the words it shares with the message, how recent it is."""
HALF_LIFE = 30 * 24 * 3600 * 1000  # milliseconds until a record counts as half as recent


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a block brings. `said_at` is in epoch milliseconds; `speaker` is the role of a past message."""

    id: str
    kind: ItemKind
    text: str
    score: float | None = None
    said_at: int | None = None
    source: Source = field(default_factory=Source)
    agent: str | None = None
    speaker: str | None = None

    def is_held(self, session: str, seqs: frozenset[int]) -> bool:
        """Whether the messages it came from are all among these ones of the session."""
        return self.source.session == session and bool(self.source.seqs) and seqs.issuperset(self.source.seqs)


@dataclass(frozen=True, slots=True)
class Recollection:
    """What a block brings, the best first, and how much of it may be shown: so many tokens, so many items (None: what
    the room allows).

    `degraded` names what could not be asked.
    """

    block: BlockType
    items: tuple[Item, ...] = ()
    max_tokens: int | None = None
    most: int | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ranking:
    """Records of one user, ready to be ranked by any message. Their words are told apart once."""

    records: tuple[Record, ...]

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(terms(_telling(record))) for record in self.records)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        """What a word says: the fewer records have it, the more."""
        having = Counter(word for found in self._words for word in found)
        return {word: math.log(1 + len(self.records) / number) for word, number in having.items()}

    def ranked(self, message: str | None, *, session: str, now: int) -> tuple[Item, ...]:
        """Those that have not expired, the most telling first; tasks of other sessions last. `now` is in epoch
        milliseconds.
        """
        asked = self._asked(message)
        items = [
            _item(record, self._score(number, asked, now))
            for number, record in enumerate(self.records)
            if record.expires_at is None or record.expires_at * 1000 > now
        ]
        items.sort(key=lambda item: (_is_others_task(item, session), -(item.score or 0), item.id))
        return tuple(items)

    def _asked(self, message: str | None) -> dict[str, float]:
        """The words of the message that any record has, each with its share of them all."""
        rarity = {word: self._rarity[word] for word in content_terms(message or "") if word in self._rarity}
        total = sum(rarity.values())
        return {word: value / total for word, value in rarity.items()}

    def _score(self, number: int, asked: dict[str, float], now: int) -> float:
        record = self.records[number]
        shared = sum(asked[word] for word in self._words[number].intersection(asked)) if asked else 0.0
        recency = float(0.5 ** (max(0, now - record.valid_from) / HALF_LIFE))
        return round(IMPORTANCE * record.importance + SHARED * shared + RECENCY * recency, 4)


def _telling(record: Record) -> str:
    return " ".join((record.content, record.subject or "", record.topic_key or "", *record.keywords, *record.queries))


def _item(record: Record, score: float) -> Item:
    return Item(
        id=record.id,
        kind=record.type,
        text=record.content,
        score=score,
        said_at=record.valid_from,
        source=record.source,
        agent=record.agent,
    )


def _is_others_task(item: Item, session: str) -> bool:
    return item.kind == "task" and item.source.session != session
