"""The blocks of memory, the only code that reads or fills long-term memory for a context: what they can do for a
session, what they bring into its context, and how a user's records are ranked for it without a model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeVar

from palimpsest.conversations import name_of
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.configuration import Strategy
from palimpsest.errors import ReadOnlyBlock
from palimpsest.memory import Record, RecordType, Source, is_quoted
from palimpsest.recall import faded, words_of
from palimpsest.scope import SessionScope, UserScope
from palimpsest.text import content_terms, terms

ItemKind = RecordType | Literal["static", "message"]
Content_co = TypeVar("Content_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One fact, record or past message that a block brings. `said_at` is in epoch milliseconds; `speaker` is the role
    of a past message. `who` is the name of whoever said the text in their own words; None if nobody is quoted. What
    `score` means depends on the block; a higher one fits better.
    """

    id: str
    kind: ItemKind
    text: str
    score: float | None = None
    said_at: int | None = None
    source: Source = field(default_factory=Source)
    agent: str | None = None
    speaker: str | None = None
    who: str | None = None

    def is_from(self, source: Source) -> bool:
        """Whether it comes from the messages of a source, of one session, or from some of them."""
        return self.source.session == source.session and set(source.seqs).issuperset(self.source.seqs)

    def is_held(self, session: str, seqs: frozenset[int]) -> bool:
        """Whether it came from messages of this session that are all among `seqs`."""
        return self.source.session == session and bool(self.source.seqs) and seqs.issuperset(self.source.seqs)


@dataclass(frozen=True, slots=True)
class BlockContent:
    """What a block brings, the best first, and how much of it may be shown: at most `max_tokens` and `max_items` (None:
    as much as the context has room for). `degraded` names what could not be asked.
    """

    block: BlockType
    items: tuple[Item, ...] = ()
    max_tokens: int | None = None
    max_items: int | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session as a block sees it: its user, its agent, and the configuration of its memory."""

    scope: SessionScope
    user: str
    config: Strategy
    agent: str | None = None

    @property
    def owner(self) -> UserScope:
        return self.scope.owner.user(self.user)


class MemoryBlock(Protocol[Content_co]):
    """One block, whose `get` returns a `BlockContent`, or all blocks together, whose `get` returns a whole context.

    Every method raises `Unavailable` if a store can't answer.
    """

    def get(self, session: Conversation, message: str | None = None) -> Content_co:
        """Return what is remembered. `message` is the user's message that is about to be sent, if there is one."""

    def update(self, session: Conversation, message: str) -> None:
        """Remember the newest message of the session. Raises `ReadOnlyBlock`."""

    def delete(self, session: Conversation) -> None:
        """Forget what came from the session. Raises `ReadOnlyBlock`."""


Update = Callable[[Conversation, str], None]
Delete = Callable[[Conversation], None]


def read_only(*_asked: object) -> None:
    """The `Update` and `Delete` of a block that conversations may not change. Raises `ReadOnlyBlock`."""
    raise ReadOnlyBlock("This block can't be changed from a conversation.")


IMPORTANCE, SHARED, RECENCY = 0.5, 0.3, 0.2
"""The weights of a record's importance, of the words it shares with the message, and of its recency."""
HALF_LIFE = 30 * 24 * 3600 * 1000  # milliseconds until a record counts as half as recent


@dataclass(frozen=True)
class RecordRanking:
    """The records of one user, to be ranked for any message. Their texts are split into words only once."""

    records: tuple[Record, ...]

    @cached_property
    def _having(self) -> dict[str, list[int]]:
        """The records that have each word, by their places."""
        having: dict[str, list[int]] = defaultdict(list)
        for place, record in enumerate(self.records):
            for word in set(terms(f"{words_of(record)}\n{record.topic_key or ''}")):
                having[word].append(place)
        return dict(having)

    @cached_property
    def _quoted(self) -> list[bool]:
        return [is_quoted(record) for record in self.records]

    def ranked(self, message: str | None, *, user: str, session: str, now: int) -> tuple[Item, ...]:
        """Return the records that have not expired, the best first; tasks of other sessions come last. Those in their
        user's own words carry the name of that user. `now` is in epoch milliseconds.
        """
        shared, name = self._shared(message), name_of("user", user=user)
        items = [
            _item(record, _score(record, shared[place], now), name if self._quoted[place] else None)
            for place, record in enumerate(self.records)
            if record.expires_at is None or record.expires_at * 1000 > now
        ]
        items.sort(key=lambda item: (_is_others_task(item, session), -(item.score or 0), item.id))
        return tuple(items)

    def _shared(self, message: str | None) -> list[float]:
        """How much of the message's words each record has, from 0 to 1: the fewer records have a word, the more it
        weighs. Words that no record has count nothing.
        """
        shared = [0.0] * len(self.records)
        asked = [found for word in content_terms(message or "") if (found := self._having.get(word))]
        weights = [math.log(1 + len(self.records) / len(found)) for found in asked]
        total = sum(weights)
        for found, weight in zip(asked, weights, strict=True):
            for place in found:
                shared[place] += weight / total
        return shared


def _score(record: Record, shared: float, now: int) -> float:
    recency = faded(max(0, now - record.valid_from), half_life=HALF_LIFE)
    return round(IMPORTANCE * record.importance + SHARED * shared + RECENCY * recency, 4)


def _item(record: Record, score: float, who: str | None) -> Item:
    return Item(
        id=record.id,
        kind=record.type,
        text=record.content,
        score=score,
        said_at=record.valid_from,
        source=record.source,
        agent=record.agent,
        who=who,
    )


def _is_others_task(item: Item, session: str) -> bool:
    return item.kind == "task" and item.source.session != session
