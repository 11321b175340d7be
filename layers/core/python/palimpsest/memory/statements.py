"""Makes records from statements, and changes a record after an edit or a repetition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.memory.record import (
    KEYED,
    MAX_ALSO,
    MOST_DRAWN,
    Method,
    Record,
    RecordType,
    Source,
    record_id,
)
from palimpsest.text.analyser import topic_key
from palimpsest.text.folding import normalized

DAY = 24 * 3600
AT_ONCE = 60_000
"""Milliseconds. If an event without its own time arrives again within this time, it is the same
event, sent twice.
"""

TOPICAL = frozenset({"fact", "instruction"})
"""The types that can have a topic and be superseded. Events and tasks can't, because an event has
happened, and a task is either done or not.
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to remember, checked but not yet stored.

    `valid_from` is in epoch milliseconds (None: now). `expires_at` is in epoch seconds (None: as
    its retention says). The retention is the days of its session (0: for ever), or None for the
    tenant's. `sets` names the fields that the caller gave. They replace those of a stored record
    with the same text. `draws` are the topics of the relationships that were drawn from the
    statement. `version_of` is the key of a topic. The statement becomes its next version, whatever
    the statement's type. `replaces` is the id of a record without a topic, which becomes the
    version before.
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
    retention: int | None = None
    method: Method = "given"
    prompt_hash: str | None = None
    sets: frozenset[str] = frozenset()
    draws: tuple[str, ...] = ()
    version_of: str | None = None
    replaces: str | None = None
    speaker: str | None = None
    occurs_at: str | None = None
    due_at: str | None = None
    time_unit: str = "day"
    rests_on: tuple[str, ...] = ()

    @property
    def topic_key(self) -> str | None:
        """Return the stored key of the statement's topic, or None without a topic. The key of a
        `KEYED` type is exact.
        """
        if self.version_of is not None:
            return self.version_of
        if self.type in KEYED:
            return self.topic
        return topic_key(self.topic) if self.topic and self.type in TOPICAL else None


