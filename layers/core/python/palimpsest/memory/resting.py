"""Links facts to the facts that they rest on, and finds facts that rest on a fact that has changed
since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory.grounds import MOST_GROUNDS, names_value_of
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.record import Record
from palimpsest.scope import UserScope
from palimpsest.text.folding import normalized

AT_ONCE = 100


def changed_grounds(
    memories: Memories, scope: UserScope, records: Sequence[Record]
) -> frozenset[str]:
    """Return the ids of the given records that rest on a record that was superseded, has ended, or
    was deleted. A topic that returned to the same value counts as unchanged. Nothing is read if no
    record rests on another. Raises `Unavailable`.
    """
    resting = [record for record in records if record.rests_on]
    if not resting:
        return frozenset()
    ids = sorted({ground for record in resting for ground in record.rests_on})
    grounds = {record.id: record for record in _read(memories, scope, ids)}
    topics = sorted({ground.topic_key for ground in grounds.values() if ground.topic_key})
    holding = _holding(memories, scope, topics)
    held = {name for name, ground in grounds.items() if _holds(ground, holding)}
    return frozenset(record.id for record in resting if not held.issuperset(record.rests_on))


def _holds(ground: Record, holding: Mapping[str, Record]) -> bool:
    if ground.topic_key is None:
        return True
    current = holding.get(ground.topic_key)
    if current is None:
        return False
    return current.id == ground.id or normalized(current.content) == normalized(ground.content)


def _holding(memories: Memories, scope: UserScope, topics: Sequence[str]) -> dict[str, Record]:
    """Return the current record of each topic, by the topic's key."""
    pointers: dict[str, Pointer] = {}
    for start in range(0, len(topics), AT_ONCE):
        pointers |= memories.pointers(scope, topics[start : start + AT_ONCE])
    ids = [pointer.record for pointer in pointers.values() if pointer.record is not None]
    return {record.topic_key or "": record for record in _read(memories, scope, ids)}


def _read(memories: Memories, scope: UserScope, ids: Sequence[str]) -> list[Record]:
    return [
        record
        for start in range(0, len(ids), AT_ONCE)
        for record in memories.records(scope, ids[start : start + AT_ONCE])
    ]


@dataclass(frozen=True, slots=True)
class Dependent:
    """The topics that a statement may rest on. A model named the `sure` topics. The statement rests
    on a `likely` topic only if it names that topic's value.
    """

    sure: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.sure, *self.likely)))


def grounds_of(
    memories: Memories, scope: UserScope, dependents: Sequence[Dependent], made: Sequence[Record]
) -> list[tuple[str, ...]]:
    """Return, for each record of `made`, the ids of the records that it rests on. `dependents` has
    the topics of each record of `made`. On each topic, it rests on the record of `made` whose value
    the statement names, or else on the topic's current record. Raises `Unavailable`.
    """
    topics = sorted({topic for dependent in dependents for topic in dependent.topics})
    if not topics:
        return [() for _ in made]
    current = _holding(memories, scope, topics)

    def ids(record: Record, dependent: Dependent) -> tuple[str, ...]:
        grounds = [
            _ground(record, topic, made, current, is_sure=topic in dependent.sure)
            for topic in dependent.topics
        ]
        return tuple(dict.fromkeys(ground.id for ground in grounds if ground))[:MOST_GROUNDS]

    return [ids(record, dependent) for record, dependent in zip(made, dependents, strict=True)]


def _ground(
    record: Record,
    topic: str,
    made: Sequence[Record],
    current: Mapping[str, Record],
    *,
    is_sure: bool,
) -> Record | None:
    beside = [candidate for candidate in reversed(made) if candidate.topic_key == topic]
    stored = [current[topic]] if topic in current else []
    others = [candidate for candidate in (*beside, *stored) if candidate.id != record.id]
    named = [other for other in others if names_value_of(record.content, other.content)]
    if named:
        return named[0]
    return others[0] if is_sure and others else None


def check_grounds(
    memories: Memories, scope: UserScope, all_grounds: Sequence[Sequence[str]], *, field: str
) -> None:
    """Raise `Unprocessable` if one of the ids is not the id of a memory of the user. `field` names
    the id in the error, with `{}` in place of its number. Raises `Unavailable`.
    """
    ids = sorted({ground for grounds in all_grounds for ground in grounds})
    if not ids:
        return
    there = {record.id for record in _read(memories, scope, ids)}
    for number, grounds in enumerate(all_grounds):
        if not there.issuperset(grounds):
            error = FieldError(field.format(number), "is not the id of a memory of the user")
            raise Unprocessable(
                "A memory can only rest on memories of its own user.", errors=(error,)
            )
