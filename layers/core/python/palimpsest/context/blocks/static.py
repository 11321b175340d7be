"""The static block: what the tenant states. A conversation reads it and never changes it."""

from __future__ import annotations

from palimpsest.context.blocks.block import Conversation, read_only
from palimpsest.context.blocks.cache import Kept
from palimpsest.context.recollection import Item, Recollection
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact, StaticFacts

MOST_KEPT = 2_000  # facts within a process


class StaticMemory:
    """Implements `Memory`. Facts that did not change cost one small read. Keep one for all sessions."""

    def __init__(self, facts: StaticFacts) -> None:
        self._facts = facts
        self._kept: Kept[str, tuple[int, tuple[StaticFact, ...]]] = Kept(most=MOST_KEPT)

    def get(self, session: Conversation, message: str | None = None) -> Recollection:  # noqa: ARG002 - for any
        facts = self._all(session.scope.owner)
        return Recollection("static", tuple(_item(fact) for fact in facts if fact.agent in (None, session.agent)))

    def update(self, session: Conversation, message: str) -> None:
        read_only(session, message)

    def delete(self, session: Conversation) -> None:
        read_only(session)

    def _all(self, scope: Scope) -> tuple[StaticFact, ...]:
        version = self._facts.version(scope)
        kept = self._kept.get(scope.tenant)
        if kept is not None and kept[0] == version:
            return kept[1]
        facts = self._facts.all(scope) if version else ()
        self._kept.put(scope.tenant, (version, facts), weight=1 + len(facts))
        return facts


def _item(fact: StaticFact) -> Item:
    return Item(id=fact.id, kind="static", text=fact.content, agent=fact.agent)
