"""What a forgetting is limited to, as a job may hold it: ids, numbers and digests, never a text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from palimpsest.memory.records import Record, RecordType
from palimpsest.scope import UserScope


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are epoch milliseconds. Subject and metadata match by digest: to compare, nobody needs the words."""

    owner: UserScope
    types: frozenset[RecordType] = frozenset()
    min_importance: float | None = None
    created_after: int | None = None
    created_before: int | None = None
    session: str | None = None
    agent: str | None = None
    subject: str | None = None
    terms: frozenset[str] = frozenset()

    @classmethod
    def of(cls, owner: UserScope, *, subject: str | None, metadata: Mapping[str, Any], **plain: Any) -> Self:
        return cls(
            owner,
            subject=None if subject is None else _digest(owner, "subject", subject),
            terms=frozenset(_digest(owner, name, value) for name, value in metadata.items()),
            **plain,
        )

    @classmethod
    def read(cls, owner: UserScope, told: Mapping[str, Any]) -> Self:
        """The limits that `told` gave."""
        plain = {name: told.get(name) for name in _PLAIN}
        types = cast("list[RecordType]", told["types"])
        return cls(owner, types=frozenset(types), terms=frozenset(told["terms"]), **plain)

    def told(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {"types": sorted(self.types), "terms": sorted(self.terms), **plain}

    def matches(self, record: Record) -> bool:
        return (
            (not self.types or record.type in self.types)
            and (self.min_importance is None or record.importance >= self.min_importance)
            and (self.created_after is None or record.created_at >= self.created_after)
            and (self.created_before is None or record.created_at <= self.created_before)
            and self.session in (None, record.source.session)
            and self.agent in (None, record.agent)
            and self._says(record)
        )

    def _says(self, record: Record) -> bool:
        if self.subject is not None and (
            record.subject is None or _digest(self.owner, "subject", record.subject) != self.subject
        ):
            return False
        return not self.terms or self.terms <= {
            _digest(self.owner, name, value) for name, value in record.metadata.items()
        }


_PLAIN = ("min_importance", "created_after", "created_before", "session", "agent", "subject")


def _digest(owner: UserScope, name: str, value: Any) -> str:
    """Of a user's own, so that equal words of two users cannot be told to be equal. 1, 1.0 and true are one value."""
    said = float(value) if isinstance(value, bool | int | float) else value
    text = json.dumps([owner.tenant, owner.user, name, said], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