def drafted(
    statement: Statement, *, tenant: str, user: str, now: int, lifetime: int | None, rank: int = 0
) -> Record:
    """Return the record for a statement. Its `valid_from` is never later than `now` (epoch
    milliseconds).

    `lifetime` is the tenant's, in seconds (None: the record never expires). `rank` is the
    statement's place among the statements of one message.
    """
    topic = statement.topic_key
    valid_from = now if statement.valid_from is None else min(max(statement.valid_from, 0), now)
    # The id of an event has only the minute, so that an event which is sent twice is stored once.
    at = (
        now - now % AT_ONCE
        if statement.valid_from is None and statement.type == "event"
        else valid_from
    )
    return Record(
        id=record_id(
            tenant=tenant,
            user=user,
            kind=statement.type,
            content=statement.content,
            topic=topic,
            valid_from=at,
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
        expires_at=statement.expires_at
        or _expiry(statement.type, now // 1000, lasting(statement.retention, lifetime)),
        retention=statement.retention,
        expiry_given=statement.expires_at is not None,
        confirmed_at=now // 1000,
        metadata=statement.metadata,
        data=statement.data,
        embedding=statement.embedding,
        method=statement.method,
        prompt_hash=statement.prompt_hash,
        rank=rank,
        draws=statement.draws,
        speaker=statement.speaker,
        occurs_at=statement.occurs_at,
        due_at=statement.due_at,
        time_unit=statement.time_unit,
        rests_on=statement.rests_on,
        version=now,
    )


def lasting(retention: int | None, lifetime: int | None) -> int | None:
    """Return how many seconds a record is kept (None: for ever). That is the retention of its
    session in days, or else the tenant's lifetime.
    """
    if retention is None:
        return lifetime
    return retention * DAY or None


def kept_longer(record: Record, by: Record, *, lifetime: int | None) -> Record:
    """Return the record with the retention of another statement that says the same, if that
    retention is longer.
    """
    ours, theirs = lasting(record.retention, lifetime), lasting(by.retention, lifetime)
    is_longer = ours is not None and (theirs is None or theirs > ours)
    return replace(record, retention=by.retention) if is_longer else record


def _expiry(kind: RecordType, since: int, lifetime: int | None) -> int | None:
    return None if lifetime is None or kind == "task" else since + lifetime


def event_before(statement: Statement, draft: Record, *, tenant: str, user: str) -> str | None:
    """Return the id that an event would have had if it had been saved a minute earlier. Return None
    for other drafts, and for an event whose time the statement gives.
    """
    if draft.type != "event" or statement.valid_from is not None:
        return None
    at = draft.valid_from - draft.valid_from % AT_ONCE - AT_ONCE
    return record_id(tenant=tenant, user=user, kind="event", content=draft.content, valid_from=at)


def placed(record: Record, *, tenant: str, user: str, topic: str, valid_from: int) -> Record:
    """Return the record as a version of the topic."""
    new_id = record_id(
        tenant=tenant,
        user=user,
        kind=record.type,
        content=record.content,
        topic=topic,
        valid_from=valid_from,
    )
    return replace(record, id=new_id, topic_key=topic, valid_from=valid_from)


def topic_of_edits(record: Record) -> str:
    """Return the topic to which an edit of the record adds a version."""
    return record.topic_key or f"edited_{record.id}"


def edited(
    record: Record, *, tenant: str, user: str, content: str, now: int
) -> tuple[Record, Record]:
    """Return the record, and the version with new content that replaces it from `now` on (epoch
    milliseconds).

    Both belong to one topic. A record without a topic gets one of its own. Keywords, likely
    queries, quote and embedding are not copied to changed content.
    """
    topic = topic_of_edits(record)
    newer = replace(
        record, content=content, created_at=now, version=now, method="given", index_state="pending"
    )
    newer = placed(newer, tenant=tenant, user=user, topic=topic, valid_from=now)
    if normalized(content) != normalized(record.content):
        newer = replace(
            newer,
            keywords=(),
            queries=(),
            source=replace(record.source, quote=None),
            prompt_hash=None,
        )
        newer = replace(newer, embedding=None, opinions=())
    return replace(record, topic_key=topic), newer


def said_also(record: Record, by: Record) -> Record:
    """Return the record after another statement that says the same. It has that statement's session
    as one more source, and the relationships drawn from it. A record with a topic gets no further
    session, because each statement of its topic names its own session.
    """
    record = drawing(record, by)
    session = by.source.session
    if session is None or session in (record.source.session, *record.also):
        return record
    if record.topic_key is not None or len(record.also) == MAX_ALSO:
        return record
    return replace(record, also=(*record.also, session))


def drawing(record: Record, other: Record) -> Record:
    """Return the record with the relationships that were drawn from the other record. The other
    record says the same, or was the topic's record before.
    """
    if not other.draws:
        return record
    return replace(record, draws=tuple(dict.fromkeys((*record.draws, *other.draws)))[:MOST_DRAWN])


def updated(record: Record, statement: Statement) -> Record:
    """Return the record with the fields and the spelling of a statement that says the same."""
    if statement.method != "given":
        return record
    fields: dict[str, Any] = {name: getattr(statement, name) for name in statement.sets}
    if normalized(record.content) == normalized(statement.content):
        fields["content"] = statement.content
    if statement.expires_at is not None:
        fields |= {"expires_at": statement.expires_at, "expiry_given": True}
    return replace(record, **fields)


def confirmed(record: Record, *, now: int, lifetime: int | None) -> Record:
    """Return the record with its lifetime counted from `now` (epoch milliseconds), because it was
    said again. The lifetime is the tenant's, in seconds, unless the record has a retention of its
    own.

    If the record would gain less than a day, or less than a hundredth of its lifetime, it is
    returned unchanged, because that is not worth a write. A permanent record, and a record with an
    expiry from its caller, never change.
    """
    lifetime = lasting(record.retention, lifetime)
    is_permanent = lifetime is None and record.expires_at is None and record.type == "preference"
    if record.type == "task" or is_permanent or record.expiry_given:
        return record
    at = now // 1000
    least = DAY if lifetime is None else min(DAY, lifetime // 100 + 1)
    if 0 <= _gained(record, at=at, lifetime=lifetime) < least:
        return record
    expires_at = None if lifetime is None else at + lifetime
    return replace(record, expires_at=expires_at, confirmed_at=at, index_state="pending")


def _gained(record: Record, *, at: int, lifetime: int | None) -> int:
    """Return by how many seconds a lifetime from `at` exceeds the record's present one. If only one
    of them ends, this is a day, which is always worth a write.
    """
    if lifetime is None and record.expires_at is None:
        return at - (record.confirmed_at or 0)
    if lifetime is None or record.expires_at is None:
        return DAY
    return at + lifetime - record.expires_at


def kept_for(record: Record, lifetime: int | None) -> Record:
    """Return the record with this lifetime of the tenant (seconds; None: it never expires), or with
    its own retention. Both count from when the record was last written or confirmed.

    A task, which ends with its session, and a record with an expiry from its caller are returned
    unchanged.
    """
    if record.type == "task" or record.expiry_given:
        return record
    lifetime = lasting(record.retention, lifetime)
    since = record.created_at // 1000 if record.confirmed_at is None else record.confirmed_at
    return replace(record, expires_at=None if lifetime is None else since + lifetime)
