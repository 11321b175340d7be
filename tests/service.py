"""The one wired service of the tests: every use case over stores in this process, moved on only
when a test says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from palimpsest.clock import Clock, FakeClock
from palimpsest.conversations.session import Head
from palimpsest.errors import PalimpsestError
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.jobs.events import Changed, Happened, JobNotice
from palimpsest.jobs.handling import Router
from palimpsest.jobs.job import Job
from palimpsest.jobs.steps import RestartSteps, UserSteps
from palimpsest.memory.ports import Expiries, Owners
from palimpsest.memory.record import Record
from palimpsest.models.ports import ChatModel, JsonModel, Reranker, Space
from palimpsest.scope import Scope, SessionScope
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service as UseCases
from palimpsest.tenants.settings import TenantSettings
from palimpsest.vectors.ports import VectorStore
from palimpsest.wiring.stores import graph_engine
from palimpsest.wiring.sweep import wire_sweep
from palimpsest.wiring.workers import wire_extraction, wire_summarize
from palimpsest_local.embedded.index import EmbeddedIndex
from palimpsest_local.stores.jobs import LocalJobs, LocalKeyedCalls
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.owners import LocalExpiries, LocalOwners
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.state import Faults, State
from palimpsest_local.stores.tenants import LocalStaticFacts, LocalTenants, LocalUsages
from palimpsest_local.stores.vectors import LocalBlobs, LocalVectors

from tests.doubles.extractor import Extracts
from tests.doubles.failing_index import FailingIndex
from tests.doubles.meanings import Meanings
from tests.doubles.reranker import Indifferent
from tests.doubles.summarizer import RecordingSummarizer
from tests.doubles.tokens import LetterCounter

TENANT = Scope("acme")
SARAH = TENANT.user("sarah")
DAVID = TENANT.user("david")
DAY = 24 * 3600
NOWHERE = Path("/nowhere")


@cache
def empty_index(space: Space) -> bytes:
    """The file of a search index that holds nothing: to make one takes longer than most tests."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "index.sqlite"
        index = EmbeddedIndex(file, space=space)
        index.prepare()
        index.close()
        return file.read_bytes()


