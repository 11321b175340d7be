"""The statements of one step and the known records, and what is done to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.speakers import USER
from palimpsest.memory.ended import EndOfTopic
from palimpsest.memory.record import GRAPH, Order, Record, record_id
from palimpsest.memory.statements import Statement, topic_of_edits
from palimpsest.text.folding import normalized

MOST_ENDED = 4  # most records that one statement ends
Known = Callable[[], Sequence[Record]]
"""Reads the current records, newest first."""


@dataclass
class KnownStatements:
    """The known records before the step, which are read when they are first needed, and the
    statements of the step itself.
    """

    read: Known
    statements: list[tuple[Finding, Statement, int]] = field(default_factory=list)
    ends: dict[str, EndOfTopic] = field(default_factory=dict)

    @cached_property
    def records(self) -> Sequence[Record]:
        return [record for record in self.read() if record.type not in GRAPH]


def order_of(statement: Statement, rank: int) -> Order:
    source = statement.source
    return (statement.valid_from or 0, source.session or "", max(source.seqs, default=0), rank, "")


def day_of(statement: Statement) -> date:
    return datetime.fromtimestamp((statement.valid_from or 0) / 1_000, UTC).date()


def draft_of(statement: Statement) -> Record:
    """Return the statement as a record, for comparison with others."""
    key = statement.topic_key
    return Record(
        # The id is not stored. It only has to distinguish the statements of this step.
        id=record_id(tenant="", user="", kind=statement.type, content=statement.content, topic=key),
        type=statement.type,
        content=statement.content,
        created_at=0,
        valid_from=statement.valid_from or 0,
        subject=statement.subject,
        speaker=statement.speaker,
        topic_key=key,
        source=statement.source,
    )


def are_of_one_speaker(statement: Statement | Record, other: Statement | Record) -> bool:
    """Return whether the same person said both. A statement neither corrects nor ends the statement
    of another speaker.
    """
    return speaker_of(statement) == speaker_of(other)


def speaker_of(words: Statement | Record) -> str:
    """Return the folded name of the speaker, or `USER`."""
    return normalized(words.speaker) if words.speaker else USER


def next_version(statement: Statement, record: Record) -> Statement:
    """Return the statement as the next version of the record."""
    before = record.id if record.topic_key is None else None
    return replace(statement, version_of=topic_of_edits(record), replaces=before)


def end_stored(
    record: Record, order: Order, state: KnownStatements, *, on: str | None = None
) -> None:
    """End the topic of a stored record, at the named time `on` if it is known."""
    key = topic_of_edits(record)
    state.ends.setdefault(key, EndOfTopic(key, order, record.id, on))


def end_own(place: int, order: Order, state: KnownStatements) -> None:
    """End the topic of another statement of this step."""
    finding, other, rank = state.statements[place]
    # Only a topic can end, so a statement without one gets a topic of its own.
    key = other.topic_key or f"said_{draft_of(other).id}"
    state.statements[place] = (finding, replace(other, version_of=key), rank)
    state.ends[key] = EndOfTopic(key, order)
