"""The vector block: past interactions that resemble the message by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from palimpsest.context.blocks.block import Conversation, Delete, Update, read_only
from palimpsest.context.recollection import Item, Recollection
from palimpsest.conversations.configuration import VectorBlock
from palimpsest.scope import UserScope

DEFAULT = VectorBlock(type="vector")
MORE = 20  # than are shown are asked for: those of the window's own messages are not repeated


class Resembling(Protocol):
    def __call__(self, owner: UserScope, text: str, *, k: int) -> Sequence[Item]:
        """The k past interactions that resemble the text most, the nearest first; `score` is the similarity (-1..1).

        Only what is there, and nothing of a session that was deleted or has expired. Raises `Unavailable`,
        `ModelFailed`.
        """


class VectorMemory:
    """Implements `Memory`. Without a message there is nothing to compare, and it brings nothing."""

    def __init__(self, resembling: Resembling, *, update: Update = read_only, delete: Delete = read_only) -> None:
        self._resembling = resembling
        self._update = update
        self._delete = delete

    def get(self, session: Conversation, message: str | None = None) -> Recollection:
        if message is None or not message.strip():
            return Recollection("vector")
        block = session.config.block(VectorBlock) or DEFAULT
        found = self._resembling(session.owner, message, k=block.k + MORE)
        items = (item for item in found if block.min_score is None or (item.score or 0.0) >= block.min_score)
        return Recollection("vector", tuple(items), most=block.k)

    def update(self, session: Conversation, message: str) -> None:
        self._update(session, message)

    def delete(self, session: Conversation) -> None:
        self._delete(session)
