"""The part of a memory that stays the same from one context to the next, so that a prompt cache can
serve it. It holds what was known at a moment, in an order that no question changes, and begins with
the user's profile.

A deleted record is never in it. A value that was superseded after the moment stays, and the context
names its replacement below the window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.memory.record import Record, RecordType
from palimpsest.profile.kinds import SectionKind
from palimpsest.profile.profile import MOST_SHOWN, is_cut, selected
from palimpsest.text.folding import normalized

STABLE: tuple[RecordType, ...] = ("instruction", "preference", "fact", "event", "task")
"""The types of records in the stable part, in their order."""


@dataclass(frozen=True, slots=True)
class StableRecords:
    """The records of the stable part in their order, and the records that the user's `profile` may
    show.

    Records of the profile come with their section, in the order in which a profile keeps them.
    Records whose text a profile would cut are left out there. `replaced` maps the id of each record
    whose value is no longer valid to the record that is valid now. `added` are the records that
    were stored after the moment and replace no record of the stable part.
    """

    shown: tuple[Record, ...] = ()
    replaced: Mapping[str, Record] = field(default_factory=dict)
    added: tuple[Record, ...] = ()
    profile: tuple[tuple[SectionKind, Record], ...] = ()


def stable_records(
    current: Sequence[Record], earlier: Sequence[Record], *, user: str, since: int | None, now: int
) -> StableRecords:
    """Return the user's records as they were known at `since` (None: now). `current` are the
    current records, and `earlier` are superseded ones. Both times are epoch milliseconds.

    A topic without a current record is left out at once, because its value was deleted or has
    ended.
    """
    holding = [record for record in current if _is_stable(record, now)]
    if since is None:
        return StableRecords(_in_order(holding), profile=_profile(holding, user=user, now=now))
    before = _by_topic(
        record for record in earlier if record.type in STABLE and record.created_at <= since
    )
    shown: list[Record] = []
    added: list[Record] = []
    replaced: dict[str, Record] = {}
    for record in holding:
        known = before.get(record.topic_key or "")
        if record.created_at <= since:
            shown.append(record)
        elif known is None:
            added.append(record)
        else:
            shown.append(known)
            if normalized(known.content) != normalized(record.content):
                replaced[known.id] = record
    profile = _profile(shown, user=user, now=now)
    return StableRecords(_in_order(shown), replaced, _in_order(added), profile)


def _profile(
    records: Iterable[Record], *, user: str, now: int
) -> tuple[tuple[SectionKind, Record], ...]:
    lines = selected(records, user=user, now=now)[:MOST_SHOWN]
    return tuple((kind, record) for kind, record in lines if not is_cut(record))


def _is_stable(record: Record, now: int) -> bool:
    is_over = record.expires_at is not None and record.expires_at * 1000 <= now
    return record.type in STABLE and not is_over


def _by_topic(records: Iterable[Record]) -> dict[str, Record]:
    """Return the newest record of each topic."""
    topics: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.topic_key is not None:
            topics[record.topic_key].append(record)
    return {topic: max(said, key=lambda each: each.order) for topic, said in topics.items()}


def _in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records sorted by type, then by importance, then by age (oldest first)."""
    return tuple(
        sorted(
            records,
            key=lambda record: (
                STABLE.index(record.type),
                -record.importance,
                record.valid_from,
                record.id,
            ),
        )
    )
