"""Tenants: who may call, the defaults of their sessions, and the facts that hold for all their users."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from palimpsest.clock import Clock, seconds, stamp
from palimpsest.errors import Conflict, FieldError, InvalidKey, NotFound, TooLarge, Unauthenticated, Unprocessable
from palimpsest.jobs import Job
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, checked_id
from palimpsest.text.json_values import readable


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`id` is the SHA-256 (hex) of the key; `expires_at` is in epoch seconds, None = never."""

    id: str
    tenant: str
    scopes: frozenset[str]
    expires_at: int | None = None
    revoked: bool = False
    label: str = ""
    created_at: str = ""


DAY = 24 * 3600
PERMANENT = frozenset({"task", "preference"})
"""Types of records that are kept for ever, unless the tenant says otherwise; a task ends with its session."""


NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a tenant may use: requests in a second, sessions at a time, memories of each user at a time, and US dollars
    for model calls in a calendar month (UTC). None limits nothing.
    """

    requests_per_second: int | None = None
    sessions: int | None = None
    memories: int | None = None
    model_cost_usd: float | None = None

    @property
    def model_cost(self) -> int | None:
        """In billionths of a dollar."""
        return None if self.model_cost_usd is None else round(self.model_cost_usd * NANO)


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """Defaults of new sessions: memory configuration (fields over the built-in defaults) and retention.

    `models` are those of the operator's list that the tenant's sessions may name; None = all of it. Sessions are kept
    `retention_days` after their last activity; facts, events and instructions `memory_days` after they were last
    written or confirmed, preferences for ever, and types that `by_type` names so many days; None = for ever. `change`
    identifies the last change of these days.
    """

    memory: Mapping[str, Any] = field(default_factory=dict)
    retention_days: int | None = 30
    memory_days: int | None = 365
    by_type: Mapping[str, int | None] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    change: str | None = None
    limits: Limits = Limits()

    @property
    def days(self) -> tuple[int | None, int | None, Mapping[str, int | None]]:
        """All that decides how long data is kept."""
        return self.retention_days, self.memory_days, {**self.by_type}

    def lifetime(self, record_type: str) -> int | None:
        """Seconds until a record expires after it was last written or confirmed; None = never."""
        days = self.by_type.get(record_type, None if record_type in PERMANENT else self.memory_days)
        return None if days is None else days * DAY


class Tenants(Protocol):
    """Raises `Unavailable` if the store can't answer."""

    def api_key(self, key_id: str) -> ApiKey | None:
        """The key stored under that SHA-256."""

    def settings(self, scope: Scope) -> TenantSettings:
        """The tenant's settings; the built-in ones if it never set any."""

    def log_key(self, scope: Scope) -> bytes:
        """The tenant's secret with which logs name users. It is made when it is first asked for, and never changes."""

    def replace_settings(
        self, scope: Scope, settings: TenantSettings, *, before: TenantSettings | None = None, job: Job | None = None
    ) -> None:
        """Store them; sessions made from now on take them. The job is stored in the same transaction.

        Raises `CommitLost` unless the last change of retention is still that of `before`, if that is given.
        """


@dataclass(frozen=True, slots=True)
class StaticFact:
    """`content` is any JSON. `agent` None: for every agent. `updated_at` is RFC 3339."""

    id: str
    content: Any
    updated_at: str
    agent: str | None = None

    @property
    def text(self) -> str:
        """The content as contexts show it."""
        return readable(self.content)


class StaticFacts(Protocol):
    """Every read is strongly consistent, and every call raises `Unavailable` if the store can't answer."""

    def version(self, scope: Scope) -> int:
        """Grows with every change: what was read at another is stale. 0 = there never was a fact."""

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        """The fact with this id."""

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        """The tenant's facts, by id."""

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        """Store the fact, or replace the one under its id. Raises `CommitLost` if the version is another one."""

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        """Remove the fact, whether or not it is there. Raises `CommitLost` if the version is another one."""


BEARER = re.compile(r"(?:Bearer|Token) (pal_[A-Za-z0-9_-]{43})", re.IGNORECASE)

KNOWN_SECONDS = 60  # how long a key that was revoked may still be good
MOST_KEYS = 1_000


