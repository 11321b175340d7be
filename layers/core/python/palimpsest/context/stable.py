"""The part of a memory that stays the same from one context to the next, so that a prompt cache can
serve it. It begins with the user's profile, and holds the records that were known at a certain
moment, in an order that no question changes.

A deleted record is never in it. A value that was superseded after the moment stays, and the context
names its replacement below the window. Once many values were superseded, a later moment is chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from palimpsest.context.prompt import MEMORY_SHARE
from palimpsest.memory.record import Record, RecordType
from palimpsest.profile.kinds import SectionKind
from palimpsest.profile.profile import MOST_SHOWN, is_cut, selected
from palimpsest.text.folding import normalized

STABLE: tuple[RecordType, ...] = ("instruction", "preference", "fact", "event", "task")
"""The types of records in the stable part, in their order."""
NEEDED_SHARE, LEAST_NEEDED = 16, 450
"""The part for one question may take the budget divided by the first number, or the second number
of tokens if that is more. It is kept small, because no cache serves it. Its facts take at most a
third of it.
"""
CHANGES_SHARE = Fraction(17, 20)  # the most of that part for values that were superseded
BYTES, AROUND = 4, 8
"""About how many bytes a token has, and how many tokens are around the statement of a change."""


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


def most_of(budget: int, *, share: int, least: int) -> int:
    """Return the largest number of tokens of a part of the memory: its share of the budget, or the
    minimum that a small budget allows.
    """
    return max(budget // share, min(least, budget // MEMORY_SHARE))


def needed_room(budget: int) -> int:
    """Return the largest number of tokens of the part for one question."""
    return most_of(budget, share=NEEDED_SHARE, least=LEAST_NEEDED)


def changes_room(budget: int) -> int:
    """Return the most tokens that a context of this budget may use to say which values were
    superseded.
    """
    return int(needed_room(budget) * CHANGES_SHARE)


def stable_records(
    current: Sequence[Record],
    earlier: Sequence[Record],
    *,
    user: str,
    since: int | None,
    now: int,
    most: int | None = None,
) -> StableRecords:
    """Return the user's records as they were known at `since` (None: now). `current` are the
    current records, and `earlier` are superseded ones. Both times are epoch milliseconds. If it
    takes more than `most` tokens (None: no limit) to say which values were superseded after
    `since`, a later moment is chosen.

    A topic without a current record is left out at once, because its value was deleted or has
    ended.
    """
    holding = [record for record in current if _is_stable(record, now)]
    if since is None:
        return StableRecords(_in_order(holding), profile=_profile(holding, user=user, now=now))
    if most is not None:
        since = _moment((*holding, *earlier), since=since, most=most)
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


def _moment(records: Iterable[Record], *, since: int, most: int) -> int:
    """Return the moment whose knowledge the stable part shows. This is `since`, unless the changes
    after `since` take more than `most` tokens. Then it is the time of the last change that no
    longer fits. The moment depends only on the records and their times, so it stays the same until
    the next such change.
    """
    known: dict[str, Record] = {}
    latest: dict[str, Record] = {}
    changes: dict[str, int] = {}
    stable = (record for record in records if record.topic_key and record.type in STABLE)
    for record in sorted(stable, key=lambda record: (record.created_at, record.id)):
        topic = record.topic_key or ""
        latest[topic] = record
        if record.created_at <= since:
            known[topic] = record
        elif topic in known:
            changes[topic] = _tokens_of(known[topic]) + _tokens_of(record) + AROUND
        if sum(changes.values()) > most:
            since, known, changes = record.created_at, dict(latest), {}
    return since


def _tokens_of(record: Record) -> int:
    return len(record.content.encode("utf-8", "replace")) // BYTES


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
    return {
        topic: max(versions, key=lambda record: record.order) for topic, versions in topics.items()
    }


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
