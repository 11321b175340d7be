"""Conversations with all their memory within one process: window, static facts, extraction, search,
flush.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.context.blocks.reader import stores
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.message import Chat
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.overflow.flush import FlushWindow, then_flush
from palimpsest.conversations.ports import PartState
from palimpsest.conversations.session import Compaction
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.job import Job
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import ChatModel
from palimpsest.tenants.settings import TenantSettings
from palimpsest.tenants.static_facts import ManageStaticFacts
from palimpsest_local.stores.state import Faults

from tests.service import SARAH, TENANT
from tests.unit.context.blocks.remembered import Watched
from tests.unit.extraction.service import ExtractionService


def spoken(context: SessionContext) -> list[Chat]:
    """The messages without the one that carries the memory."""
    return [chat for chat in context.messages if not str(chat["content"]).startswith("<memory>")]


class ContextService(ExtractionService):
    """Conversations with all their memory. What the front door reads is watched."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        faults: Faults | None = None,
        chat: ChatModel | None = None,
        **memory: Any,
    ) -> None:
        super().__init__(folder=folder, faults=faults, extract="auto", selector=chat)
        self.tenants.replace_settings(TENANT, TenantSettings(memory=memory))
        self.remember = Remember(self.memories, self.tenants, self.clock)
        self.static_facts = ManageStaticFacts(self.facts, self.clock)
        self.read_context = (
            self.app if folder is None and chat is None else self.memories_app
        ).context
        self.history = self.app.history
        self.arm = Arm(self.sessions, self.clock)
        self.stores_of_blocks: dict[BlockType, Any] = dict(stores(self.memories))
        self.flush = FlushWindow(self.sessions, self.jobs, self.stores_of_blocks, self.clock)

    def front_stores(self) -> dict[str, Any]:
        self.watched_memories: Any = Watched(self.memories)
        self.watched_facts: Any = Watched(self.facts)
        self.watched_sessions: Any = Watched(self.sessions)
        watched = {
            "sessions": self.watched_sessions,
            "memories": self.watched_memories,
            "facts": self.watched_facts,
        }
        return super().front_stores() | watched

    @property
    def outbox(self) -> list[Job]:
        return self.sessions.outbox

    def handle(self, job: Job) -> None:
        """One delivery: of a flush, or of extraction and the flush that may wait for it."""
        notice = JobNotice(job.tenant, job.id, job.kind)
        if job.kind == "flush":
            self.flush(notice)
        else:
            then_flush(self.extract, self.flush)(notice)

    def fail(self, job: Job, *, error: str = "unavailable") -> None:
        give_up = (
            self.give_up_overflow if job.kind == "flush" else then_flush(self.give_up, self.flush)
        )
        give_up(JobNotice(job.tenant, job.id, job.kind), error=error)

    def talk(
        self, turns: Sequence[tuple[str, str]] | int, *, session: str = "s", letters: int = 40
    ) -> None:
        """Whole turns: a question and its answer."""
        if isinstance(turns, int):
            turns = [("q" * letters, "a" * letters)] * turns
        for question, answer in turns:
            self.put({"role": "user", "content": question}, session=session)
            self.put({"role": "assistant", "content": answer}, session=session)

    def state_fact(self, name: str, content: str, **more: Any) -> None:
        self.static_facts.put(TENANT, name, content=content, **more)

    def learn(self, content: str, **more: Any) -> None:
        self.remember(SARAH, [Statement(more.pop("type", "fact"), content, **more)])

    def index_all(self, *sessions: str) -> None:
        """Have every record and every message of these sessions indexed."""
        changes: list[Changed] = [
            RecordChanged("acme", "sarah", record.id) for record in self.records()
        ]
        for name in sessions:
            last = self.head(name).seq
            changes += [MessageChanged("acme", name, seq) for seq in range(1, last + 1)]
        assert self.embed(changes) == ()

    def context(
        self, message: str | None = None, *, session: str = "s", **options: Any
    ) -> SessionContext:
        chat: Chat | None = None if message is None else {"role": "user", "content": message}
        return self.read_context(self.session(session), given=chat, **options)

    def shown(self, session: str = "s", **options: Any) -> list[str]:
        return [str(chat["content"]) for chat in spoken(self.context(session=session, **options))]

    def compactions(self, session: str = "s") -> tuple[Compaction, ...]:
        return self.history.compactions(self.session(session), limit=100)[0]

    def fails(self, part: BlockType, state: PartState | Exception) -> None:
        """Have a block say this of what it stored."""

        def store(_job: Job) -> PartState:
            if isinstance(state, Exception):
                raise state
            return state

        self.stores_of_blocks[part] = store
