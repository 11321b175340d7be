"""Ends topics by statements that give no new value. The record stays in the topic's history, and
the topic has no current record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from palimpsest.memory.decisions import KnownTopic, MemoryState
from palimpsest.memory.ended_on import begin_of
from palimpsest.memory.endings import Superseded
from palimpsest.memory.record import Order, Record


@dataclass(frozen=True, slots=True)
class EndOfTopic:
    """The end of a topic's current record. `order` is the position of the statement that says so.
    `record` is the id of the stored record that ends, or None if the record is stored by the same
    commit. `on` is the time that the statement names for the end (`Pointer.ended_on`), or None.
    """

    topic_key: str
    order: Order
    record: str | None = None
    on: str | None = None


def join_topics(keys: Sequence[tuple[Record, str]], known: MemoryState) -> list[Record]:
    """Give each record without a topic its key if the topic of that key is new, and add the topic
    to `known`. Return these records.
    """
    joined = []
    for without, key in keys:
        topic = known.topics.get(key, KnownTopic())
        if topic.order is not None:
            continue
        record = replace(without, topic_key=key, index_state="pending")
        known.records[record.id] = record
        known.said.append(record)
        known.topics[key] = KnownTopic().having(record.order, record)
        joined.append(record)
    return joined


def ended_by(ends: Sequence[EndOfTopic], known: MemoryState) -> list[Superseded]:
    """Return the records that end, and remove them from `known` as current records. An end has no
    effect if it was said before the current record, or if it names another record. A time before
    the current record was said is not taken for the time of its end.
    """
    gone = []
    for end in ends:
        topic = known.topics.get(end.topic_key, KnownTopic())
        current = topic.current
        if current is None or topic.order is None or topic.order >= end.order:
            continue
        if end.record in (None, current.id):
            is_later = end.on is not None and begin_of(end.on) > current.valid_from
            on = end.on if is_later else None
            without = replace(topic, current=None, order=end.order, ended=current.id, ended_on=on)
            known.topics[end.topic_key] = without
            gone.append(Superseded(current, end.order[0]))
    return gone


def ended_records(ended: Sequence[Superseded], there: Mapping[str, Record]) -> list[Record]:
    """Return the ended records that are already stored. They must be indexed again."""
    return [
        replace(there[end.record.id], index_state="pending")
        for end in ended
        if end.record.id in there
    ]
