"""The blocks of one context, read beside its window: what fails is named, and never stands in the window's way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from palimpsest import parallel
from palimpsest.context.blocks.block import Conversation
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vector import VectorMemory
from palimpsest.context.recollection import Recollection
from palimpsest.conversations.configuration import BlockType
from palimpsest.errors import PalimpsestError, Unavailable

PATIENCE = 5.0  # seconds that a context waits for its blocks at most


@dataclass(frozen=True, slots=True)
class Blocks:
    """What this place can read. A block that is configured and not here counts as one that failed."""

    static: StaticMemory | None = None
    extractive: ExtractiveMemory | None = None
    vector: VectorMemory | None = None

    def begin(self, session: Conversation, *, given: str | None, patience: float = PATIENCE) -> Reading:
        """Start to read the session's blocks. `given` is the message about to be sent: only for one the vector block
        looks for what resembles it, and a model is asked.
        """
        wanted = [block.type for block in session.config.blocks if block.type != "vector" or given is not None]
        until = monotonic() + patience
        tasks = {block: parallel.begin(partial(self._read, block, session, given), until=until) for block in wanted}
        return Reading(self, session, given, tasks)

    def _read(self, block: BlockType, session: Conversation, given: str | None) -> Any:
        memory = {"static": self.static, "extractive": self.extractive, "vector": self.vector}[block]
        if memory is None:
            raise Unavailable("This block can't be read here.", code="no_such_block")
        return memory.read(session) if isinstance(memory, ExtractiveMemory) else memory.get(session, given)


@dataclass(frozen=True, slots=True)
class Reading:
    """Blocks that are being read."""

    blocks: Blocks
    session: Conversation
    given: str | None
    tasks: Mapping[BlockType, parallel.Task[Any]]
    failures: dict[str, str] = field(default_factory=dict)  # what failed, by its error's code or name

    def finished(self, message: str | None) -> tuple[Recollection, ...]:
        """What each block brings; `message` is the newest that the user said. Never raises."""
        return tuple(self._finished(block, task, message) for block, task in self.tasks.items())

    def _finished(self, block: BlockType, task: parallel.Task[Any], message: str | None) -> Recollection:
        extractive = self.blocks.extractive
        if block == "extractive" and extractive is not None:
            asks = self.given is not None
            return self._safely(
                block, lambda: extractive.chosen(self.session, task.result(), self.given or message, asks=asks)
            )
        return self._safely(block, task.result)

    def _safely(self, block: BlockType, read: Callable[[], Recollection]) -> Recollection:
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - whatever it is, the window alone must answer
            self.failures[block] = error.code if isinstance(error, PalimpsestError) else type(error).__name__
            return Recollection(block, degraded=(block,))
