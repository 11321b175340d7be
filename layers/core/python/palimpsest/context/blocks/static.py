"""The static block, which holds the tenant's facts."""

from __future__ import annotations

import threading
from datetime import datetime

from cachetools import LRUCache

from palimpsest.clock import milliseconds
from palimpsest.context.blocks.ports import BlockContent, Conversation, Item, StableItems, read_only
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact, StaticFacts

MOST_STATED = 2_000  # static facts in a process; a tenant has at most 200

_Facts = tuple[int, tuple[StaticFact, ...]]  # with the version of the facts


class StaticMemory:
    """Implements `MemoryBlock`. Make one for all sessions. If the facts did not change, a call
    takes one small read.
    """

    def __init__(self, facts: StaticFacts) -> None:
        self._facts = facts
        self._cache: LRUCache[str, _Facts] = LRUCache(
            MOST_STATED, getsizeof=lambda cached: 1 + len(cached[1])
        )
        self._lock = threading.Lock()

    def get(self, session: Conversation, message: str | None = None) -> BlockContent:  # noqa: ARG002 - for any
        return self.chosen(session, self.read(session))

    def read(self, session: Conversation) -> tuple[StaticFact, ...]:
        """Return the tenant's facts, from which the context chooses. Raises `Unavailable`."""
        return self._all(session.scope.owner)

    def chosen(self, session: Conversation, facts: tuple[StaticFact, ...]) -> BlockContent:
        """Return the facts for the session's agent."""
        stated = [fact for fact in facts if fact.agent in (None, session.agent)]
        frozen_at = session.frozen_at
        since = [fact for fact in stated if frozen_at is not None and _changed_at(fact) > frozen_at]
        stable = [fact for fact in stated if fact not in since]
        return BlockContent(
            "static",
            tuple(map(_item, stated)),
            stable=StableItems(tuple(map(_item, stable)), added=tuple(map(_item, since))),
        )

    def update(self, session: Conversation, message: str) -> None:
        read_only(session, message)

    def delete(self, session: Conversation) -> None:
        read_only(session)

    def _all(self, scope: Scope) -> tuple[StaticFact, ...]:
        version = self._facts.version(scope)
        with self._lock:
            cached = self._cache.get(scope.tenant)
        if cached is not None and cached[0] == version:
            return cached[1]
        facts = self._facts.all(scope) if version else ()
        with self._lock:
            self._cache[scope.tenant] = (version, facts)
        return facts


def _changed_at(fact: StaticFact) -> int:
    """Return when the fact got its present content, in epoch milliseconds."""
    return milliseconds(datetime.fromisoformat(fact.updated_at))


def _item(fact: StaticFact) -> Item:
    return Item(id=fact.id, kind="static", text=fact.text, agent=fact.agent)
