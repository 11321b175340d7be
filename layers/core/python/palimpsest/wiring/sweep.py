"""Builds the worker of the sweep queue, and the scheduled sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from palimpsest.clock import Clock
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.overflow.arm import OverflowJobs
from palimpsest.conversations.ports import Blobs, Sessions
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import GiveUpExtraction, RestartExtraction, RetryExtraction
from palimpsest.feedback.reviews import forget_reviews
from palimpsest.jobs.handling import Handling, Router
from palimpsest.jobs.kinds import Family, JobKind
from palimpsest.jobs.ports import Jobs, Queues
from palimpsest.jobs.requests import Restart
from palimpsest.jobs.steps import GiveUpStep, RestartSteps, UserSteps
from palimpsest.memory.old_words import HideOldWords
from palimpsest.memory.ports import Expiries, Memories
from palimpsest.memory.remember import Remember
from palimpsest.memory.removal.expire import Expire, Remind
from palimpsest.memory.removal.memories import ForgetPages
from palimpsest.memory.removal.memories_of_session import ForgetMemoriesOfSession
from palimpsest.memory.removal.messages import RemoveFromSession
from palimpsest.memory.removal.retention import SETTLING, RetainPages
from palimpsest.memory.removal.sessions import ForgetSessionPages
from palimpsest.memory.removal.sources import HideSources
from palimpsest.memory.removal.taken_back import TakeBack, TakeBackRedacted, TakeBackSummaries
from palimpsest.memory.removal.users import ErasePages
from palimpsest.models.ports import TokenCounter
from palimpsest.offline.extractor import PatternExtractor, states
from palimpsest.scope import UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.transfer.export import ExportPages
from palimpsest.transfer.files import RemoveExports, forget_sent
from palimpsest.transfer.memories import RecordsKind, VectorsKind
from palimpsest.transfer.restore import ImportPages
from palimpsest.transfer.sessions import SessionsKind
from palimpsest.usage import Usages
from palimpsest.vectors.ports import VectorStore
from palimpsest.workers.sweep import Sweep


@dataclass(frozen=True, kw_only=True)  # without slots: its parts are made once
class SweepParts:
    """The stores that the sweep works on, and the steps of the jobs in its queue. `indexing` is the
    queue that gets changed records, or None if there is no index.
    """

    sessions: Sessions
    jobs: Jobs
    memories: Memories
    expiries: Expiries
    tenants: Tenants
    blobs: Blobs
    vectors: VectorStore
    usages: Usages
    tokens: TokenCounter
    clock: Clock
    indexing: Queues | None
    settling: float

    @cached_property
    def contents(self) -> Contents:
        return Contents(self.blobs, self.jobs, self.clock)

    @cached_property
    def exports(self) -> RemoveExports:
        return RemoveExports(self.blobs, self.clock)

    @cached_property
    def restart(self) -> RestartSteps:
        return RestartSteps(self.jobs, self.clock)

    @cached_property
    def pages(self) -> UserSteps:
        return UserSteps(self.jobs, self.restart, self.clock, self.indexing)

    def removals_from_sessions(self) -> Mapping[JobKind, Handling]:
        give_up = GiveUpStep(self.jobs, self.clock)
        forget = ForgetMemoriesOfSession(self.memories, self.clock)
        forget_named = ForgetMemoriesOfSession(self.memories, self.clock, self.jobs, states)
        remove = RemoveFromSession(
            self.sessions, self.pages, self.clock, forget, self.contents, self.exports
        )
        summaries = TakeBackSummaries(self.sessions, self.jobs, self.clock)
        take_back = TakeBack(self.jobs, self.pages, forget_named, summaries, self.exports)
        take_back_redacted = TakeBackRedacted(
            self.jobs, self.pages, forget_named, summaries, self.contents, self.exports
        )
        forget_sessions = ForgetSessionPages(self.sessions, self.pages, self.clock)
        return {
            "delete": Handling(remove, give_up),
            "withdraw": Handling(remove, give_up),
            "redact": Handling(take_back_redacted, give_up),
            "take_back": Handling(take_back, give_up),
            "forget_sessions": Handling(forget_sessions, give_up),
        }

    def removals_from_memory(self) -> Mapping[JobKind, Handling]:
        give_up = GiveUpStep(self.jobs, self.clock)
        remember = Remember(self.memories, self.tenants, self.clock)
        forget = ForgetPages(
            self.memories,
            self.expiries,
            self.pages,
            self.clock,
            remember,
            self.exports,
            HideSources(self.sessions, self.memories, self.clock, states),
            states,
        )
        erase = ErasePages(
            self.sessions,
            self.memories,
            self.usages,
            self.pages,
            self.clock,
            self.contents,
            self._forget_contents,
            self.exports,
        )
        retain = RetainPages(
            self.tenants,
            self.sessions,
            self.memories,
            self.expiries,
            self.pages,
            self.clock,
            self.settling,
        )
        return {
            "forget": Handling(forget, give_up),
            "erase": Handling(erase, give_up),
            "retain": Handling(retain, give_up),
        }

    def _forget_contents(self, scope: UserScope, epoch: int) -> None:
        """Remove a user's uploads and reviews from before this epoch."""
        forget_sent(self.blobs, scope, epoch)
        forget_reviews(self.blobs, scope, epoch)

    def transfers(self) -> Mapping[JobKind, Handling]:
        give_up = GiveUpStep(self.jobs, self.clock)
        limit = SessionLimit(self.sessions, self.clock)
        kinds = (
            SessionsKind(
                self.sessions,
                self.memories,
                self.jobs,
                self.contents,
                self.tenants,
                limit,
                self.tokens,
                self.clock,
                HideOldWords(self.memories, self.clock, states),
            ).kind,
            RecordsKind(self.memories, self.expiries, self.tenants, self.clock).kind,
            VectorsKind(self.vectors, self.memories).kind,
        )
        write = ExportPages(kinds, self.memories, self.blobs, self.pages, self.clock)
        restore = ImportPages(
            kinds, self.blobs, self.memories, self.pages, self.clock, self.tenants
        )
        return {
            "upload": Handling(self.contents.settle, self.contents.give_up),
            "export": Handling(write, give_up),
            "import": Handling(restore, give_up),
        }

    def restarts(self) -> dict[Family, Restart]:
        """Return, for each family of jobs, the function that starts a job again."""
        steps = Steps(self.sessions, self.jobs, self.memories, self.clock, self.contents)
        # parking needs only the extractor's chunk size
        parking = GiveUpExtraction(steps, PatternExtractor())
        return {
            "overflow": OverflowJobs(self.sessions, self.jobs, self.clock).restart,
            "steps": self.restart,
            "extraction": RestartExtraction(steps, RetryExtraction(steps), parking),
            "upload": self.contents.abandon,
        }

    def expire(self) -> Expire:
        remind = Remind(self.expiries, self.clock, self.indexing)
        return Expire(self.memories, self.expiries, self.clock, remind)


def wire_sweep(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    expiries: Expiries,
    tenants: Tenants,
    blobs: Blobs,
    vectors: VectorStore,
    usages: Usages,
    tokens: TokenCounter,
    clock: Clock,
    queues: Queues | None = None,
    is_indexed: bool = True,
    settling: float = SETTLING,
) -> tuple[Router, Sweep]:
    """Build the worker of the sweep queue, and the scheduled sweep. The sweep sends lost messages
    to `queues` again, and changes of records if there is an index. `settling` is how many seconds a
    changed retention waits for writes that are in progress.
    """
    parts = SweepParts(
        sessions=sessions,
        jobs=jobs,
        memories=memories,
        expiries=expiries,
        tenants=tenants,
        blobs=blobs,
        vectors=vectors,
        usages=usages,
        tokens=tokens,
        clock=clock,
        indexing=queues if is_indexed else None,
        settling=settling,
    )
    work = Router(
        {**parts.removals_from_sessions(), **parts.removals_from_memory(), **parts.transfers()}
    )
    return work, Sweep(sessions, jobs, clock, parts.restarts(), parts.expire(), queues, usages)
