"""The extractive block: what was learned of the user, the most telling first."""

from __future__ import annotations

from palimpsest.clock import Clock, milliseconds
from palimpsest.context.blocks.block import Conversation, Delete, Update, read_only
from palimpsest.context.blocks.current_records import CurrentRecords
from palimpsest.context.blocks.selection import Picking
from palimpsest.context.recollection import Ranking, Recollection
from palimpsest.conversations.configuration import ExtractiveBlock
from palimpsest.errors import ModelFailed
from palimpsest.memory.ports import Memories
from palimpsest.models.ports import ChatModel

DEGRADED = "retrieval_model"
DEFAULT = ExtractiveBlock(type="extractive")


class ExtractiveMemory:
    """Implements `Memory`. Keep one for all sessions: it keeps what it read of each user.

    `chat` picks the facts of a block that has a `retrieval_prompt`. `update` and `delete` say how a conversation
    changes what is remembered; without them it changes nothing from here.
    """

    def __init__(
        self,
        memories: Memories,
        clock: Clock,
        *,
        chat: ChatModel | None = None,
        update: Update = read_only,
        delete: Delete = read_only,
    ) -> None:
        self._records = CurrentRecords(memories, clock)
        self._memories = memories
        self._clock = clock
        self._picking = Picking(chat)
        self._update = update
        self._delete = delete

    def get(self, session: Conversation, message: str | None = None) -> Recollection:
        return self.chosen(session, self.read(session), message, asks=message is not None)

    def read(self, session: Conversation) -> Ranking:
        """What there is to choose from. Raises `Unavailable`."""
        return self._records.of(session.owner)

    def chosen(
        self, session: Conversation, records: Ranking, message: str | None, *, asks: bool = False
    ) -> Recollection:
        """The facts for a message, the most telling first. If it `asks`, a block with a `retrieval_prompt` has a model
        pick them; where that fails, rules do, and the answer says so.
        """
        block = session.config.block(ExtractiveBlock) or DEFAULT
        now = milliseconds(self._clock.now())
        items = records.ranked(message, session=session.scope.session, now=now)
        found = Recollection("extractive", items, max_tokens=block.max_tokens)
        if block.retrieval_prompt is None or not asks or not items:
            return found
        try:
            picked = self._picking(items, message or "", prompt=block.retrieval_prompt)
        except ModelFailed:
            return Recollection("extractive", items, max_tokens=block.max_tokens, degraded=(DEGRADED,))
        return Recollection("extractive", picked, max_tokens=block.max_tokens)

    def update(self, session: Conversation, message: str) -> None:
        self._update(session, message)

    def delete(self, session: Conversation) -> None:
        self._delete(session)
