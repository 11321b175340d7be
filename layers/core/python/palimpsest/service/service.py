"""The use cases of the service. Each is built, and its modules are imported, at its first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from palimpsest.clock import Clock
from palimpsest.models.ports import TokenCounter
from palimpsest.service.parts import Models, Stores

if TYPE_CHECKING:
    from palimpsest.context.read import ReadContext
    from palimpsest.conversations.append import Append
    from palimpsest.conversations.begin import BeginSession
    from palimpsest.conversations.contents import Contents
    from palimpsest.conversations.history import History
    from palimpsest.conversations.listing import ListJobs, ListSessions, SessionLimit
    from palimpsest.conversations.manage import ManageSessions
    from palimpsest.conversations.overflow.arm import Prune
    from palimpsest.conversations.ports import Compare
    from palimpsest.conversations.redact import Redact
    from palimpsest.conversations.schedule import ExtractionSchedule
    from palimpsest.extraction.ingest import Ingest
    from palimpsest.extraction.outside import IngestOutside
    from palimpsest.extraction.report import ReportExtraction
    from palimpsest.extraction.schedule import RequestExtraction
    from palimpsest.feedback.feedback import GiveFeedback
    from palimpsest.feedback.reviews import Reviews
    from palimpsest.graph.manage import ManageGraph
    from palimpsest.graph.read import QueryGraph, ReadGraph
    from palimpsest.jobs.kinds import Family
    from palimpsest.jobs.requests import ReadJob, Restart, RetryJob
    from palimpsest.memory.burials import Stated
    from palimpsest.memory.history import ShowMemories
    from palimpsest.memory.manage import ManageMemories
    from palimpsest.memory.old_words import HideOldWords
    from palimpsest.memory.preferences import ManagePreferences
    from palimpsest.memory.remember import Remember
    from palimpsest.memory.removal.memories import Forget
    from palimpsest.memory.removal.retention import ManageSettings
    from palimpsest.memory.removal.sessions import ForgetSessions
    from palimpsest.memory.removal.sources import HideSources, RedactSources
    from palimpsest.memory.removal.users import Erase
    from palimpsest.memory.user_names import ManageNames
    from palimpsest.model_calls.kept import ListCalls
    from palimpsest.models.reported import CountReported
    from palimpsest.profile.read import ReadProfile
    from palimpsest.recall.recall import Recall
    from palimpsest.recall.search import FindSessions, SearchMemories
    from palimpsest.recall.tool import MemoryTools
    from palimpsest.scope import SessionScope, UserScope
    from palimpsest.search.ports import SearchIndex
    from palimpsest.tenants.static_facts import ManageStaticFacts
    from palimpsest.transfer.files import Export, RemoveExports
    from palimpsest.transfer.foreign import ImportForeign
    from palimpsest.transfer.restore import Import
    from palimpsest.usage import ReadUsage
    from palimpsest.vectors.manage import ManageVectors


def _states(sentence: str) -> Sequence[Stated]:
    """Return what a sentence states. The phrases for this are read from their files at the first
    sentence.
    """
    from palimpsest.offline.extractor import states

    return states(sentence)


@dataclass(frozen=True)  # without slots: a cached property is kept in `__dict__`
class Service:
    """The use cases over any stores and models. Without `long_term`, conversations do not use
    long-term memory. The logs of the service are kept for `log_days`.
    """

    stores: Stores
    models: Models
    tokens: TokenCounter
    clock: Clock
    long_term: bool = True
    log_days: int = 90

    # conversations

    @cached_property
    def append(self) -> Append:
        from palimpsest.conversations.append import Append

        schedule = self._schedule if self.long_term else None
        hides_old = self._hides_old if self.long_term else None
        return Append(
            self.stores.sessions,
            self.stores.tenants,
            self.tokens,
            self.clock,
            self._begin_session,
            schedule,
            self._contents,
            hides_old,
        )

    @cached_property
    def _begin_session(self) -> BeginSession:
        from palimpsest.conversations.begin import BeginSession

        return BeginSession(self.stores.tenants, self.tokens, self._limit, self.manage.setup)

    @cached_property
    def _hides_old(self) -> HideOldWords:
        from palimpsest.memory.old_words import HideOldWords

        return HideOldWords(self.stores.memories, self.clock, _states)

    @cached_property
    def context(self) -> ReadContext:
        from palimpsest.context.blocks.extractive import ExtractiveMemory
        from palimpsest.context.blocks.reader import BlockReader
        from palimpsest.context.blocks.static import StaticMemory
        from palimpsest.context.blocks.vectors import VectorMemory, similar_messages
        from palimpsest.context.read import ReadContext

        stores, blocks = self.stores, BlockReader()
        if self.long_term:
            blocks = BlockReader(
                static=StaticMemory(stores.facts),
                extractive=ExtractiveMemory(stores.memories, self.clock, chat=self.models.selector),
                vector=VectorMemory(similar_messages(lambda: self.search)),
            )
        return ReadContext(stores.sessions, self.tokens, self.clock, blocks, self._contents)

    @cached_property
    def prune(self) -> Prune:
        from palimpsest.conversations.overflow.arm import Prune

        near = self._near if self.long_term else None
        return Prune(self.stores.sessions, self.stores.jobs, self.clock, near)

    @cached_property
    def manage(self) -> ManageSessions:
        from palimpsest.conversations.manage import ManageSessions

        return ManageSessions(
            self.stores.sessions,
            self.stores.tenants,
            self.tokens,
            self.clock,
            self._limit,
            self._schedule if self.long_term else None,
            self.models.may_name,
        )

    @cached_property
    def list_sessions(self) -> ListSessions:
        from palimpsest.conversations.listing import ListSessions

        return ListSessions(self.stores.sessions, self.clock)

    @property
    def find_sessions(self) -> FindSessions:
        from palimpsest.recall.search import FindSessions

        return FindSessions(self.search)

    @cached_property
    def forget_sessions(self) -> ForgetSessions:
        from palimpsest.memory.removal.sessions import ForgetSessions

        return ForgetSessions(self.list_sessions, self.stores.jobs, self.clock)

    @cached_property
    def history(self) -> History:
        from palimpsest.conversations.history import History

        return History(self.stores.sessions, self.clock, self._contents)

    @cached_property
    def redact(self) -> Redact:
        from palimpsest.conversations.redact import Redact

        return Redact(self.stores.sessions, self.tokens, self.clock)

    @cached_property
    def _contents(self) -> Contents:
        from palimpsest.conversations.contents import Contents

        return Contents(self.stores.blobs, self.stores.jobs, self.clock)

    @cached_property
    def _limit(self) -> SessionLimit:
        from palimpsest.conversations.listing import SessionLimit

        return SessionLimit(self.stores.sessions, self.clock)

    @cached_property
    def _schedule(self) -> ExtractionSchedule:
        from palimpsest.conversations.schedule import ExtractionSchedule

        return ExtractionSchedule(self.stores.jobs)

    def _near(
        self, scope: UserScope, session: SessionScope, text: str, *, stored: int
    ) -> Compare | None:
        from palimpsest.recall.search import nearness

        return nearness(lambda: self.search)(scope, session, text, stored=stored)

    # jobs, settings and usage

    @cached_property
    def read_job(self) -> ReadJob:
        from palimpsest.jobs.requests import ReadJob

        return ReadJob(self.stores.jobs, self.clock)

    @cached_property
    def list_calls(self) -> ListCalls:
        from palimpsest.model_calls.kept import ListCalls

        stores = self.stores
        return ListCalls(stores.blobs, stores.sessions, stores.tenants, self.clock)

    @cached_property
    def list_jobs(self) -> ListJobs:
        from palimpsest.conversations.listing import ListJobs

        return ListJobs(self.stores.sessions, self.stores.jobs, self.report.shown)

    @cached_property
    def retry_job(self) -> RetryJob:
        from palimpsest.jobs.requests import RetryJob

        return RetryJob(self.stores.jobs, self._restarts(), self.clock)

    def _restarts(self) -> dict[Family, Restart]:
        """Return, for each family of jobs, the function that starts a failed job again when a
        caller asks for it.
        """
        from palimpsest.conversations.overflow.arm import OverflowJobs
        from palimpsest.extraction.commit import Steps
        from palimpsest.extraction.failures import RetryExtraction
        from palimpsest.jobs.steps import RestartSteps

        sessions, jobs, memories = self.stores.sessions, self.stores.jobs, self.stores.memories
        overflow = partial(OverflowJobs(sessions, jobs, self.clock).arm, at_once=True)
        restarts: dict[Family, Restart] = {
            "overflow": overflow,
            "steps": RestartSteps(jobs, self.clock),
        }
        if self.long_term:
            steps = Steps(sessions, jobs, memories, self.clock)
            restarts["extraction"] = RetryExtraction(steps)
        return restarts

    @cached_property
    def settings(self) -> ManageSettings:
        from palimpsest.memory.removal.retention import ManageSettings

        return ManageSettings(self.stores.tenants, self.stores.jobs, self.clock)

    @cached_property
    def usage(self) -> ReadUsage:
        from palimpsest.usage import ReadUsage

        return ReadUsage(self.stores.usages, self.clock)

    @cached_property
    def count_reported(self) -> CountReported:
        from palimpsest.models.metered import Meter
        from palimpsest.models.reported import CountReported

        return CountReported(Meter(self.stores.usages, self.clock, self.models.report))

    # extraction

    @cached_property
    def extract(self) -> RequestExtraction | None:
        """Return the use case that extracts from a session, or None without long-term memory."""
        return self._request if self.long_term else None

    @cached_property
    def _request(self) -> RequestExtraction:
        from palimpsest.extraction.schedule import RequestExtraction

        return RequestExtraction(self.stores.sessions, self._schedule, self.clock)

    @cached_property
    def report(self) -> ReportExtraction:
        from palimpsest.extraction.report import ReportExtraction

        return ReportExtraction(self.stores.memories)

    @cached_property
    def ingest(self) -> Ingest:
        from palimpsest.extraction.ingest import Ingest

        return Ingest(
            self.stores.sessions, self.stores.memories, self.append, self._request, self.clock
        )

    @cached_property
    def ingest_outside(self) -> IngestOutside:
        from palimpsest.extraction.outside import IngestOutside

        return IngestOutside(self.append, self._contents, self._request)

    # memories of users

    @cached_property
    def remember(self) -> Remember:
        from palimpsest.memory.remember import Remember

        return Remember(self.stores.memories, self.stores.tenants, self.clock)

    @cached_property
    def manage_memories(self) -> ManageMemories:
        from palimpsest.memory.manage import ManageMemories

        return ManageMemories(
            self.stores.memories,
            self.stores.tenants,
            self.clock,
            self._exports,
            self._hides,
            _states,
        )

    @cached_property
    def redact_sources(self) -> RedactSources:
        from palimpsest.memory.removal.sources import RedactSources

        return RedactSources(self.stores.sessions, self.redact)

    @cached_property
    def _hides(self) -> HideSources:
        from palimpsest.memory.removal.sources import HideSources

        return HideSources(self.stores.sessions, self.stores.memories, self.clock, _states)

    @cached_property
    def show(self) -> ShowMemories:
        from palimpsest.memory.history import ShowMemories

        return ShowMemories(self.stores.memories, self.manage_memories)

    @cached_property
    def forget(self) -> Forget:
        from palimpsest.memory.removal.memories import Forget

        return Forget(self.stores.memories, self.stores.jobs, self.clock)

    @cached_property
    def erase(self) -> Erase:
        from palimpsest.memory.removal.users import Erase

        return Erase(self.stores.memories, self.clock)

    @cached_property
    def preferences(self) -> ManagePreferences:
        from palimpsest.memory.preferences import ManagePreferences

        return ManagePreferences(self.stores.memories, self.remember, self.clock, self._exports)

    @cached_property
    def profile(self) -> ReadProfile:
        from palimpsest.profile.read import ReadProfile

        return ReadProfile(self.stores.memories, self.tokens, self.clock)

    @cached_property
    def names(self) -> ManageNames:
        from palimpsest.memory.user_names import ManageNames

        return ManageNames(self.stores.memories, self.preferences)

    @cached_property
    def facts(self) -> ManageStaticFacts:
        from palimpsest.tenants.static_facts import ManageStaticFacts

        return ManageStaticFacts(self.stores.facts, self.clock)

    @cached_property
    def vectors(self) -> ManageVectors:
        from palimpsest.vectors.cache import VectorCache
        from palimpsest.vectors.manage import ManageVectors

        return ManageVectors(
            self.stores.vectors(),
            self.stores.memories,
            self.models.embedder,
            self.clock,
            VectorCache(),
            self._exports,
        )

    @cached_property
    def graph(self) -> ManageGraph:
        from palimpsest.graph.manage import GraphLimit, ManageGraph

        memories = self.stores.memories
        return ManageGraph(
            memories,
            self.remember,
            self._read_graph,
            self.clock,
            GraphLimit(memories),
            self._exports,
        )

    @cached_property
    def query_graph(self) -> QueryGraph:
        from palimpsest.graph.read import QueryGraph

        return QueryGraph(self._read_graph, self.stores.graphs())

    @cached_property
    def _read_graph(self) -> ReadGraph:
        from palimpsest.graph.read import ReadGraph

        return ReadGraph(self.stores.memories, self.clock)

    # recall; it is built for each call, because models come and go with their key

    @cached_property
    def index(self) -> SearchIndex:
        return self.stores.index()

    @property
    def recall(self) -> Recall:
        from palimpsest.recall.recall import Recall

        return Recall(
            memories=self.stores.recalled_from or self.stores.memories,
            sessions=self.stores.sessions,
            words=self.index,
            vectors=self.index,
            embedder=self.models.embedder(),
            tokens=self.tokens,
            clock=self.clock,
            model=self.models.answerer(),
            reranker=self.models.reranker(),
            answer_floor=lambda scope: self.stores.tenants.settings(scope).answer_floor,
        )

    @cached_property
    def feedback(self) -> GiveFeedback:
        from palimpsest.feedback.feedback import GiveFeedback

        stores = self.stores
        return GiveFeedback(stores.memories, self.reviews, stores.usages, self.clock)

    @cached_property
    def reviews(self) -> Reviews:
        from palimpsest.feedback.reviews import Reviews

        return Reviews(self.stores.blobs, self.stores.memories)

    @property
    def search(self) -> SearchMemories:
        from palimpsest.recall.search import SearchMemories

        memories = self.stores.recalled_from or self.stores.memories
        embedder = self.models.embedder()
        return SearchMemories(
            memories, self.stores.sessions, self.index, self.index, embedder, self.clock
        )

    @property
    def tools(self) -> MemoryTools:
        from palimpsest.recall.tool import MemoryTools

        return MemoryTools(self.recall, self.remember, self.manage_memories)

    # transfer

    @cached_property
    def export(self) -> Export:
        from palimpsest.transfer.files import Export

        return Export(self.stores.jobs, self.stores.blobs, self.clock)

    @cached_property
    def imports(self) -> Import:
        from palimpsest.transfer.restore import Import

        stores = self.stores
        return Import(stores.jobs, stores.blobs, stores.memories, self.clock, stores.tenants)

    @cached_property
    def import_foreign(self) -> ImportForeign:
        from palimpsest.transfer.foreign import ImportForeign

        return ImportForeign(self.remember, self.ingest)

    @cached_property
    def _exports(self) -> RemoveExports:
        from palimpsest.transfer.files import RemoveExports

        return RemoveExports(self.stores.blobs, self.clock)
