"""Names the messages in which the values of a topic were stated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palimpsest.memory.record import Record
from palimpsest.text.folding import normalized

Place = tuple[str | None, int]
"""A session and a sequence number."""


def places_of(records: Iterable[Record]) -> set[Place]:
    """Return the messages that the records came from."""
    return {(record.source.session, seq) for record in records for seq in record.source.seqs}


def places_of_earlier(current: Record, versions: Sequence[Record]) -> set[Place]:
    """Return the messages that say an earlier value of the topic, but not the current one."""
    value = normalized(current.content)
    same = [record for record in versions if normalized(record.content) == value]
    earlier = [record for record in versions if record not in same]
    return places_of(earlier) - places_of((current, *same))
