"""Decide whether each statement is new, known already, or supersedes the current record of its topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from palimpsest.memory.records import KEYED, MAX_ALSO, Method, Order, Record, RecordType, Source, record_id, said_again
from palimpsest.text.analyser import normalized, topic_key

Outcome = Literal["created", "updated", "unchanged"]
DAY = 24 * 3600
AT_ONCE = 60_000
"""Milliseconds. An event without a time of its own that comes again within a minute was sent more than once."""

TOPICAL = frozenset({"fact", "instruction"})
"""Types that callers give topics, so that they can be superseded; an event happened, and a task is done or not."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to remember, checked but not yet stored. `valid_from` is in epoch milliseconds, None = now;
    `expires_at` is in epoch seconds, None = after the tenant's retention.

    `sets` names the fields that replace those of a stored record with the same text: those that a caller gave.
    """

    type: RecordType
    content: str
    topic: str | None = None
    subject: str | None = None
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    source: Source = field(default_factory=Source)
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None
    embedding: str | None = None
    valid_from: int | None = None
    expires_at: int | None = None
    method: Method = "given"
    prompt_hash: str | None = None
    sets: frozenset[str] = frozenset()

    @property
    def topic_key(self) -> str | None:
        """The key of its topic as it is stored: that of a `KEYED` type is exact; None if it has none."""
        if self.type in KEYED:
            return self.topic
        return topic_key(self.topic) if self.topic and self.type in TOPICAL else None


@dataclass(frozen=True, slots=True)
class Topic:
    """What is known of a topic when a statement arrives.

    `said` holds its statements, oldest first; only the newest is needed if every new statement is newer still. `order`
    is that of the last statement, even if its record was deleted since; then `current` is None.
    """

    current: Record | None = None
    order: Order | None = None
    said: tuple[tuple[Order, Record], ...] = ()

    def is_behind(self, order: Order) -> bool:
        """Whether a statement with this order is older than the topic's last one. If the last one was deleted, other
        statements of the same message count as older too.
        """
        if self.order is None:
            return False
        return order < self.order if self.current else order[:3] <= self.order[:3]

    def neighbours(self, order: Order) -> list[tuple[Order, Record]]:
        """The statements of the same message, the one just before and the one just after; none from before a
        deletion.
        """
        if self.current is None and not self.is_behind(order):
            return []
        same = [entry for entry in self.said if entry[0][:3] == order[:3]]
        before = [entry for entry in self.said if entry[0] < order]
        after = [entry for entry in self.said if entry[0] > order]
        return [*same, *before[-1:], *after[:1]]

    def having(self, order: Order, record: Record) -> Topic:
        """The topic with this record added at this place."""
        said = tuple(sorted([*self.said, (order, record)], key=lambda entry: entry[0]))
        if self.is_behind(order):
            return replace(self, said=said)
        return Topic(record, order, said)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome of one statement: the record that now holds it, and the record that it displaced.

    `created`: a new record, or a new version of its topic. `updated`: it was stored already, and fields of it changed.
    """

    record: Record
    outcome: Outcome
    displaced: Record | None = None


@dataclass(slots=True)
class MemoryState:
    """The part of a user's memory that statements concern: records by id, topics by key. Each decision adds to it.

    `new` holds the records to create, `said` the known records that were said again, with the new time and source.
    """

    records: dict[str, Record]
    topics: dict[str, Topic]
    new: list[Record] = field(default_factory=list)
    said: list[Record] = field(default_factory=list)


Near = Callable[[Record, Record], bool]
"""Whether two records of one topic say the same in other words."""


def is_same(one: Record, other: Record) -> bool:
    if one.type in KEYED:
        return json.dumps(one.data, sort_keys=True) == json.dumps(other.data, sort_keys=True)
    return normalized(one.content) == normalized(other.content)


