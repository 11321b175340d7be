"""The filter that selects records and messages for a list, a search, a recall or a removal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast, get_args

from palimpsest.jobs.kinds import ForgetPayload
from palimpsest.memory.records import MAX_METADATA_TERMS, Record, RecordType
from palimpsest.scope import UserScope

MemoryType = Literal[RecordType, "message"]
MAX_TERM = 512  # characters of one metadata term


@dataclass(frozen=True, slots=True)
class Filter:
    """A record or message must meet every condition; an empty field is no condition. Values match exactly, limits are
    inclusive, times are epoch milliseconds. With `any_case` a subject matches in upper or lower case; search indexes
    do not support that.

    The time of a message is the time at which it was spoken. A message has no subject and no importance, so a filter
    with one of these matches no message.
    """

    types: frozenset[MemoryType] = frozenset()
    min_importance: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    subject: str | None = None
    session: str | None = None
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topic: str | None = None
    any_case: bool = False

    @property
    def record_types(self) -> frozenset[RecordType]:
        """The types of records that can match: every type if the filter names none."""
        return frozenset(each for each in get_args(RecordType) if not self.types or each in self.types)

    @property
    def includes_messages(self) -> bool:
        """Whether any message can match."""
        return (not self.types or "message" in self.types) and self.min_importance is None and self.subject is None

    @property
    def metadata_terms(self) -> tuple[str, ...]:
        """The metadata as the search index holds it."""
        return metadata_terms(self.metadata)

    def matches(self, record: Record) -> bool:
        """Whether the record meets every condition."""
        return (
            record.type in self.record_types
            and (self.min_importance is None or record.importance >= self.min_importance)
            and self._matches_subject(record.subject)
            and self.topic in (None, record.topic_key)
            and self._matches_origin(record.source.session, record.agent, record.created_at, record.metadata)
        )

    def _matches_subject(self, subject: str | None) -> bool:
        if self.subject is None or self.subject == subject:
            return True
        return self.any_case and subject is not None and self.subject.casefold() == subject.casefold()

    def matches_message(self, *, session: str, agent: str | None, created_at: int, metadata: Mapping[str, Any]) -> bool:
        """Whether a message of this session and agent meets every condition. It was spoken at `created_at` (epoch
        milliseconds).
        """
        return self.includes_messages and self._matches_origin(session, agent, created_at, metadata)

    def _matches_origin(
        self, session: str | None, agent: str | None, created_at: int, metadata: Mapping[str, Any]
    ) -> bool:
        return (
            (self.created_after is None or created_at >= self.created_after)
            and (self.created_before is None or created_at <= self.created_before)
            and self.session in (None, session)
            and self.agent in (None, agent)
            and all(metadata.get(name) == value for name, value in self.metadata.items())
        )


def metadata_terms(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `key=value` for each entry that a search can filter by: a text stays as it is, any other value becomes
    JSON. Terms longer than `MAX_TERM` characters are left out, and all after the first `MAX_METADATA_TERMS`.
    """
    terms = (
        f"{name}={value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)}"
        for name, value in metadata.items()
    )
    return tuple(term for term in terms if len(term) <= MAX_TERM)[:MAX_METADATA_TERMS]


@dataclass(frozen=True, slots=True)
class StoredFilter:
    """A filter for records of one user in the form that a job stores: ids, numbers and digests, never text.

    `plain` holds the conditions without subject and metadata. Of these two the job stores digests (`subject` and
    `metadata`), and compares them with digests of the record's own values.
    """

    owner: UserScope
    plain: Filter
    subject: str | None = None
    metadata: frozenset[str] = frozenset()

    @classmethod
    def of(cls, owner: UserScope, where: Filter) -> Self:
        """Make the stored form of a filter: digests replace its texts."""
        return cls(
            owner,
            replace(where, subject=None, metadata={}),
            subject=None if where.subject is None else _digest(owner, "subject", where.subject),
            metadata=frozenset(_digest(owner, name, value) for name, value in where.metadata.items()),
        )

    @classmethod
    def of_payload(cls, owner: UserScope, payload: ForgetPayload) -> Self:
        """Make the filter again from the result of `payload()`."""
        given = {name: getattr(payload, name) for name in _PLAIN}
        plain = Filter(types=frozenset(cast("tuple[MemoryType, ...]", payload.types)), **given)
        return cls(owner, plain, subject=payload.subject, metadata=frozenset(payload.metadata))

    def payload(self) -> ForgetPayload:
        """Return the filter as the payload of a job."""
        return ForgetPayload(
            types=tuple(sorted(self.plain.types)),
            **{name: getattr(self.plain, name) for name in _PLAIN},
            subject=self.subject,
            metadata=tuple(sorted(self.metadata)),
        )

    def matches(self, record: Record) -> bool:
        """Whether the record, one of the owner's, meets every condition."""
        return self.plain.matches(record) and self._matches_subject(record) and self._matches_metadata(record)

    def _matches_subject(self, record: Record) -> bool:
        if self.subject is None:
            return True
        return record.subject is not None and _digest(self.owner, "subject", record.subject) == self.subject

    def _matches_metadata(self, record: Record) -> bool:
        if not self.metadata:
            return True
        return self.metadata <= {_digest(self.owner, name, value) for name, value in record.metadata.items()}


_PLAIN = ("min_importance", "created_after", "created_before", "session", "agent")


def _digest(owner: UserScope, name: str, value: Any) -> str:
    """Return a digest that differs between users: nobody can see that two users have the same value. The values 1, 1.0
    and true have the same digest.
    """
    comparable = float(value) if isinstance(value, bool | int | float) else value
    text = json.dumps([owner.tenant, owner.user, name, comparable], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
