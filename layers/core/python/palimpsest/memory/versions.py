"""Derives the versions of a topic from its statements, in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from palimpsest.memory.record import Record, Source


@dataclass(frozen=True, slots=True)
class Version:
    """One value in the history of its topic. `number` counts from 1. At `valid_to` (epoch
    milliseconds) the next version begins. `sources` are the sources of all statements of it, the
    oldest first.
    """

    record: Record
    number: int = 1
    is_current: bool = True
    valid_to: int | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    uses: int = 0  # how often recall returned it
    used_at: int | None = None  # when it last did, in epoch seconds
    has_ended: bool = False  # it ended at `valid_to`, as the user said, without a new value
    rests_on_changed: bool = False  # what it rests on was superseded, has ended or was deleted
    sources: tuple[Source, ...] = ()


def single(record: Record) -> Version:
    """Return the only version of a record without a topic. Other sessions with the same statement
    are known only by their ids.
    """
    return Version(record, sources=(record.source, *map(Source, record.also)))


def versions(
    records: Sequence[Record],
    *,
    current: str | None,
    retracted: int | None = None,
    ended: str | None = None,
) -> tuple[Version, ...]:
    """Return the versions of one topic, oldest first. Their numbers and validity follow from the
    times of the statements, not from the order of arrival.

    `records` holds a record once for each statement of it. Successive statements of the same record
    are one version. `current` is the id of the record that the topic's pointer names. If the
    pointer names none, the user deleted the newest version, or said that it is no longer true.
    `retracted` is then the time of its last statement or of its end (epoch milliseconds), and the
    newest version that is left ended at that time. `ended` is the id of the record that the user
    ended.
    """
    runs = _runs(records)
    chain = [record for record, _ in runs]
    newer = [*chain[1:], None]
    older = [None, *chain]
    end = None if current else retracted  # of the newest version
    places = zip(runs, older, newer, strict=False)
    return tuple(
        replace(
            _version(number, record, before, after, is_current=record.id == current, end=end),
            has_ended=after is None and record.id == ended,
            sources=sources,
        )
        for number, ((record, sources), before, after) in enumerate(places, 1)
    )


def _version(
    number: int,
    record: Record,
    before: Record | None,
    after: Record | None,
    *,
    is_current: bool,
    end: int | None,
) -> Version:
    version = Version(record, number, supersedes=before.id if before else None)
    if after is None:
        return replace(version, is_current=is_current, valid_to=end)
    return replace(version, is_current=False, valid_to=after.valid_from, superseded_by=after.id)


def as_of(
    records: Sequence[Record],
    *,
    moment: int,
    known_at: int | None = None,
    retracted: int | None = None,
) -> Record | None:
    """Return the record that was valid at `moment`, or None. Only statements count that the service
    knew at `known_at` (default: all). Times are epoch milliseconds.
    """
    if retracted is not None and retracted <= moment:
        return None
    known = [record for record in records if known_at is None or record.created_at <= known_at]
    held = [record for record, _ in _runs(known) if record.valid_from <= moment]
    return held[-1] if held else None


def _runs(records: Sequence[Record]) -> list[tuple[Record, tuple[Source, ...]]]:
    """Return one record for each series of equal statements, with the sources of the series. The
    record is the copy that was written first, with the validity of the first statement.
    """
    in_order = sorted(records, key=lambda record: record.order)
    runs = [list(run) for _, run in groupby(in_order, key=lambda record: record.id)]
    return [
        (
            replace(min(run, key=lambda record: record.created_at), valid_from=run[0].valid_from),
            tuple(map(attrgetter("source"), run)),
        )
        for run in runs
    ]
