"""Find a user's sessions by words that were said in them."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.recall.one_retriever import SearchMemories
from palimpsest.recall.request import RecallFilter
from palimpsest.scope import UserScope

MESSAGES = 100  # that are looked at: several are of one session
SAID = RecallFilter(types=frozenset({"message"}))


@dataclass(frozen=True, slots=True)
class FindSessions:
    search: SearchMemories

    def __call__(self, scope: UserScope, words: str, *, limit: int) -> tuple[str, ...]:
        """Ids of live sessions, the one with the best match first. Raises `Unavailable`."""
        found = self.search(scope, words, mode="keyword", k=MESSAGES, where=SAID)
        return tuple(dict.fromkeys(str(one.source.session) for one in found))[:limit]
