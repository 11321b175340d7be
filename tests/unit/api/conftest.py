from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.bootstrap import Stores, wire_memories, wire_sessions, wire_sweep
from palimpsest.bootstrap.extraction import wire_extraction
from palimpsest.bootstrap.memories import MemoryStores, Models
from palimpsest.clock import FakeClock
from palimpsest.engines.embedded import EmbeddedIndex
from palimpsest.engines.in_memory.background import InMemoryExpiries
from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.tenants import InMemoryStaticFacts
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.models.ports import Embedder, JsonModel
from palimpsest.scope import Scope
from palimpsest.search.embed import Embed

from tests.doubles.failing_index import FailingIndex
from tests.doubles.meanings import Meanings
from tests.unit.api.gateway import Client
from tests.unit.extraction.extraction_world import Extracts
from tests.unit.world import LetterCounter, World

OF_MEMORIES = ("/v1/users", "/v1/static-facts", "/v1/tools")
"""Paths of which every call goes to the function `memories`, also one that no operation serves."""
MEMORY_OPERATIONS = operations_of("memories")


class WorkingClock(FakeClock):
    """Whoever waits lets the workers work."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.work()


class WholeWorld(World):
    """The service with long-term memory. Its extractor finds what is said as `fact[topic]: content`."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.memories = InMemoryMemories(self.sessions.state)
        self.facts = InMemoryStaticFacts()
        self.extractor = Extracts()
        self.app = wire_sessions(
            Stores(self.sessions, self.jobs, self.tenants),
            tokens=LetterCounter(),
            clock=clock,
            memories=self.memories,
            facts=self.facts,
        )
        self.extraction = wire_extraction(
            sessions=self.sessions,
            jobs=self.jobs,
            memories=self.memories,
            tenants=self.tenants,
            extractor=self.extractor,
            clock=clock,
        )
        self.swept, self.sweep = wire_sweep(
            sessions=self.sessions,
            jobs=self.jobs,
            memories=self.memories,
            expiries=InMemoryExpiries(self.memories),
            clock=clock,
        )

    def handle(self, job: Job) -> None:
        notice = JobNotice(job.tenant, job.id, job.kind)
        if job.kind in self.extraction.queue.handlings:
            self.extraction.queue.step(notice)
        elif job.kind in self.swept.handlings:
            self.swept.step(notice)
        else:
            super().handle(job)

    def fail(self, job: Job, *, error: str = "unavailable") -> None:
        """The last receive of the job's message has failed."""
        notice = JobNotice(job.tenant, job.id, job.kind)
        if job.kind in self.extraction.queue.handlings:
            self.extraction.queue.give_up(notice, error=error)
        elif job.kind in self.swept.handlings:
            self.swept.give_up(notice, error=error)
        else:
            self.give_up(notice, error=error)

    def changes(self) -> Iterator[Changed]:
        """Everything that is searched, as if it had changed just now."""
        for (tenant, session), found in self.sessions.state.partitions.items():
            last = found.head.seq if found.head else 0
            yield from (MessageChanged(tenant, session, seq) for seq in range(1, last + 1))
        for tenant in {tenant for tenant, _ in self.sessions.state.partitions} | {"acme", "other"}:
            for user in self.memories.users(tenant, limit=100)[0]:
                records = self.memories.listed(Scope(tenant).user(user), limit=100).records
                yield from (RecordChanged(tenant, user, record.id) for record in records)


class Service:
    """The functions behind the front door over stores in memory, with the workers behind them. There is a search index
    if there is a `folder` for it; `embedder` and `answerer` are models, None while there are none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.clock = WorkingClock()
        self.world = WholeWorld(self.clock)
        self.memories = self.world.memories
        self.embedder: Embedder | None = Meanings()
        self.answerer: JsonModel | None = None
        space = Meanings().space
        self.index = FailingIndex(EmbeddedIndex((folder or Path("/nowhere")) / "index.sqlite", space=space))
        if folder is not None:
            self.index.prepare()
        stores = MemoryStores(
            sessions=self.world.sessions,
            jobs=self.world.jobs,
            memories=self.memories,
            tenants=self.world.tenants,
            facts=self.world.facts,
            index=self.index,
        )
        models = Models(embedder=lambda: self.embedder, answerer=lambda: self.answerer)
        self.memories_app = wire_memories(stores, models=models, tokens=LetterCounter(), clock=self.clock)
        self.of_sessions = HttpApp(lambda: self.world.app, operations_of("sessions"))
        self.of_memories = HttpApp(lambda: self.memories_app, MEMORY_OPERATIONS)

    def handler(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        """What the front door does: method and path decide which function answers."""
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        is_memory = path.startswith(OF_MEMORIES) or any(each.serves(method, path) for each in MEMORY_OPERATIONS)
        return (self.of_memories if is_memory else self.of_sessions)(event, context)

    def drain(self) -> None:
        """Deliver every job that was put and not yet delivered, and those that follow from them."""
        self.world.drain()

    def work_while_waiting(self) -> None:
        self.clock.work = self.drain

    def brought_up_to_date(self) -> None:
        """The search index says what the tables say."""
        embed = Embed(self.memories, self.world.sessions, self.index, self.embedder, self.clock)
        assert embed(tuple(self.world.changes())) == ()

    def client(self, **who: Any) -> Client:
        return Client(self.handler, **who)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()
