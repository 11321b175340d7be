"""Conversations with all their memory within one process: window, static facts, extraction, search, flush."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.reader import BlockReader, stores
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vector import FindSimilarMessages, VectorMemory
from palimpsest.context.read import Context, ReadContext
from palimpsest.conversations.configuration import BlockType
from palimpsest.conversations.history import History
from palimpsest.conversations.messages import Chat
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.overflow.flush import FlushWindow, then_flush
from palimpsest.conversations.overflow.summarize import GiveUp
from palimpsest.conversations.ports import PartState
from palimpsest.conversations.session import Compaction, Head
from palimpsest.engines.embedded import EmbeddedIndex
from palimpsest.engines.in_memory.state import Faults
from palimpsest.engines.in_memory.tenants import InMemoryStaticFacts
from palimpsest.errors import PalimpsestError
from palimpsest.jobs.job import MAX_RECEIVES, Job
from palimpsest.jobs.ports import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import Statement
from palimpsest.models.ports import ChatModel
from palimpsest.recall.search import SearchMemories
from palimpsest.search.embed import Embed
from palimpsest.tenants.ports import TenantSettings
from palimpsest.tenants.static_facts import ManageStaticFacts
from palimpsest.workers.sweep import Sweep

from tests.doubles.meanings import Meanings
from tests.unit.context.blocks.remembered import Watched
from tests.unit.extraction.extraction_world import SARAH, TENANT, ExtractionWorld
from tests.unit.world import LetterCounter


class BlocksWorld(ExtractionWorld):
    """`memory` is what every session begins with. With a `folder` there is a search index in it."""

    def __init__(
        self, *, folder: Path | None = None, faults: Faults | None = None, chat: ChatModel | None = None, **memory: Any
    ) -> None:
        super().__init__(faults=faults, extract="auto")
        self.tenants.replace_settings(TENANT, TenantSettings(memory=memory))
        self.remember = Remember(self.memories, self.tenants, self.clock)
        self.facts = InMemoryStaticFacts()
        self.static_facts = ManageStaticFacts(self.facts, self.clock)
        self.watched_memories: Any = Watched(self.memories)
        self.watched_facts: Any = Watched(self.facts)
        self.watched_sessions: Any = Watched(self.sessions)
        self.embedder = Meanings()
        self.blocks = BlockReader(
            static=StaticMemory(self.watched_facts),
            extractive=ExtractiveMemory(self.watched_memories, self.clock, chat=chat),
            vector=None if folder is None else VectorMemory(self._similar_messages(folder)),
        )
        self.read_context = ReadContext(self.watched_sessions, LetterCounter(), self.clock, self.blocks)
        self.history = History(self.sessions, self.clock)
        self.arm = Arm(self.sessions, self.clock)
        self.stores: dict[BlockType, Any] = dict(stores(self.memories))
        self.flush = FlushWindow(self.sessions, self.jobs, self.stores, self.clock)
        self.give_up_overflow = GiveUp(self.sessions, self.jobs, self.clock)
        restarts = {"extraction": self.restart}
        self.sweep_all = Sweep(self.sessions, self.jobs, self.clock, restarts)  # type: ignore[arg-type]

    def _similar_messages(self, folder: Path) -> FindSimilarMessages:
        self.index = EmbeddedIndex(folder / "index.sqlite", space=self.embedder.space)
        self.index.prepare()
        search = SearchMemories(self.memories, self.sessions, self.index, self.index, self.embedder, self.clock)
        return FindSimilarMessages(search)

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

    def handle_to_the_end(self, job: Job) -> None:
        notice = JobNotice(job.tenant, job.id, job.kind)
        give_up = self.give_up_overflow if job.kind == "flush" else then_flush(self.give_up, self.flush)
        for receive in range(1, MAX_RECEIVES + 1):
            try:
                self.handle(job)
            except PalimpsestError as failure:
                if receive == MAX_RECEIVES:
                    give_up(notice, error=failure.code)
            else:
                return

    def talk(self, turns: Sequence[tuple[str, str]] | int, *, session: str = "s", letters: int = 40) -> None:
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
        changes: list[Changed] = [RecordChanged("acme", "sarah", record.id) for record in self.records()]
        for name in sessions:
            last = self.head(name).seq
            changes += [MessageChanged("acme", name, seq) for seq in range(1, last + 1)]
        embed = Embed(self.memories, self.sessions, self.index, self.embedder, self.clock)
        assert embed(changes) == ()

    def head(self, session: str = "s") -> Head:
        head = self.sessions.open(self.session(session)).head
        assert head is not None
        return head

    def context(self, message: str | None = None, *, session: str = "s", **asked: Any) -> Context:
        given: Chat | None = None if message is None else {"role": "user", "content": message}
        return self.read_context(self.session(session), given=given, **asked)

    def shown(self, session: str = "s", **asked: Any) -> list[str]:
        return [str(chat["content"]) for chat in self.context(session=session, **asked).fitted.messages]

    def compactions(self, session: str = "s") -> tuple[Compaction, ...]:
        return self.history.compactions(self.session(session), limit=100)[0]

    def fails(self, part: BlockType, state: PartState | Exception) -> None:
        """Have a block say this of what it stored."""

        def store(_job: Job) -> PartState:
            if isinstance(state, Exception):
                raise state
            return state

        self.stores[part] = store
