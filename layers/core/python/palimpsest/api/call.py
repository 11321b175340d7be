"""The call that is being answered: its caller, the function's use cases, and how long it may still take."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from palimpsest.api.caller import Caller
from palimpsest.jobs.read import ReadJob
from palimpsest.scope import SessionScope, UserScope
from palimpsest.tenants.ports import Tenants

if TYPE_CHECKING:  # a function loads what its own routes need
    from palimpsest.context.read import ReadContext
    from palimpsest.conversations.append import Append
    from palimpsest.conversations.history import History
    from palimpsest.conversations.jobs import ListJobs
    from palimpsest.conversations.manage import ManageSessions
    from palimpsest.conversations.overflow.prune import Prune
    from palimpsest.extraction.ingest import Ingest
    from palimpsest.extraction.report import ReportExtraction
    from palimpsest.extraction.schedule import RequestExtraction
    from palimpsest.jobs.restart import RetryJob
    from palimpsest.memory.history import ShowMemories
    from palimpsest.memory.manage import ManageMemories
    from palimpsest.memory.ports import Memories
    from palimpsest.memory.remember import Remember
    from palimpsest.memory.removal.erase import Erase
    from palimpsest.memory.removal.forget import Forget
    from palimpsest.memory.removal.sessions import ForgetSessions
    from palimpsest.recall.recall import Recall
    from palimpsest.recall.search import FindSessions, SearchMemories
    from palimpsest.recall.tool import SearchTool
    from palimpsest.tenants.static_facts import ManageStaticFacts

LONGEST = 27.0  # seconds: the gateway answers for us after 30


class Common(Protocol):
    """Use cases that every function behind the gateway has."""

    @property
    def read_job(self) -> ReadJob: ...
    @property
    def report(self) -> ReportExtraction | None: ...
    @property
    def tenants(self) -> Tenants: ...


class Windows(Protocol):
    """Use cases on a session's window, which both functions have."""

    @property
    def context(self) -> ReadContext: ...
    @property
    def prune(self) -> Prune: ...
    @property
    def manage(self) -> ManageSessions: ...


class UseCases(Common, Windows, Protocol):
    """Use cases of the function `sessions`. `extract` is None where there is no long-term memory."""

    @property
    def list_jobs(self) -> ListJobs: ...
    @property
    def retry_job(self) -> RetryJob: ...
    @property
    def extract(self) -> RequestExtraction | None: ...
    @property
    def forget_sessions(self) -> ForgetSessions: ...

    @property
    def append(self) -> Append: ...
    @property
    def history(self) -> History: ...


class MemoryUseCases(Common, Windows, Protocol):
    """Use cases of the function `memories`."""

    @property
    def memories(self) -> Memories: ...
    @property
    def remember(self) -> Remember: ...
    @property
    def manage_memories(self) -> ManageMemories: ...
    @property
    def forget(self) -> Forget: ...
    @property
    def erase(self) -> Erase: ...
    @property
    def show(self) -> ShowMemories: ...
    @property
    def ingest(self) -> Ingest: ...
    @property
    def facts(self) -> ManageStaticFacts: ...
    @property
    def recall(self) -> Recall: ...
    @property
    def search(self) -> SearchMemories: ...
    @property
    def search_tool(self) -> SearchTool: ...
    @property
    def find_sessions(self) -> FindSessions: ...


@dataclass(frozen=True, slots=True)
class Call:
    """`wired` holds the use cases of the function that serves the call; `begun` is its time.monotonic()."""

    caller: Caller
    wired: UseCases | MemoryUseCases
    begun: float = field(default_factory=time.monotonic)

    @property
    def windows(self) -> Windows:
        return self.wired

    @property
    def use(self) -> UseCases:
        return cast("UseCases", self.wired)

    @property
    def memory(self) -> MemoryUseCases:
        return cast("MemoryUseCases", self.wired)

    def user(self, user_id: str) -> UserScope:
        return self.caller.tenant.user(user_id)

    def session(self, session_id: str) -> SessionScope:
        return self.caller.tenant.session(session_id)

    def patience(self, wait: float) -> float:
        """`wait` seconds, or less where the gateway would give up before."""
        return max(0.0, min(wait, LONGEST - (time.monotonic() - self.begun)))


CURRENT: ContextVar[Call] = ContextVar("CURRENT")


def call() -> Call:
    """The call that the current operation answers."""
    return CURRENT.get()