def drafted(statement: Statement, *, tenant: str, user: str, now: int, lifetime: int | None, rank: int = 0) -> Record:
    """The record for a statement. Its `valid_from` is never later than `now` (epoch milliseconds).

    `lifetime` is in seconds (None: it never expires); `rank` is its place among the statements of one message.
    """
    topic = statement.topic_key
    valid_from = now if statement.valid_from is None else min(max(statement.valid_from, 0), now)
    at = now - now % AT_ONCE if statement.valid_from is None and statement.type == "event" else valid_from
    return Record(
        id=record_id(
            tenant=tenant, user=user, kind=statement.type, content=statement.content, topic=topic, valid_from=at
        ),
        type=statement.type,
        content=statement.content,
        created_at=now,
        valid_from=valid_from,
        subject=statement.subject,
        topic_key=topic,
        keywords=statement.keywords,
        queries=statement.queries,
        importance=statement.importance,
        confidence=statement.confidence,
        source=statement.source,
        agent=statement.agent,
        expires_at=statement.expires_at or _expiry(statement.type, now // 1000, lifetime),
        expiry_given=statement.expires_at is not None,
        confirmed_at=now // 1000,
        metadata=statement.metadata,
        data=statement.data,
        embedding=statement.embedding,
        method=statement.method,
        prompt_hash=statement.prompt_hash,
        rank=rank,
        version=now,
    )


def _expiry(kind: RecordType, since: int, lifetime: int | None) -> int | None:
    return None if lifetime is None or kind == "task" else since + lifetime


def event_before(statement: Statement, draft: Record, *, tenant: str, user: str) -> str | None:
    """The id that the draft would have had a minute earlier, if it is an event without a time of its own."""
    if draft.type != "event" or statement.valid_from is not None:
        return None
    at = draft.valid_from - draft.valid_from % AT_ONCE - AT_ONCE
    return record_id(tenant=tenant, user=user, kind="event", content=draft.content, valid_from=at)


def topic_since(record: Record, there: Record | None, *, is_said_now: bool) -> str | None:
    """The topic that an edit gave to the stored record: a later statement without a topic may repeat its words."""
    if there is None or record.topic_key is not None:
        return None
    return there.topic_key if is_said_now or record.valid_from > there.valid_from else None


def placed(record: Record, *, tenant: str, user: str, topic: str, valid_from: int) -> Record:
    """The record as a version of the topic."""
    new_id = record_id(
        tenant=tenant, user=user, kind=record.type, content=record.content, topic=topic, valid_from=valid_from
    )
    return replace(record, id=new_id, topic_key=topic, valid_from=valid_from)


def taken_in(records: Sequence[Record], known: MemoryState, *, near: Near = is_same) -> tuple[Remembered, ...]:
    """Decide each record in turn, and add the decisions to `known`; later records see the earlier decisions.

    A statement with a topic is unchanged only if the statement just before or just after it says the same (`near`);
    a return to an earlier value is a new version. A statement older than the current record is placed before it. So the
    versions are the same in whatever order statements arrive.
    """
    made = []
    for record in records:
        there = known.records.get(record.id)
        if there is not None and (record.topic_key is None or is_of_one_message(record, there)):
            made.append(Remembered(there, "unchanged"))
        elif record.topic_key is None:
            made.append(Remembered(_stored(record, known), "created"))
        else:
            made.append(_topical(record, record.topic_key, known, near))
    return tuple(made)


def is_of_one_message(one: Record, other: Record) -> bool:
    return one.order[:3] == other.order[:3]


def _stored(record: Record, known: MemoryState) -> Record:
    """Add the record to `known`, or note that the one with its id was said again; return the stored one."""
    there = known.records.get(record.id)
    if there is not None:
        known.said.append(said_again(there, record))
        return there
    known.records[record.id] = record
    known.new.append(record)
    return record


def _topical(record: Record, key: str, known: MemoryState, near: Near) -> Remembered:
    topic = known.topics.get(key, Topic())
    for order, other in topic.neighbours(record.order):
        if near(record, other):
            if order[:3] != record.order[:3]:
                again = said_again(other, record)
                known.said.append(again)
                known.topics[key] = topic.having(again.order, other)
            return Remembered(known.records.get(other.id, other), "unchanged")
    stored = _stored(record, known)
    known.topics[key] = topic.having(record.order, stored)
    if topic.is_behind(record.order) or topic.current is None:
        return Remembered(stored, "created")
    return Remembered(stored, "created", displaced=topic.current)


def topic_of_edits(record: Record) -> str:
    """The topic whose version an edit of the record makes."""
    return record.topic_key or f"edited_{record.id}"


def edited(record: Record, *, tenant: str, user: str, content: str, now: int) -> tuple[Record, Record]:
    """The record, and the version with new content that replaces it from `now` on (epoch milliseconds).

    Both belong to one topic; a record without a topic gets one of its own. Keywords, likely queries, quote and
    embedding are not copied to changed content.
    """
    topic = topic_of_edits(record)
    newer = replace(record, content=content, created_at=now, version=now, method="given", index_state="pending")
    newer = placed(newer, tenant=tenant, user=user, topic=topic, valid_from=now)
    if normalized(content) != normalized(record.content):
        newer = replace(newer, keywords=(), queries=(), source=replace(record.source, quote=None), prompt_hash=None)
        newer = replace(newer, embedding=None)
    return replace(record, topic_key=topic), newer


def said_also(record: Record, by: Record) -> Record:
    """The record with the session of another statement as one more source, if that says the same. Records with a topic
    stay unchanged: their places in the topic name their sessions.
    """
    session = by.source.session
    if session is None or session in (record.source.session, *record.also):
        return record
    if record.topic_key is not None or len(record.also) == MAX_ALSO:
        return record
    return replace(record, also=(*record.also, session))


def updated(record: Record, statement: Statement) -> Record:
    """The record with what the statement, which says the same, sets: its fields, and its spelling."""
    if statement.method != "given":
        return record
    fields: dict[str, Any] = {name: getattr(statement, name) for name in statement.sets}
    if normalized(record.content) == normalized(statement.content):
        fields["content"] = statement.content
    if statement.expires_at is not None:
        fields |= {"expires_at": statement.expires_at, "expiry_given": True}
    return replace(record, **fields)


def confirmed(record: Record, *, now: int, lifetime: int | None) -> Record:
    """The record with its lifetime (seconds) counted from `now` (epoch milliseconds), as it was said again.

    It is returned unchanged if it would gain less than a day, or less than a hundredth of its lifetime: that is not
    worth a write. What is permanent, or expires when its caller said, is always unchanged.
    """
    is_permanent = lifetime is None and record.expires_at is None and record.type == "preference"
    if record.type == "task" or is_permanent or record.expiry_given:
        return record
    at = now // 1000
    expires_at = None if lifetime is None else at + lifetime
    if expires_at is None or lifetime is None:
        gained = at - (record.confirmed_at or 0) if record.expires_at is None else DAY
    else:
        gained = DAY if record.expires_at is None else expires_at - record.expires_at
    if 0 <= gained < min(DAY, DAY if lifetime is None else lifetime // 100 + 1):
        return record
    return replace(record, expires_at=expires_at, confirmed_at=at, index_state="pending")


def kept_for(record: Record, lifetime: int | None) -> Record:
    """The record with this lifetime (seconds; None: it never expires), counted from when it was last written or
    confirmed. A task, which ends with its session, and what expires when its caller said are unchanged.
    """
    if record.type == "task" or record.expiry_given:
        return record
    since = record.created_at // 1000 if record.confirmed_at is None else record.confirmed_at
    return replace(record, expires_at=None if lifetime is None else since + lifetime)
