"""The use cases of conversations, and the function `sessions` that has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from palimpsest import settings
from palimpsest.bootstrap.engines import (
    fact_store,
    memory_store,
    session_store,
    system_clock,
    tenant_store,
    token_counter,
)
from palimpsest.clock import Clock, seconds
from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.reader import BlockReader
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.read import ReadContext
from palimpsest.conversations.append import Append
from palimpsest.conversations.history import History
from palimpsest.conversations.jobs import ListJobs
from palimpsest.conversations.manage import ManageSessions
from palimpsest.conversations.overflow.arm import Arm
from palimpsest.conversations.overflow.prune import Prune
from palimpsest.conversations.ports import Sessions
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import RetryExtraction
from palimpsest.extraction.report import ReportExtraction
from palimpsest.extraction.schedule import LongTerm, RequestExtraction
from palimpsest.jobs.job import Job, JobKind
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.read import ReadJob
from palimpsest.jobs.restart import Again, MendUserJob, RetryJob
from palimpsest.memory.ports import Memories
from palimpsest.memory.removal.epochs import unerased
from palimpsest.memory.removal.session import begin_again
from palimpsest.memory.removal.sessions import ForgetSessions
from palimpsest.models.ports import TokenCounter
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFacts, Tenants


@dataclass(frozen=True, slots=True)
class SessionsApp:
    """What the `sessions` function can do. `extract` and `report` are None where there is no long-term memory."""

    append: Append
    context: ReadContext
    prune: Prune
    manage: ManageSessions
    forget_sessions: ForgetSessions
    history: History
    read_job: ReadJob
    list_jobs: ListJobs
    retry_job: RetryJob
    tenants: Tenants
    extract: RequestExtraction | None
    report: ReportExtraction | None


def wire_sessions(
    *,
    sessions: Sessions,
    jobs: Jobs,
    tenants: Tenants,
    tokens: TokenCounter,
    clock: Clock,
    memories: Memories | None = None,
    facts: StaticFacts | None = None,
) -> SessionsApp:
    """The use cases of conversations over any adapters, with those of long-term memory that need tables alone."""
    long_term = None if memories is None else LongTerm(memories, jobs)
    stored, sessions = sessions, sessions if memories is None else unerased(sessions, memories)
    blocks = BlockReader(
        static=None if facts is None else StaticMemory(facts),
        extractive=None if memories is None else ExtractiveMemory(memories, clock),
    )
    manage = ManageSessions(sessions, tenants, tokens, clock, memories is not None, long_term)
    return SessionsApp(
        append=Append(sessions, tenants, tokens, clock, long_term),
        context=ReadContext(stored, tokens, clock, blocks, memories),
        prune=Prune(sessions, jobs, clock),
        manage=manage,
        forget_sessions=ForgetSessions(manage, jobs, clock),
        history=History(sessions, clock),
        read_job=ReadJob(jobs, clock),
        list_jobs=ListJobs(sessions, jobs),
        retry_job=RetryJob(jobs, ways_to_retry(sessions=sessions, jobs=jobs, memories=memories, clock=clock), clock),
        tenants=tenants,
        extract=None if long_term is None else RequestExtraction(sessions, long_term, clock),
        report=None if memories is None else ReportExtraction(memories),
    )


def ways_to_retry(*, sessions: Sessions, jobs: Jobs, memories: Memories | None, clock: Clock) -> dict[JobKind, Again]:
    """How a failed job of each kind is begun again."""
    arm, on_user = Arm(sessions, clock), MendUserJob(jobs, clock)

    def overflow(job: Job) -> str | None:
        return arm(Scope(job.tenant).session(job.session), at_once=True)

    def removal(job: Job) -> str:
        return begin_again(sessions, jobs, job, now=seconds(clock.now()))

    ways: dict[JobKind, Again] = {
        **dict.fromkeys(("summarize", "flush"), overflow),
        **dict.fromkeys(("delete", "withdraw"), removal),
        **dict.fromkeys(("forget", "forget_sessions", "erase"), on_user),
    }
    if memories is not None:
        ways["extract"] = RetryExtraction(Steps(sessions, jobs, memories, clock))
    return ways


@cache
def sessions_app() -> SessionsApp:
    told = settings.SessionsSettings.read()
    sessions, jobs = session_store(told.sessions_table, told.memories_table)
    return wire_sessions(
        sessions=sessions,
        jobs=jobs,
        tenants=tenant_store(told.tenants_table),
        tokens=token_counter(),
        clock=system_clock(),
        memories=memory_store(told.memories_table, told.sessions_table),
        facts=fact_store(told.tenants_table),
    )