def key_id(secret: str) -> str:
    """What a key is stored under: its SHA-256, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Authorize:
    """A key that was found is not looked up again for `KNOWN_SECONDS`, in this process. Nobody issues tokens."""

    issuer: ClassVar[str] = ""
    tenants: Tenants
    clock: Clock
    known: dict[str, tuple[int, ApiKey]] = field(default_factory=dict)

    def __call__(self, authorization: str | None) -> ApiKey:
        """The key behind `Authorization: Bearer pal_…` (`Token pal_…` from clients of mem0).

        Raises `Unauthenticated` without a credential, `InvalidKey` for one that is malformed, unknown, revoked or
        expired, and `Unavailable`.
        """
        if not authorization:
            raise Unauthenticated("The call carries no key.")
        match, now = BEARER.fullmatch(authorization), seconds(self.clock.now())
        key = self._found(key_id(match[1]), now) if match else None
        if key is None or key.revoked or (key.expires_at is not None and key.expires_at <= now):
            raise InvalidKey("The key is not valid.")
        return key

    def _found(self, id_: str, now: int) -> ApiKey | None:
        since, key = self.known.get(id_, (0, None))
        if key is not None and now - since < KNOWN_SECONDS:
            return key
        if found := self.tenants.api_key(id_):
            if len(self.known) >= MOST_KEYS:
                self.known.clear()
            self.known[id_] = (now, found)
        return found


MOST_FACTS = 200
LONGEST_FACT = 4_000  # characters, as contexts show it


@dataclass(frozen=True, slots=True)
class ManageStaticFacts:
    facts: StaticFacts
    clock: Clock

    def listed(self, scope: Scope) -> tuple[StaticFact, ...]:
        """All of the tenant's facts, by id."""
        return self.facts.all(scope)

    def read(self, scope: Scope, fact_id: str) -> StaticFact:
        """The fact with this id. Raises `BadRequest` (`invalid_id`), `NotFound` (`fact_not_found`), `Unavailable`."""
        fact = self.facts.get(scope, checked_id(fact_id, field="id"))
        if fact is None:
            raise NotFound("There is no such static fact.", code="fact_not_found")
        return fact

    def put(self, scope: Scope, fact_id: str, *, content: Any, agent: str | None = None) -> bool:
        """Store a fact, which is any JSON, under its id; return whether it is a new one.

        Raises `BadRequest` (`invalid_id`), `Unprocessable`, `TooLarge` (`fact_too_large`), `Conflict`
        (`too_many_facts`), `Unavailable`.
        """
        fact = StaticFact(
            id=checked_id(fact_id, field="id"),
            content=_checked(content),
            updated_at=stamp(self.clock.now()),
            agent=None if agent is None else checked_id(agent, field="agent_id"),
        )
        return until_committed(lambda: self._put(scope, fact), clock=self.clock)

    def _put(self, scope: Scope, fact: StaticFact) -> bool:
        version = self.facts.version(scope)
        ids = {each.id for each in self.facts.all(scope)}
        if fact.id not in ids and len(ids) >= MOST_FACTS:
            raise Conflict(f"A tenant has at most {MOST_FACTS} static facts.", code="too_many_facts")
        self.facts.put(scope, fact, version=version)
        return fact.id not in ids

    def delete(self, scope: Scope, fact_id: str) -> None:
        """Remove a fact. Raises `NotFound` (`fact_not_found`), `Unavailable`."""
        until_committed(lambda: self._delete(scope, fact_id), clock=self.clock)

    def _delete(self, scope: Scope, fact_id: str) -> None:
        version = self.facts.version(scope)
        self.read(scope, fact_id)
        self.facts.delete(scope, fact_id, version=version)


def _checked(content: Any) -> Any:
    said = readable(content)
    if not said.strip():
        raise Unprocessable("A fact says something.", errors=(FieldError("content", "must not be empty"),))
    if len(said) > LONGEST_FACT:
        error = FieldError("content", f"{len(said)} characters of at most {LONGEST_FACT}")
        raise TooLarge("The fact is too long.", code="fact_too_large", errors=(error,))
    return content
