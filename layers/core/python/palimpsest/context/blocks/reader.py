"""Reads all blocks of a session while its window is read. If a block fails, the context is made
without it and names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any

from palimpsest import parallel
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.ports import BlockContent, Conversation
from palimpsest.context.blocks.ranking import RecordRanking
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory
from palimpsest.conversations.blocks import PRIORITY, BlockType
from palimpsest.conversations.ports import PartState, Store
from palimpsest.errors import PalimpsestError, Unavailable
from palimpsest.jobs.job import Job
from palimpsest.memory.ports import Memories
from palimpsest.memory.stated_in import Place
from palimpsest.scope import Scope

PATIENCE = 5.0  # seconds that a context waits for its blocks
BEGUN: Sequence[BlockType] = ("extractive", "vector", "static")
"""The order in which blocks are begun. The vector block takes longest, but uses the records that
the extractive block reads.
"""


@dataclass(frozen=True, slots=True)
class BlockReader:
    """The blocks of this service. If a session's configuration names a block that is None here, the
    block counts as failed.
    """

    static: StaticMemory | None = None
    extractive: ExtractiveMemory | None = None
    vector: VectorMemory | None = None

    def begin(self, session: Conversation, *, newest: str | None, asks: bool) -> BlockReads:
        """Begin to read the session's blocks. `newest` is the message that the model will answer.
        Without it, the vector block is not read. With `asks`, a model may select facts.
        """
        until = monotonic() + PATIENCE
        wanted = [
            block.type
            for block in session.config.blocks
            if self._is_wanted(block.type, session, newest)
        ]
        tasks: dict[BlockType, parallel.Task[Any]] = {}
        for block in sorted(wanted, key=BEGUN.index):
            read = partial(self._read, block, session, newest, records=tasks.get("extractive"))
            tasks[block] = parallel.begin(read, until=until)
        shown = {block: tasks[block] for block in PRIORITY if block in tasks}
        return BlockReads(self, session, newest, shown, asks=asks)

    def _is_wanted(self, block: BlockType, session: Conversation, newest: str | None) -> bool:
        if block == "vector" and newest is None:
            return False
        # A service may lack a default block without a failure (docs/adr/0020).
        return session.config.names_blocks or getattr(self, block) is not None

    def _read(
        self,
        block: BlockType,
        session: Conversation,
        newest: str | None,
        *,
        records: parallel.Task[RecordRanking] | None,
    ) -> Any:
        """Read a block. The vector block also gets the user's `records`, which are being read, so
        that it need not read them itself.
        """
        memory = {"static": self.static, "extractive": self.extractive, "vector": self.vector}[
            block
        ]
        if memory is None:
            raise Unavailable("This service does not have that memory block.", code="no_such_block")
        if isinstance(memory, ExtractiveMemory | StaticMemory):
            return memory.read(session)
        outdated = None if records is None else partial(_outdated, records)
        return memory.get(session, newest, outdated=outdated)


def _outdated(records: parallel.Task[RecordRanking]) -> frozenset[Place] | None:
    """Return the messages that say a value which no longer holds, or None if that is not known. If
    the records can't be read, the vector block does without them.
    """
    try:
        outdated = records.result().outdated
    except (PalimpsestError, TimeoutError):
        return None
    return None if outdated is None else outdated()


@dataclass(frozen=True, slots=True)
class BlockReads:
    """Blocks that are being read. `failures` has the error's code or name of each failed block."""

    blocks: BlockReader
    session: Conversation
    newest: str | None
    tasks: Mapping[BlockType, parallel.Task[Any]]
    asks: bool
    failures: dict[str, str] = field(default_factory=dict)

    def results(self, message: str | None) -> tuple[BlockContent, ...]:
        """Return the content of each block. `message` is the user's newest message. Never
        raises.
        """
        return tuple(self._result(block, task, message) for block, task in self.tasks.items())

    def _result(
        self, block: BlockType, task: parallel.Task[Any], message: str | None
    ) -> BlockContent:
        extractive = self.blocks.extractive
        if block == "extractive" and extractive is not None:
            return self._safely(block, lambda: self._facts(extractive, task.result(), message))
        static = self.blocks.static
        if block == "static" and static is not None:
            return self._safely(block, lambda: static.chosen(self.session, task.result()))
        return self._safely(block, task.result)

    def _facts(
        self, extractive: ExtractiveMemory, records: RecordRanking, message: str | None
    ) -> BlockContent:
        question = self.newest or message
        content = extractive.chosen(self.session, records, question, asks=self.asks)
        return replace(content, stable=extractive.stable(self.session, records))

    def _safely(self, block: BlockType, read: Callable[[], BlockContent]) -> BlockContent:
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - after any error, the window alone must answer
            self.failures[block] = (
                error.code if isinstance(error, PalimpsestError) else type(error).__name__
            )
            return BlockContent(block, degraded=(block,))


def stores(memories: Memories) -> Mapping[BlockType, Store]:
    """Return a test for each block that stores messages before they leave a window. The test says
    whether the block has stored the messages of a job's range.
    """

    def extracted(job: Job) -> PartState:
        """Return the state of the job's range: `stored` once it is extracted, `failed` as long as a
        part of it is parked, else `pending`.
        """
        progress = memories.progress(Scope(job.tenant).user(job.user or ""), job.session)
        if any(first <= job.last and last >= job.first for first, last in progress.parked):
            return "failed"
        return "stored" if progress.through >= job.last else "pending"

    return {"extractive": extracted, "vector": _in_the_table}


def _in_the_table(_job: Job) -> PartState:
    """Return `stored`, because messages are stored when they are appended. Their vectors are stored
    later, through the stream.
    """
    return "stored"
