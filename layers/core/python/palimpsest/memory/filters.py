"""The filter that selects records and messages for a list, a search, a recall or a removal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast, get_args, overload

from palimpsest.memory.conditions import (
    RANGES,
    Condition,
    TermTest,
    conditions,
    leaves,
    metadata_terms,
    place,
)
from palimpsest.memory.record import ListedType, Record, RecordType
from palimpsest.memory.removal.payloads import ForgetPayload
from palimpsest.scope import UserScope

MemoryType = Literal[RecordType, "message"]
LISTED = frozenset(get_args(ListedType))
_APART = "\x02"
"""The prefix of a record's own fields among the terms of its document."""


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter for records and messages. They must meet every condition. An empty field sets no
    condition.

    Values match exactly, except that the case of a subject does not matter. Limits are inclusive,
    and times are epoch milliseconds. `metadata` maps a path to a value, or to operators
    (`conditions.Condition`).

    The time of a message is the time at which it was spoken. A message has no subject, topic,
    importance or confidence, so a filter with one of these matches no message.
    """

    types: frozenset[MemoryType] = frozenset()
    min_importance: float | None = None
    max_importance: float | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    subject: str | None = None
    session: str | None = None
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topic: str | None = None

    @property
    def record_types(self) -> frozenset[RecordType]:
        """Return the types of records that can match. If the filter names no types, these are all
        types except the graph's.
        """
        return frozenset(kind for kind in get_args(RecordType) if kind in (self.types or LISTED))

    def with_graph(self) -> MemoryFilter:
        """Return the filter in the form for forgetting. If it names no types, it matches entities
        and relationships too.
        """
        return (
            self if self.types else replace(self, types=frozenset[MemoryType](get_args(RecordType)))
        )

    @property
    def includes_messages(self) -> bool:
        """Return whether the filter can match a message."""
        limits = (
            self.min_importance,
            self.max_importance,
            self.min_confidence,
            self.max_confidence,
            self.topic,
        )
        is_of_records = self.subject is not None or any(limit is not None for limit in limits)
        return (not self.types or "message" in self.types) and not is_of_records

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the subjects of matching documents, or nothing if any subject matches. Documents
        of an earlier release hold the subject in its original case. Until they are indexed again,
        they are found only if the filter has the same case.
        """
        return (
            ()
            if self.subject is None
            else tuple(dict.fromkeys((folded(self.subject), self.subject)))
        )

    @property
    def tests(self) -> tuple[TermTest, ...]:
        """Return the tests that a document's terms must pass, in every search index."""
        named = conditions(self.metadata) if self.metadata else ()
        return tuple(condition.test for condition in (*named, *self._of_fields()))

    def _of_fields(self) -> Iterator[Condition]:
        if self.topic is not None:
            yield Condition(f"{_APART}topic", "eq", self.topic)
        if self.max_importance is not None:
            yield Condition(f"{_APART}importance", "lte", self.max_importance)
        if self.min_confidence is not None:
            yield Condition(f"{_APART}confidence", "gte", self.min_confidence)
        if self.max_confidence is not None:
            yield Condition(f"{_APART}confidence", "lte", self.max_confidence)

    def matches(self, record: Record) -> bool:
        """Return whether the record meets every condition."""
        return (
            record.type in self.record_types
            and _within(record.importance, self.min_importance, self.max_importance)
            and _within(record.confidence, self.min_confidence, self.max_confidence)
            and (self.subject is None or folded(self.subject) == folded(record.subject))
            and self.topic in (None, record.topic_key)
            and self._matches_origin(
                record.source.session, record.agent, record.created_at, record.metadata
            )
        )

    def matches_message(
        self, *, session: str, agent: str | None, created_at: int, metadata: Mapping[str, Any]
    ) -> bool:
        """Return whether a message of this session and agent meets every condition. The message was
        spoken at `created_at` (epoch milliseconds).
        """
        return self.includes_messages and self._matches_origin(session, agent, created_at, metadata)

    def _matches_origin(
        self, session: str | None, agent: str | None, created_at: int, metadata: Mapping[str, Any]
    ) -> bool:
        return (
            _within(created_at, self.created_after, self.created_before)
            and self.session in (None, session)
            and self.agent in (None, agent)
            and self._matches_metadata(metadata)
        )

    def _matches_metadata(self, metadata: Mapping[str, Any]) -> bool:
        if not self.metadata:
            return True
        terms = metadata_terms(metadata, most=None)
        return all(condition.test.passes(terms) for condition in conditions(self.metadata))


@overload
def folded(subject: str) -> str: ...
@overload
def folded(subject: None) -> None: ...
def folded(subject: str | None) -> str | None:
    """Return a subject in the form in which filters compare it, where case does not matter."""
    return None if subject is None else subject.casefold()


def record_terms(record: Record) -> tuple[str, ...]:
    """Return the terms of a record's document that filters test (`MemoryFilter.tests`)."""
    own = {
        "topic": record.topic_key,
        "importance": record.importance,
        "confidence": record.confidence,
    }
    fields = {f"{_APART}{name}": value for name, value in own.items() if value is not None}
    return (*metadata_terms(fields), *metadata_terms(record.metadata))


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


