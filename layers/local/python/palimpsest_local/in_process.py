"""The whole service in one process, on the in-memory adapters and without queues. Each call does
its work at once.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.clock import Clock, SystemClock, seconds
from palimpsest.conversations.overflow.model_summary import ModelSummarizer
from palimpsest.errors import PalimpsestError
from palimpsest.extraction.model import ModelExtractor
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.jobs.events import Changed, JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.handling import Router
from palimpsest.memory.ports import Memories
from palimpsest.memory.store import MemoryStore
from palimpsest.models.cached import CachingEmbedder
from palimpsest.models.masked import MaskedEmbedder, MaskedReranker
from palimpsest.models.metered import Meter
from palimpsest.models.ports import Embedder, LanguageModel, Reranker, TokenCounter
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.offline.summarizer import ExtractiveSummarizer
from palimpsest.scope import Scope, UserScope
from palimpsest.search.embed import Embed
from palimpsest.search.ports import SearchIndex
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service
from palimpsest.stores import OwnStores
from palimpsest.tenants.settings import TenantSettings
from palimpsest.wiring.models import metered, token_counter
from palimpsest.wiring.stores import graph_engine
from palimpsest.wiring.sweep import wire_sweep
from palimpsest.wiring.workers import keeping_calls, wire_extraction, wire_summarize

from palimpsest_local.embedded.index import EmbeddedIndex
from palimpsest_local.memory_store import StoredMemories, StoreIndex, recalled
from palimpsest_local.over_store import ServiceOverStore
from palimpsest_local.stores.feed import LocalFeed
from palimpsest_local.stores.jobs import LocalJobs, LocalKeyedCalls
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.owners import LocalExpiries
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalStaticFacts, LocalTenants, LocalUsages
from palimpsest_local.stores.vectors import LocalBlobs, LocalVectors

SWEEP_SECONDS = 60
EMBEDDED_AT_ONCE = 50
PAGE = 100


@dataclass(frozen=True, slots=True)
class InProcess:
    """The service over stores in this process. `work` does all pending jobs. Call it after each
    call that may create jobs.
    """

    service: Service
    work: Callable[[], None]


def in_process(
    scope: Scope,
    *,
    memory: Mapping[str, Any],
    chat: LanguageModel | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    reranker: Reranker | None = None,
    own: OwnStores | None = None,
    state: State | None = None,
    user: UserScope | None = None,
    memory_store: MemoryStore | None = None,
) -> InProcess:
    """Return a service with one tenant, whose sessions begin with the configuration `memory`. It
    works over your `own` stores, or else over stores with this `state` (default: in memory). The
    data of `user` in `own` stores or a `state` is indexed anew. A `memory_store` replaces only
    long-term memory.

    Without `chat`, summaries and memories consist of sentences from the conversation. Without
    `embedder`, search compares words only. The search index is a file in a temporary folder, which
    is deleted together with the service.
    """
    clock, tokens = clock or SystemClock(), token_counter()
    vectors = None if embedder is None else CachingEmbedder(MaskedEmbedder(embedder))
    has_data = own is not None or state is not None
    state = state or State()
    own = own or within(state)
    unindexed = list(everything(own, user)) if has_data and user else []
    index: SearchIndex = _index(vectors, life=own.sessions)
    stored = (
        None
        if memory_store is None
        else StoredMemories(memory_store, own.memories, clock, space=index.space)
    )
    index = index if stored is None else StoreIndex(index, stored)
    stores = _stores(
        own, state, index=index, recalled_from=None if stored is None else recalled(stored)
    )
    stores.tenants.replace_settings(scope, TenantSettings(memory=memory))
    if chat is not None:
        chat = metered(chat, Meter(stores.usages, clock, _to_nobody), tenants=stores.tenants)
    shown = None if reranker is None else MaskedReranker(reranker)
    models = Models.fixed(embedder=vectors, chat=chat, reranker=shown)
    service = (
        Service(stores, models, tokens, clock)
        if stored is None
        else ServiceOverStore(stores, models, tokens, clock, stored=stored)
    )
    workers, sweep = _workers(own, stores, chat=chat, tokens=tokens, clock=clock)
    embed = Embed(own.memories, own.sessions, index, vectors, clock)
    feed = WatchedFeed(own, user, embed)
    return InProcess(service, work=Work(feed, workers, sweep, embed, clock, unindexed=unindexed))


def _stores(
    own: OwnStores, state: State, *, index: SearchIndex, recalled_from: Memories | None = None
) -> Stores:
    """Return the stores of the use cases. Stores that `own` does not name are in memory."""
    vectors = own.vectors
    return Stores(
        sessions=own.sessions,
        jobs=own.jobs,
        calls=LocalKeyedCalls(state),
        tenants=LocalTenants(state),
        blobs=own.blobs,
        usages=LocalUsages(state),
        memories=own.memories,
        facts=own.facts,
        index=lambda: index,
        vectors=lambda: vectors,
        graphs=graph_engine,
        recalled_from=recalled_from,
    )


def everything(own: OwnStores, user: UserScope) -> Iterator[Changed]:
    """Yield a change for each searchable record and message of a user, so that everything is
    indexed anew.
    """
    after = None
    while True:
        page = own.memories.listed(user, limit=PAGE, after=after)
        yield from (RecordChanged(user.tenant, user.user, record.id) for record in page.records)
        if (after := page.after) is None:
            break
    while True:
        listed = own.sessions.listed(user.owner, user=user.user, limit=PAGE, after=after)
        for session in listed.sessions:
            head = own.sessions.open(user.owner.session(session)).head
            seqs = range(head.base + 1, head.seq + 1) if head else ()
            yield from (MessageChanged(user.tenant, session, seq) for seq in seqs)
        if (after := listed.after) is None:
            return


def within(state: State) -> OwnStores:
    """Return stores in this process. Their data ends with the process."""
    memories = LocalMemories(state)
    return OwnStores(
        sessions=LocalSessions(state),
        jobs=LocalJobs(state),
        memories=memories,
        expiries=LocalExpiries(memories),
        blobs=LocalBlobs(state),
        facts=LocalStaticFacts(state),
        vectors=LocalVectors(memories),
        feed=LocalFeed(state),
    )


def _to_nobody(tenant: str, used: Mapping[str, int], *, is_counted: bool) -> None:
    """Do nothing, because a library sends no metrics. The counts can be read as usage."""


def _workers(
    own: OwnStores,
    stores: Stores,
    *,
    chat: LanguageModel | None,
    tokens: TokenCounter,
    clock: Clock,
) -> tuple[Sequence[Router], Callable[[], object]]:
    """Return the workers of the queues, and the sweep. They also see the sessions of erased
    users.
    """
    summarizer = ExtractiveSummarizer(tokens) if chat is None else ModelSummarizer(chat, tokens)
    extractor = PatternExtractor() if chat is None else ModelExtractor(chat, tokens)
    of_all: dict[str, Any] = {"sessions": own.sessions, "jobs": stores.jobs, "clock": clock}
    keeps = keeping_calls(stores.blobs, stores.tenants, clock)
    summarize = wire_summarize(**of_all, summarizer=summarizer, tokens=tokens, keeps_calls=keeps)
    of_both = {**of_all, "memories": own.memories, "tenants": stores.tenants}
    extraction = wire_extraction(**of_both, extractor=extractor, blobs=stores.blobs)
    beside: dict[str, Any] = {
        "blobs": stores.blobs,
        "vectors": own.vectors,
        "usages": stores.usages,
    }
    beside["tokens"] = tokens
    # no other function writes
    removal, sweep = wire_sweep(**of_both, expiries=own.expiries, **beside, settling=0)
    return (Router({"summarize": summarize}), extraction.queue, removal), sweep


def _index(embedder: Embedder | None, *, life: object) -> EmbeddedIndex:
    """Return an index in a folder of its own, which is removed when `life` ends."""
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-"))
    index = EmbeddedIndex(folder / "index.sqlite", space=embedder.space if embedder else None)
    weakref.finalize(life, _discard, index, folder)
    index.prepare()
    return index


def _discard(index: EmbeddedIndex, folder: Path) -> None:
    index.close()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class WatchedFeed:
    """The feed of `own` stores. If it has lost changes, everything of `user` is indexed anew."""

    own: OwnStores
    user: UserScope | None
    embed: Embed

    def jobs(self) -> Sequence[JobNotice]:
        return self.own.feed.jobs()

    def changes(self) -> Sequence[Changed]:
        waiting = self.own.feed.changes()
        if waiting is not None:
            return waiting
        if self.user is None:
            return ()
        self.embed.remove_stale(self.user)
        return list(everything(self.own, self.user))


class Work:
    """Does what queues, workers and schedule do on AWS. Safe for many threads. One thread works,
    and the others wait.
    """

    def __init__(
        self,
        feed: WatchedFeed,
        workers: Sequence[Router],
        sweep: Callable[[], object],
        embed: Embed,
        clock: Clock,
        *,
        unindexed: Sequence[Changed] = (),
    ) -> None:
        self._feed = feed
        self._workers = {kind: worker for worker in workers for kind in worker.handlings}
        self._sweep = sweep
        self._embed = embed
        self._clock = clock
        self._swept_at = seconds(clock.now())
        self._failed: list[tuple[JobNotice, int]] = []
        self._unindexed = list(unindexed)
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """Do all pending jobs and the jobs that these create, then update the search index. If a
        step fails, the next call tries it again. After four attempts the job is marked as failed.
        """
        with self._lock:
            if seconds(self._clock.now()) >= self._swept_at + SWEEP_SECONDS:
                self._swept_at = seconds(self._clock.now())
                self._sweep()
            self._do_jobs()
            self._index()

    def _do_jobs(self) -> None:
        tried, self._failed = self._failed, []
        for notice, receives in tried:
            self._do(notice, receives + 1)
        while notices := self._feed.jobs():
            for notice in notices:
                self._do(notice, 1)

    def _do(self, notice: JobNotice, receives: int) -> None:
        worker = self._workers[notice.kind]
        try:
            worker.step(notice)
        except PalimpsestError as error:
            if receives == MAX_TRIES:
                worker.give_up(notice, error=error.code)
            else:
                self._failed.append((notice, receives))

    def _index(self) -> None:
        todo = list(dict.fromkeys([*self._unindexed, *self._feed.changes()]))
        self._unindexed = []
        for start in range(0, len(todo), EMBEDDED_AT_ONCE):
            self._unindexed += self._embed(todo[start : start + EMBEDDED_AT_ONCE])
