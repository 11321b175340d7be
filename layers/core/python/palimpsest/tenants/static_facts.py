"""The static facts, which a tenant states for all its users. Its agents see them in every
context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palimpsest.clock import Clock, stamp
from palimpsest.errors import Conflict, FieldError, NotFound, TooLarge, Unprocessable
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, checked_id
from palimpsest.tenants.ports import StaticFact, StaticFacts
from palimpsest.text.json_values import readable

MOST_FACTS = 200  # every context of an agent reads them all

LONGEST_FACT = 4_000  # characters, as contexts show it


@dataclass(frozen=True, slots=True)
class ManageStaticFacts:
    facts: StaticFacts
    clock: Clock

    def listed(self, scope: Scope) -> tuple[StaticFact, ...]:
        """Return all of the tenant's facts, ordered by id."""
        return self.facts.all(scope)

    def read(self, scope: Scope, fact_id: str) -> StaticFact:
        """Return the fact with this id. Raises `BadRequest` (`invalid_id`), `NotFound`
        (`fact_not_found`), `Unavailable`.
        """
        fact = self.facts.get(scope, checked_id(fact_id, field="id"))
        if fact is None:
            raise NotFound("There is no such static fact.", code="fact_not_found")
        return fact

    def put(self, scope: Scope, fact_id: str, *, content: Any, agent: str | None = None) -> bool:
        """Store a fact under its id, and return whether it is new. `content` is any JSON. Raises
        `BadRequest` (`invalid_id`), `Unprocessable`, `TooLarge` (`fact_too_large`), `Conflict`
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
        ids = {stored.id for stored in self.facts.all(scope)}
        if fact.id not in ids and len(ids) >= MOST_FACTS:
            raise Conflict(
                f"A tenant has at most {MOST_FACTS} static facts.", code="too_many_facts"
            )
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
    text = readable(content)
    if not text.strip():
        raise Unprocessable(
            "A fact must not be empty.", errors=(FieldError("content", "must not be empty"),)
        )
    if len(text) > LONGEST_FACT:
        error = FieldError(
            "content", f"has {len(text)} characters; at most {LONGEST_FACT} are allowed"
        )
        raise TooLarge("The fact is too long.", code="fact_too_large", errors=(error,))
    return content
