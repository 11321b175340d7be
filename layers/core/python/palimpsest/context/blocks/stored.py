"""The block of extracted facts in a caller's own store. It is searched with the user's newest
message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palimpsest.clock import Clock
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.ports import BlockContent, Conversation
from palimpsest.context.blocks.ranking import RecordRanking
from palimpsest.memory.ports import Memories
from palimpsest.memory.preferences import newest
from palimpsest.memory.record import Record
from palimpsest.models.ports import ChatModel
from palimpsest.scope import UserScope

PREFERENCES = 100
Known = Callable[[UserScope, str], Sequence[Record]]
"""Finds the memories of a user that a message is about, and the newest ones."""


class ExtractiveInStore(ExtractiveMemory):
    """Implements `MemoryBlock` as `ExtractiveMemory` does. `known` finds the memories. Preferences
    come from `memories`.
    """

    def __init__(
        self, memories: Memories, clock: Clock, *, known: Known, chat: ChatModel | None = None
    ) -> None:
        super().__init__(memories, clock, chat=chat)
        self._preferences, self._known = memories, known

    def read(self, session: Conversation) -> RecordRanking:
        return RecordRanking(newest(self._preferences, session.owner, limit=PREFERENCES))

    def chosen(
        self,
        session: Conversation,
        records: RecordRanking,
        message: str | None,
        *,
        asks: bool = False,
    ) -> BlockContent:
        ranking = (*records.records, *self._known(session.owner, message or ""))
        return super().chosen(session, RecordRanking(ranking), message, asks=asks)