@dataclass(frozen=True, slots=True)
class StoredFilter:
    """A filter for records of one user in the form that a job stores: ids, numbers and digests,
    never text.

    `plain` has the conditions on numbers, times and ids. All other conditions are digests, which
    are compared with digests of the record's values. They are `subject`, `topic`, the entries that
    `metadata` must have, and `conditions` with other operators, as `operator:digests`.
    """

    owner: UserScope
    plain: MemoryFilter
    subject: str | None = None
    topic: str | None = None
    metadata: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, owner: UserScope, where: MemoryFilter) -> Self:
        """Return the stored form of a filter, in which digests replace its texts."""
        subject = topic = None
        if where.subject is not None:
            subject = _digest(owner, "subject", folded(where.subject))
        if where.topic is not None:
            topic = _digest(owner, "topic", where.topic)
        every = list(conditions(where.metadata))
        equal = [condition for condition in every if condition.operator == "eq"]
        others = [condition for condition in every if condition.operator != "eq"]
        return cls(
            owner,
            replace(where, subject=None, topic=None, metadata={}),
            subject=subject,
            topic=topic,
            metadata=frozenset(
                _digest(owner, condition.path, condition.value) for condition in equal
            ),
            conditions=frozenset(_stored(owner, condition) for condition in others),
        )

    @classmethod
    def of_payload(cls, owner: UserScope, payload: ForgetPayload) -> Self:
        """Return the filter of a payload that `payload()` made."""
        fields = {name: getattr(payload, name) for name in _PLAIN}
        plain = MemoryFilter(
            types=frozenset(cast("tuple[MemoryType, ...]", payload.types)), **fields
        )
        digests = {name: frozenset(getattr(payload, name)) for name in ("metadata", "conditions")}
        return cls(owner, plain, subject=payload.subject, topic=payload.topic, **digests)

    def payload(self) -> ForgetPayload:
        """Return the filter as the payload of a job."""
        return ForgetPayload(
            types=tuple(sorted(self.plain.types)),
            **{name: getattr(self.plain, name) for name in _PLAIN},
            subject=self.subject,
            topic=self.topic,
            metadata=tuple(sorted(self.metadata)),
            conditions=tuple(sorted(self.conditions)),
        )

    def matches(self, record: Record) -> bool:
        """Return whether the record meets every condition. The record must belong to the owner of
        the filter.
        """
        return (
            self.plain.matches(record)
            and self._matches_subject(record.subject)
            and self._is(self.topic, "topic", record.topic_key)
            and self._matches_metadata(record)
        )

    def _matches_subject(self, subject: str | None) -> bool:
        """Return whether the subject matches. Jobs of an earlier release hold the digest of a
        subject in its original case.
        """
        return self._is(self.subject, "subject", folded(subject)) or self._is(
            self.subject, "subject", subject
        )

    def _is(self, wanted: str | None, name: str, value: str | None) -> bool:
        return wanted is None or (value is not None and _digest(self.owner, name, value) == wanted)

    def _matches_metadata(self, record: Record) -> bool:
        if not self.metadata and not self.conditions:
            return True
        values = _Digests.of(self.owner, record.metadata)
        return self.metadata <= values.entries and all(map(values.meet, self.conditions))


@dataclass(frozen=True, slots=True)
class _Digests:
    """Digests of a record's metadata: of its entries and of its paths. `places` maps the digest of
    each path to the sorting text of its value.
    """

    entries: frozenset[str]
    paths: frozenset[str]
    places: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, owner: UserScope, metadata: Mapping[str, Any]) -> Self:
        values = list(leaves(metadata))
        paths = {above for path, _ in values for above in _paths_to(path)}
        placed = ((path, here) for path, value in values if (here := place(value)) is not None)
        return cls(
            frozenset(_digest(owner, path, value) for path, value in values),
            frozenset(_digest(owner, "exists", path) for path in paths),
            frozenset(
                (_digest(owner, f"range {here[:2]}", path), here[2:]) for path, here in placed
            ),
        )

    def meet(self, condition: str) -> bool:
        operator, _, wanted = condition.partition(":")
        digests = wanted.split(":")
        if operator in RANGES:
            return any(
                path == digests[0] and _compares(here, operator, digests[1])
                for path, here in self.places
            )
        having = self.paths if operator in ("exists", "absent") else self.entries
        return having.isdisjoint(digests) == (operator in ("ne", "absent"))


def _paths_to(path: str) -> Iterator[str]:
    """Yield the path and all paths above it. For `a.b.c` these are `a`, `a.b` and `a.b.c`."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        yield ".".join(names[:end])


def _compares(here: str, operator: str, there: str) -> bool:
    """Return whether the comparison of the two sorting texts is true."""
    return (here > there and "g" in operator) or (here < there and "l" in operator) or (
        here == there and operator.endswith("e")
    )  # fmt: skip


def _stored(owner: UserScope, condition: Condition) -> str:
    path, value = condition.path, condition.value
    if condition.operator == "exists":
        return f"{'exists' if value else 'absent'}:{_digest(owner, 'exists', path)}"
    if condition.operator in RANGES:
        here = place(value) or ""
        return f"{condition.operator}:{_digest(owner, f'range {here[:2]}', path)}:{here[2:]}"
    values = value if condition.operator == "in" else (value,)
    return f"{condition.operator}:{':'.join(_digest(owner, path, item) for item in values)}"


_PLAIN = (
    "min_importance",
    "max_importance",
    "min_confidence",
    "max_confidence",
    "created_after",
    "created_before",
    "session",
    "agent",
)


def _digest(owner: UserScope, name: str, value: Any) -> str:
    """Return a digest that differs between users, so that nobody can see that two users have the
    same value. 1 and 1.0 have the same digest.
    """
    text = json.dumps([owner.tenant, owner.user, name, _comparable(value)], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _comparable(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return float(value)
    except OverflowError:
        return place(value)
