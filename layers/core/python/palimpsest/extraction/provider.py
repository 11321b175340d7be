"""The protocol of a history that an application keeps itself, from which memories are extracted without storing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

SaidOutside = str | Mapping[str, Any]
"""A chat message as `openai` has it, with an `id` if it has one, or the user's text."""
FIRST_PAGE = 50


class ChatHistoryProvider(Protocol):
    """A history that its owner keeps, by session. `RecentHistory` and `CountedHistory` save reading."""

    def load(self, session_id: str) -> Sequence[SaidOutside]:
        """Every message of the session, oldest first; none for an unknown session."""


@runtime_checkable
class RecentHistory(ChatHistoryProvider, Protocol):
    def load_recent(self, session_id: str, limit: int) -> Sequence[SaidOutside]:
        """The newest `limit` messages, oldest of them first; fewer only if there are no more."""


@runtime_checkable
class CountedHistory(ChatHistoryProvider, Protocol):
    def count(self, session_id: str) -> int:
        """How many messages the session has. With it `load_recent` also serves messages that have no ids."""


def newest(
    history: ChatHistoryProvider, session: str, *, has_met: Callable[[Mapping[str, Any]], bool]
) -> Sequence[Mapping[str, Any]]:
    """The messages of the session, oldest first, each with an id: its own, or else its place, counted from 1. Of a
    `RecentHistory` only those from one on that `has_met` knows.
    """
    limit = FIRST_PAGE
    while isinstance(history, RecentHistory):
        count = history.count(session) if isinstance(history, CountedHistory) else None
        page = history.load_recent(session, limit)
        if len(page) < limit:
            return _identified(page, before=0)
        if count is None and not all(map(_has_id, page)):
            break
        found = _identified(page, before=(count or len(page)) - len(page))
        if has_met(found[0]):
            return found
        limit *= 4
    return _identified(history.load(session), before=0)


def _has_id(said: SaidOutside) -> bool:
    return not isinstance(said, str) and bool(said.get("id"))


def _identified(messages: Sequence[SaidOutside], *, before: int) -> list[Mapping[str, Any]]:
    """The messages with ids; `before` is how many stand before them."""
    whole = [{"role": "user", "content": said} if isinstance(said, str) else said for said in messages]
    return [{**said, "id": said.get("id") or str(place)} for place, said in enumerate(whole, before + 1)]