class SentAgain(list[JobNotice]):
    """The queues as the sweep knows them: what it sent again and nobody has received yet."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[Changed] = []

    def send(self, notices: Sequence[JobNotice]) -> None:
        self.extend(notices)

    def send_changes(self, changes: Sequence[Changed]) -> None:
        self.changes.extend(changes)

    def send_events(self, events: Sequence[Happened]) -> None:
        raise NotImplementedError

    def park(self, record: str) -> None:
        raise NotImplementedError


class Service:
    """Conversations, long-term memory and search over in-memory stores, wired as the functions are.

    `faults` is told of every write and may raise there. `memory` is what every session begins with.
    Sessions know of no long-term memory if `long_term` is false. There is a search index if there
    is a `folder` for it, or an `index`. `selector` and `answerer` are models, None while there are
    none; `has_embedder` says whether texts are embedded. `models` are those that callers may name,
    None: any. What waits in queues is delivered by `handle` and `drain`; time moves by
    `time.advance`.
    """

    def __init__(
        self,
        *,
        faults: Faults | None = None,
        clock: Clock | None = None,
        folder: Path | None = None,
        index: SearchIndex | None = None,
        embedder: Meanings | None = None,
        selector: ChatModel | None = None,
        long_term: bool = True,
        memory: Mapping[str, Any] | None = None,
        models: tuple[str, ...] | None = None,
    ) -> None:
        self.models = models
        self.time = clock if isinstance(clock, FakeClock) else FakeClock()
        self.clock = clock or self.time
        self.sessions, self.jobs, self.memories = self.stores_of(faults)
        self.tenants, self.facts = LocalTenants(self.shared), LocalStaticFacts()
        self.tenants.replace_settings(TENANT, TenantSettings(memory=memory or {}))
        self.expiries, self.owners = self.background_of(faults)
        self.blobs, self.usages = LocalBlobs(self.shared), LocalUsages(self.shared)
        self.tokens, self.summarizer = LetterCounter(), RecordingSummarizer()
        self.extractor: Any = Extracts()
        self.embedder, self.has_embedder = embedder or Meanings(), True
        self.reranker: Reranker | None = Indifferent()
        self.answerer: JsonModel | None = None
        file = (folder or NOWHERE) / "index.sqlite"
        self.index = FailingIndex(index or EmbeddedIndex(file, space=self.embedder.space))
        self.is_indexed = bool(folder or index)
        if index is None and folder is not None and not file.exists():
            file.write_bytes(empty_index(self.embedder.space))
        elif self.is_indexed:
            self.index.prepare()
        self.delivered, self.sent_again = 0, SentAgain()
        self._wire_front(long_term=long_term, selector=selector)
        self.wire_workers()

    @property
    def shared(self) -> State:
        """What the stores in memory share."""
        return self.sessions.state

    @contextmanager
    def killed_at(self, step: str) -> Iterator[None]:
        """The process that works in this block is killed at this step of a store, such as `before
        commit`.
        """

        def kill(now: str) -> None:
            if now == step:
                raise KeyboardInterrupt

        self.shared.faults = kill
        with pytest.raises(KeyboardInterrupt):
            yield
        self.shared.faults = lambda _: None

    def _wire_front(self, *, long_term: bool, selector: ChatModel | None) -> None:
        models = Models(
            embedder=lambda: self.embedder if self.has_embedder else None,
            answerer=lambda: self.answerer,
            selector=selector,
            reranker=lambda: self.reranker,
            may_name=self.models,
        )
        vectors = self.vectors_of()
        self.stores = Stores(
            **self.front_stores(),
            index=lambda: self.index,
            vectors=lambda: vectors,
            graphs=graph_engine,
        )
        self.app = UseCases(
            self.stores, replace(models, selector=None), self.tokens, self.clock, long_term
        )
        self.memories_app = UseCases(self.stores, models, self.tokens, self.clock)

    def wire_workers(self) -> None:
        """Have the workers use the summariser and the extractor that there are now."""
        within: dict[str, Any] = {"sessions": self.sessions, "jobs": self.jobs, "clock": self.clock}
        summaries = wire_summarize(
            **within, summarizer=self.summarizer, tokens=self.tokens, models=self.models
        )
        self.summarize, self.give_up_overflow = summaries.step, summaries.give_up
        within["memories"] = self.memories
        self.extraction = wire_extraction(
            **within, tenants=self.tenants, extractor=self.extractor, blobs=self.blobs
        )
        self.removal, self.sweep_all = wire_sweep(
            **within,
            expiries=self.expiries,
            tenants=self.tenants,
            blobs=self.blobs,
            vectors=self.stores.vectors(),
            usages=self.usages,
            tokens=self.tokens,
            queues=self.sent_again,
            is_indexed=self.is_indexed,
        )
        steps = UserSteps(self.jobs, RestartSteps(self.jobs, self.clock), self.clock)
        self.embed = Embed(
            self.memories, self.sessions, self.index, self.embedder, self.clock, steps
        )
        folding = Router({"summarize": summaries})
        self.workers = {
            kind: worker
            for worker in (folding, self.extraction.queue, self.removal)
            for kind in worker.handlings
        }

    def stores_of(self, faults: Faults | None) -> tuple[LocalSessions, LocalJobs, LocalMemories]:
        """The stores themselves, one transaction's reach."""
        sessions = LocalSessions(faults=faults)
        return sessions, LocalJobs(sessions.state), LocalMemories(sessions.state)

    def vectors_of(self) -> VectorStore:
        """Where vectors of callers are stored."""
        return LocalVectors(self.memories)

    def background_of(self, faults: Faults | None) -> tuple[Expiries, Owners]:
        """What background work reads of the stores."""
        return LocalExpiries(self.memories), LocalOwners(self.sessions, self.memories)

    def front_stores(self) -> dict[str, Any]:
        """The stores that the functions behind the front door see."""
        return {
            "sessions": self.sessions,
            "jobs": self.jobs,
            "calls": LocalKeyedCalls(self.shared),
            "tenants": self.tenants,
            "blobs": self.blobs,
            "usages": self.usages,
            "memories": self.memories,
            "facts": self.facts,
        }

    @property
    def outbox(self) -> list[Job]:
        """Every job that was put, as it was put, oldest first."""
        return self.sessions.outbox

    def all_jobs(self) -> list[Job]:
        """Every job that was put, as it is now."""
        return list(self.sessions.state.jobs.values())

    def job(self, job_id: str | None) -> Job:
        """The job as it is now."""
        job = self.jobs.get(TENANT, job_id or "")
        assert job is not None
        return job

    def session(self, name: str = "s") -> SessionScope:
        return TENANT.session(name)

    def head(self, session: str = "s") -> Head:
        head = self.sessions.open(self.session(session)).head
        assert head is not None
        return head

    def records(self) -> list[Record]:
        """What is remembered of Sarah, every version, oldest first."""
        return list(self.memories.listed(SARAH, limit=10_000, newest_first=False).records)

    def contents(self) -> list[str]:
        return sorted(record.content for record in self.records())

    def handle(self, job: Job) -> None:
        """One delivery of a job's message."""
        self.workers[job.kind].step(JobNotice(job.tenant, job.id, job.kind))

    def fail(self, job: Job, *, error: str = "unavailable") -> None:
        """The last receive of the job's message has failed."""
        self.workers[job.kind].give_up(JobNotice(job.tenant, job.id, job.kind), error=error)

    def handle_to_the_end(self, job: Job) -> None:
        """A message delivered until it is done or until its last receive has failed."""
        for receive in range(1, MAX_TRIES + 1):
            try:
                self.handle(job)
            except PalimpsestError as failure:
                if receive == MAX_TRIES:
                    self.fail(job, error=failure.code)
            else:
                return

    def drain(self) -> None:
        """Deliver every job that was put and not yet delivered or was sent again, and those that
        follow from them.
        """
        while self.delivered < len(self.outbox) or self.sent_again:
            if self.sent_again:
                notice = self.sent_again.pop(0)
                job = self.jobs.get(Scope(notice.tenant), notice.job_id)
                assert job is not None
                self.handle_to_the_end(job)
            else:
                self.delivered += 1
                self.handle_to_the_end(self.outbox[self.delivered - 1])
