"""The forms of the lines of memories and vectors."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationInfo,
    field_validator,
    model_validator,
)

from palimpsest.clock import LATEST
from palimpsest.graph.things import is_sound
from palimpsest.memory.conditions import leaves
from palimpsest.memory.ended_on import is_label
from palimpsest.memory.grounds import MOST_GROUNDS
from palimpsest.memory.opinions import MOST_OPINIONS, OPINION
from palimpsest.memory.record import GRAPH, MAX_ALSO, MAX_CONTENT, MAX_METADATA_TERMS, Record
from palimpsest.models.vectors import unit, unpacked
from palimpsest.scope import checked_id
from palimpsest.text.date_words import Unit
from palimpsest.transfer.agreement import require
from palimpsest.transfer.line_forms import MOST_MESSAGES, SLACK, ItemLine, check_size, now_of
from palimpsest.transfer.lines import Row, TopicState, read
from palimpsest.vectors.manage import MAX_DIMENSION
from palimpsest.vectors.ports import Namespace, StoredVector


def _topic(topic: Any) -> TopicState | None:
    return None if topic is None else read(TopicState, topic)


LONGEST_NAME, LONGEST_TIME = 200, 40  # characters


class RecordLine(ItemLine):
    HOLDS = Record

    kind: Literal["record"]
    held: InstanceOf[Record]
    said: Annotated[list[InstanceOf[Record]], Field(default_factory=list)]
    topic: Annotated[InstanceOf[TopicState] | None, BeforeValidator(_topic)] = None

    @model_validator(mode="before")
    @classmethod
    def _with_statements(cls, row: Row) -> Row:
        alone = {name: value for name, value in row.items() if name != "said"}
        check_size(alone)
        return {
            **alone,
            "said": [read(Record, {**row, **statement}) for statement in row.get("said", ())],
        }

    @field_validator("held")
    @classmethod
    def _can_be_stored(cls, record: Record) -> Record:
        checked_id(record.id, field="id")
        expires_at = LATEST if record.expires_at is None else record.expires_at * 1000
        is_after = record.created_at < expires_at <= LATEST
        require(is_after, "expires_at is before it was saved, or after the year 9999")
        length = len(record.content)
        require(0 < length <= MAX_CONTENT, f"content has 1 to {MAX_CONTENT} characters")
        _check_own_times(record)
        most_grounds = f"rests_on has at most {MOST_GROUNDS} memories"
        require(len(record.rests_on) <= MOST_GROUNDS, most_grounds)
        for ground in record.rests_on:
            checked_id(ground, field="rests_on")
        longest_name = f"speaker has at most {LONGEST_NAME} characters"
        require(len(record.speaker or "") <= LONGEST_NAME, longest_name)
        require((record.retention or 0) >= 0, "retention is negative")
        shares = (record.importance, record.confidence)
        require(min(shares) >= 0 and max(shares) <= 1, "importance and confidence are from 0 to 1")
        require(
            record.type not in GRAPH or is_sound(record), f"its data is not a valid {record.type}"
        )
        are_opinions = all(map(OPINION.fullmatch, record.opinions))
        require(
            are_opinions and len(record.opinions) <= MOST_OPINIONS,
            f"opinions has at most {MOST_OPINIONS} opinions",
        )
        terms = sum(1 for _ in leaves(record.metadata))
        require(terms <= MAX_METADATA_TERMS, "metadata has too many values")
        has_vector = record.embedding is None or _is_vector(unpacked(record.embedding))
        require(has_vector, "embedding is not a vector")
        return record

    @model_validator(mode="after")
    def _is_of_its_time(self, info: ValidationInfo) -> RecordLine:
        latest = now_of(info) + SLACK
        statements = (self.held, *self.said)
        for record in statements:
            _check_times(record, latest=latest)
            _check_source(record)
        if self.topic is not None:
            newest = max(record.order for record in statements)
            is_newest = self.topic.order >= newest and self.topic.order[0] <= latest
            require(is_newest, "topic: its order is before that of a statement, or in the future")
            is_time = self.topic.ended_on is None or is_label(self.topic.ended_on)
            require(is_time, "topic: ended_on is not a day, week, month or year")
        return self


def _check_times(record: Record, *, latest: int) -> None:
    confirmed = record.valid_from if record.confirmed_at is None else record.confirmed_at * 1000
    times = (record.valid_from, record.created_at, confirmed)
    is_past = min(times) >= 0 and max(times) <= latest
    require(is_past, "a time is before 1970 or in the future")


def _check_own_times(record: Record) -> None:
    require(record.time_unit in get_args(Unit), "time_unit is day, week, month or year")
    for text in filter(None, (record.occurs_at, record.due_at)):
        try:
            date.fromisoformat(text[:10])
            is_time = len(text) <= LONGEST_TIME
        except ValueError:
            is_time = False
        require(is_time, "occurs_at and due_at are days or times")


def _check_source(record: Record) -> None:
    for name in filter(None, (record.source.session, record.agent, *record.also)):
        checked_id(name, field="source")
    require(len(record.also) <= MAX_ALSO, f"also has at most {MAX_ALSO} sessions")
    is_place = all(0 <= seq < MOST_MESSAGES for seq in record.source.seqs) and record.rank >= 0
    require(is_place, "source: a number can't be that of a message")


class NamespaceLine(ItemLine):
    HOLDS = Namespace

    kind: Literal["namespace"]
    held: InstanceOf[Namespace]

    @field_validator("held")
    @classmethod
    def _can_be_stored(cls, space: Namespace) -> Namespace:
        checked_id(space.name, field="name")
        is_one = 0 < space.dimension <= MAX_DIMENSION
        require(is_one, f"dimension is from 1 to {MAX_DIMENSION}")
        return space


class VectorLine(ItemLine):
    HOLDS = StoredVector

    kind: Literal["vector"]
    namespace: str
    held: InstanceOf[StoredVector]

    @model_validator(mode="before")
    @classmethod
    def _fits(cls, row: Row) -> Row:
        check_size(row)
        return row

    @field_validator("held")
    @classmethod
    def _can_be_stored(cls, vector: StoredVector) -> StoredVector:
        checked_id(vector.id, field="id")
        is_vector = _is_vector(vector.values)
        require(is_vector, "its values have no direction, or are too large")
        return vector


def _is_vector(values: Sequence[float]) -> bool:
    try:
        unit(array("f", values))
    except (ValueError, OverflowError):
        return False
    return True
