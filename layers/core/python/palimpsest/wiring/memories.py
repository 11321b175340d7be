"""Build the use cases of long-term memory for the function `memories`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from palimpsest import settings
from palimpsest.clock import Clock
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.reader import BlockReader
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory, similar_messages
from palimpsest.context.read import ReadContext
from palimpsest.conversations.append import Append
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.listing import ListSessions, SessionLimit
from palimpsest.conversations.manage import ManageSessions
from palimpsest.conversations.overflow.arm import Prune
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.extraction.ingest import Ingest
from palimpsest.extraction.outside import IngestOutside
from palimpsest.extraction.report import ReportExtraction
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.graph.manage import GraphLimit, ManageGraph
from palimpsest.graph.ports import GraphEngine
from palimpsest.graph.read import QueryGraph, ReadGraph
from palimpsest.jobs.steps import ReadJob
from palimpsest.memory.history import ShowMemories
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.ports import Memories
from palimpsest.memory.preferences import ManagePreferences
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.memories import Forget
from palimpsest.memory.removal.users import Erase
from palimpsest.models.ports import (
    ChatModel,
    Embedder,
    JsonModel,
    LanguageModel,
    Reranker,
    TokenCounter,
)
from palimpsest.recall.recall import Recall
from palimpsest.recall.search import FindSessions, SearchMemories, nearness
from palimpsest.recall.tool import MemoryTools
from palimpsest.search.ports import SearchIndex
from palimpsest.tenants.ports import StaticFacts
from palimpsest.tenants.static_facts import ManageStaticFacts
from palimpsest.transfer.files import Export, RemoveExports
from palimpsest.transfer.foreign import ImportForeign
from palimpsest.transfer.restore import Import
from palimpsest.vectors.cache import VectorCache
from palimpsest.vectors.manage import ManageVectors
from palimpsest.vectors.ports import VectorStore
from palimpsest.wiring.engines import (
    blob_store,
    fact_store,
    graph_engine,
    has_key,
    keyed_calls,
    memory_store,
    metered_model,
    question_embedder,
    reranker,
    search_index,
    session_store,
    system_clock,
    tenant_store,
    token_counter,
    usage_store,
    vector_store,
)
from palimpsest.wiring.sessions import Stores


@dataclass(frozen=True, slots=True)
class MemoryStores(Stores):
    """The stores that a function of long-term memory reads and writes."""

    memories: Memories
    facts: StaticFacts
    index: SearchIndex
    vectors: VectorStore
    graphs: GraphEngine = field(default_factory=graph_engine)
    recalled_from: Memories | None = None  # where what is found is read, if not in `memories`


def _none() -> None:
    """There is no such model."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models in use. They are looked up for every call, as a key may be stored or removed at
    any time.
    """

    embedder: Callable[[], Embedder | None] = _none
    answerer: Callable[[], JsonModel | None] = _none
    selector: ChatModel | None = None
    reranker: Callable[[], Reranker | None] = _none

    @classmethod
    def fixed(
        cls,
        *,
        embedder: Embedder | None,
        chat: LanguageModel | None,
        reranker: Reranker | None = None,
    ) -> Models:
        """Models that stay the same for every call."""
        return cls(lambda: embedder, lambda: chat, chat, lambda: reranker)


@dataclass(frozen=True, slots=True)
class MemoriesApp:
    """What the `memories` function can do."""

    stores: MemoryStores
    models: Models
    tokens: TokenCounter
    clock: Clock
    remember: Remember
    manage_memories: ManageMemories
    preferences: ManagePreferences
    vectors: ManageVectors
    graph: ManageGraph
    query_graph: QueryGraph
    forget: Forget
    erase: Erase
    show: ShowMemories
    ingest: Ingest
    ingest_outside: IngestOutside
    facts: ManageStaticFacts
    context: ReadContext
    prune: Prune
    manage: ManageSessions
    read_job: ReadJob
    report: ReportExtraction
    export: Export
    imports: Import
    import_foreign: ImportForeign

    @property
    def recall(self) -> Recall:
        stores, models = self.stores, self.models
        return Recall(
            memories=stores.recalled_from or stores.memories,
            sessions=stores.sessions,
            words=stores.index,
            vectors=stores.index,
            embedder=models.embedder(),
            tokens=self.tokens,
            clock=self.clock,
            model=models.answerer(),
            reranker=models.reranker(),
        )

    @property
    def search(self) -> SearchMemories:
        return searching(self.stores, self.models, self.clock)

    @property
    def tools(self) -> MemoryTools:
        return MemoryTools(self.recall, self.remember, self.manage_memories)

    @property
    def list_sessions(self) -> ListSessions:
        return ListSessions(self.stores.sessions, self.clock)

    @property
    def find_sessions(self) -> FindSessions:
        return FindSessions(self.search)


def searching(stores: MemoryStores, models: Models, clock: Clock) -> SearchMemories:
    memories = stores.recalled_from or stores.memories
    return SearchMemories(
        memories, stores.sessions, stores.index, stores.index, models.embedder(), clock
    )


def wire_memories(
    stores: MemoryStores,
    *,
    models: Models,
    tokens: TokenCounter,
    clock: Clock,
    may_name: tuple[str, ...] | None = None,
) -> MemoriesApp:
    """The use cases of long-term memory over any adapters. `may_name` lists the models that callers
    may name; None: any.
    """
    sessions, jobs, memories, tenants = (
        stores.sessions,
        stores.jobs,
        stores.memories,
        stores.tenants,
    )
    exports = RemoveExports(stores.blobs, clock)
    manage_memories = ManageMemories(memories, tenants, clock, exports)
    schedule = ExtractionSchedule(jobs)
    contents = Contents(stores.blobs, jobs, clock)
    limit = SessionLimit(sessions, clock)
    append = Append(sessions, tenants, tokens, clock, limit, schedule, contents)
    request = RequestExtraction(sessions, schedule, clock)
    blocks = BlockReader(
        static=StaticMemory(stores.facts),
        extractive=ExtractiveMemory(memories, clock, chat=models.selector),
        vector=VectorMemory(similar_messages(lambda: searching(stores, models, clock))),
    )
    remember, read_graph = Remember(memories, tenants, clock), ReadGraph(memories, clock)
    ingest = Ingest(sessions, memories, append, request, clock)
    return MemoriesApp(
        stores=stores,
        models=models,
        tokens=tokens,
        clock=clock,
        remember=remember,
        manage_memories=manage_memories,
        preferences=ManagePreferences(memories, remember, clock, exports),
        vectors=ManageVectors(
            stores.vectors, memories, models.embedder, clock, VectorCache(), exports
        ),
        graph=ManageGraph(memories, remember, read_graph, clock, GraphLimit(memories), exports),
        query_graph=QueryGraph(read_graph, stores.graphs),
        forget=Forget(memories, jobs, clock),
        erase=Erase(memories, clock),
        show=ShowMemories(memories, manage_memories),
        ingest=ingest,
        ingest_outside=IngestOutside(append, contents, request),
        facts=ManageStaticFacts(stores.facts, clock),
        context=ReadContext(sessions, tokens, clock, blocks, contents),
        prune=Prune(sessions, jobs, clock, nearness(lambda: searching(stores, models, clock))),
        manage=ManageSessions(sessions, tenants, tokens, clock, limit, schedule, may_name),
        read_job=ReadJob(jobs, clock),
        report=ReportExtraction(memories),
        export=Export(jobs, stores.blobs, clock),
        imports=Import(jobs, stores.blobs, memories, clock),
        import_foreign=ImportForeign(remember, ingest),
    )


@cache
def memories_app() -> MemoriesApp:
    environment = settings.MemoriesSettings.read()
    sessions, jobs = session_store(environment.sessions_table, environment.memories_table)
    stores = MemoryStores(
        sessions=sessions,
        jobs=jobs,
        calls=keyed_calls(environment.sessions_table),
        memories=memory_store(environment.memories_table, environment.sessions_table),
        tenants=tenant_store(environment.tenants_table),
        blobs=blob_store(environment.contents_bucket),
        usages=usage_store(environment.sessions_table),
        facts=fact_store(environment.tenants_table),
        index=search_index(environment),
        vectors=vector_store(environment.memories_table),
    )
    model = metered_model(environment)
    models = Models(
        embedder=lambda: question_embedder(environment),
        answerer=lambda: model if has_key(environment) else None,
        selector=model,
        reranker=lambda: reranker(environment),
    )
    tokens, clock = token_counter(), system_clock()
    return wire_memories(
        stores, models=models, tokens=tokens, clock=clock, may_name=environment.models
    )
