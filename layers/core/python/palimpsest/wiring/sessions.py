"""Build the use cases of conversations for the function `sessions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from palimpsest import settings
from palimpsest.clock import Clock
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.reader import BlockReader
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory, similar_messages
from palimpsest.context.read import ReadContext
from palimpsest.conversations.append import Append
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.history import History
from palimpsest.conversations.listing import ListJobs, ListSessions, SessionLimit
from palimpsest.conversations.manage import ManageSessions
from palimpsest.conversations.overflow.arm import OverflowJobs, Prune
from palimpsest.conversations.ports import Blobs, Compare, Near, Sessions
from palimpsest.conversations.redact import Redact
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import RetryExtraction
from palimpsest.extraction.report import ReportExtraction
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.idempotency import KeyedCalls
from palimpsest.jobs.kinds import Family
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import ReadJob, Restart, RestartSteps, RetryJob
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.memory.removal.retention import ManageSettings
from palimpsest.memory.removal.sessions import ForgetSessions
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import SessionScope, UserScope
from palimpsest.tenants.ports import StaticFacts, Tenants
from palimpsest.transfer.files import Export
from palimpsest.usage import ReadUsage, Usages
from palimpsest.wiring.engines import (
    blob_store,
    fact_store,
    keyed_calls,
    memory_store,
    question_embedder,
    search_index,
    session_store,
    system_clock,
    tenant_store,
    token_counter,
    usage_store,
)

if TYPE_CHECKING:
    from palimpsest.recall.search import SearchMemories


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that a function behind the API reads and writes. Its store of sessions is always
    wrapped here in the guard that hides sessions of erased users.
    """

    sessions: Sessions
    jobs: Jobs
    calls: KeyedCalls
    tenants: Tenants
    blobs: Blobs
    usages: Usages

    def __post_init__(self) -> None:
        if not isinstance(self.sessions, EpochGuard):
            object.__setattr__(self, "sessions", EpochGuard(self.sessions))


@dataclass(frozen=True, slots=True)
class SessionsApp:
    """What the `sessions` function can do. `extract` and `report` are None where there is no
    long-term memory.
    """

    stores: Stores
    append: Append
    context: ReadContext
    prune: Prune
    manage: ManageSessions
    forget_sessions: ForgetSessions
    history: History
    redact: Redact
    read_job: ReadJob
    list_jobs: ListJobs
    retry_job: RetryJob
    settings: ManageSettings
    export: Export
    usage: ReadUsage
    clock: Clock
    extract: RequestExtraction | None
    report: ReportExtraction | None


def wire_sessions(
    stores: Stores,
    *,
    tokens: TokenCounter,
    clock: Clock,
    memories: Memories | None = None,
    facts: StaticFacts | None = None,
    search: Callable[[], SearchMemories] | None = None,
    models: tuple[str, ...] | None = None,
) -> SessionsApp:
    """Build the use cases of conversations over any adapters, and those of long-term memory that
    need only tables.
    `search` is called whenever a context is to hold messages that are similar to the one just
    appended. `models` are those that callers may name; None: any.
    """
    sessions, jobs, tenants = stores.sessions, stores.jobs, stores.tenants
    contents = Contents(stores.blobs, jobs, clock)
    schedule = None if memories is None else ExtractionSchedule(jobs)
    blocks = BlockReader(
        static=None if facts is None else StaticMemory(facts),
        extractive=None if memories is None else ExtractiveMemory(memories, clock),
        vector=None if search is None else VectorMemory(similar_messages(search)),
    )
    report = None if memories is None else ReportExtraction(memories)
    limit = SessionLimit(sessions, clock)
    manage = ManageSessions(sessions, tenants, tokens, clock, limit, schedule, models)
    return SessionsApp(
        stores=stores,
        append=Append(sessions, tenants, tokens, clock, limit, schedule, contents, manage.setup),
        context=ReadContext(sessions, tokens, clock, blocks, contents),
        prune=Prune(sessions, jobs, clock, None if search is None else _near(search)),
        manage=manage,
        forget_sessions=ForgetSessions(ListSessions(sessions, clock), jobs, clock),
        history=History(sessions, clock, contents),
        redact=Redact(sessions, tokens, clock),
        read_job=ReadJob(jobs, clock),
        list_jobs=ListJobs(sessions, jobs, report.shown if report else lambda job: job),
        retry_job=RetryJob(
            jobs, restarts(sessions=sessions, jobs=jobs, memories=memories, clock=clock), clock
        ),
        settings=ManageSettings(tenants, jobs, clock),
        export=Export(jobs, stores.blobs, clock),
        usage=ReadUsage(stores.usages, clock),
        clock=clock,
        extract=None if schedule is None else RequestExtraction(sessions, schedule, clock),
        report=report,
    )


def _near(search: Callable[[], SearchMemories]) -> Near:
    def near(scope: UserScope, session: SessionScope, text: str, *, stored: int) -> Compare | None:
        from palimpsest.recall.search import nearness

        return nearness(search)(scope, session, text, stored=stored)

    return near


def restarts(
    *, sessions: Sessions, jobs: Jobs, memories: Memories | None, clock: Clock
) -> dict[Family, Restart]:
    """For each family of jobs, what starts a failed one again when a caller asks for that."""
    overflow = partial(OverflowJobs(sessions, jobs, clock).arm, at_once=True)
    found: dict[Family, Restart] = {"overflow": overflow, "steps": RestartSteps(jobs, clock)}
    if memories is not None:
        found["extraction"] = RetryExtraction(Steps(sessions, jobs, memories, clock))
    return found


@cache
def sessions_app() -> SessionsApp:
    environment = settings.SessionsSettings.read()
    table = environment.sessions_table
    sessions, jobs = session_store(table, environment.memories_table)
    tenants, blobs = (
        tenant_store(environment.tenants_table, table),
        blob_store(environment.contents_bucket),
    )
    stores = Stores(sessions, jobs, keyed_calls(table), tenants, blobs, usage_store(table))
    memories = memory_store(environment.memories_table, table)

    def search() -> SearchMemories:
        """What searches is heavy: it is loaded when it is first needed."""
        from palimpsest.recall.search import SearchMemories

        index = search_index(environment)
        model = question_embedder(environment, function=environment.embed_function)
        return SearchMemories(memories, stores.sessions, index, index, model, system_clock())

    return wire_sessions(
        stores,
        tokens=token_counter(),
        clock=system_clock(),
        memories=memories,
        facts=fact_store(environment.tenants_table),
        search=search,
        models=environment.models,
    )
