"""Checks the lines of memories and vectors of an import."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import date
from typing import get_args

from palimpsest.clock import LATEST
from palimpsest.graph.things import is_sound
from palimpsest.memory.conditions import leaves
from palimpsest.memory.grounds import MOST_GROUNDS
from palimpsest.memory.record import GRAPH, MAX_ALSO, MAX_CONTENT, MAX_METADATA_TERMS, Record
from palimpsest.models.vectors import unit, unpacked
from palimpsest.scope import checked_id
from palimpsest.text.date_words import Unit
from palimpsest.transfer.agreement import require
from palimpsest.transfer.lines import Row, read, topic_of
from palimpsest.transfer.places import MOST_MESSAGES, SLACK, Before, check_id, check_size
from palimpsest.vectors.manage import MAX_DIMENSION
from palimpsest.vectors.ports import Namespace, StoredVector

LONGEST_NAME, LONGEST_TIME = 200, 40  # characters


def check_record(row: Row, before: Before) -> None:
    check_id(row, "id")
    record = read(Record, row)
    said = [record, *(read(Record, {**row, **each}) for each in row.get("said", ()))]
    for each in said:
        ends = [] if each.confirmed_at is None else [each.confirmed_at * 1000]
        moments = (each.valid_from, each.created_at, *ends)
        require(
            min(moments) >= 0 and max(moments) <= before.now + SLACK,
            "a time is before 1970 or still to come",
        )
        _check_source(each)
    expires_at = LATEST if record.expires_at is None else record.expires_at * 1000
    require(
        record.created_at < expires_at <= LATEST,
        "expires_at is before it was saved, or after the year 9999",
    )
    require(0 < len(record.content) <= MAX_CONTENT, f"content has 1 to {MAX_CONTENT} characters")
    _check_times(record)
    require(len(record.rests_on) <= MOST_GROUNDS, f"rests_on has at most {MOST_GROUNDS} memories")
    for ground in record.rests_on:
        checked_id(ground, field="rests_on")
    require(
        len(record.speaker or "") <= LONGEST_NAME, f"speaker has at most {LONGEST_NAME} characters"
    )
    require((record.retention or 0) >= 0, "retention is negative")
    shares = (record.importance, record.confidence)
    require(min(shares) >= 0 and max(shares) <= 1, "importance and confidence are from 0 to 1")
    require(record.type not in GRAPH or is_sound(record), f"its data holds no {record.type}")
    require(
        sum(1 for _ in leaves(record.metadata)) <= MAX_METADATA_TERMS,
        "metadata has too many values",
    )
    require(
        record.embedding is None or _is_vector(unpacked(record.embedding)), "embedding is no vector"
    )
    alone = {name: value for name, value in row.items() if name != "said"}
    check_size(alone)
    topic = topic_of(row)
    if topic is not None:
        is_newest = (
            topic.order >= max(each.order for each in said) and topic.order[0] <= before.now + SLACK
        )
        require(is_newest, "topic: its order is before that of a statement, or still to come")


def _check_source(record: Record) -> None:
    for name in filter(None, (record.source.session, record.agent, *record.also)):
        checked_id(name, field="source")
    require(len(record.also) <= MAX_ALSO, f"also has at most {MAX_ALSO} sessions")
    is_place = all(0 <= seq < MOST_MESSAGES for seq in record.source.seqs) and record.rank >= 0
    require(is_place, "source: a number is no message's")


def _check_times(record: Record) -> None:
    require(record.time_unit in get_args(Unit), "time_unit is day, week, month or year")
    for text in filter(None, (record.occurs_at, record.due_at)):
        try:
            date.fromisoformat(text[:10])
            is_time = len(text) <= LONGEST_TIME
        except ValueError:
            is_time = False
        require(is_time, "occurs_at and due_at are days or times")


def check_namespace(row: Row, _: Before) -> None:
    space = read(Namespace, row)
    checked_id(space.name, field="name")
    require(0 < space.dimension <= MAX_DIMENSION, f"dimension is from 1 to {MAX_DIMENSION}")


def check_vector(row: Row, before: Before) -> None:
    vector = read(StoredVector, row)
    checked_id(vector.id, field="id")
    require(vector.id > before.vector, "vectors stand in the order of their ids, each once")
    require(len(vector.values) == before.dimension, "it has another dimension than its namespace")
    require(_is_vector(vector.values), "its values have no direction, or are too large")
    check_size(row)


def _is_vector(values: Sequence[float]) -> bool:
    try:
        unit(array("f", values))
    except (ValueError, OverflowError):
        return False
    return True
