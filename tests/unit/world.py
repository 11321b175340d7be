"""A whole service within one process, whose queues and time move only when a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from palimpsest.bootstrap import SessionsApp, Stores, wire_sessions, wire_summarize
from palimpsest.clock import Clock, FakeClock
from palimpsest.conversations.append import Appended
from palimpsest.conversations.messages import Draft, Message
from palimpsest.conversations.ports import Summary
from palimpsest.engines.in_memory.jobs import InMemoryJobs
from palimpsest.engines.in_memory.sessions import InMemorySessions
from palimpsest.engines.in_memory.state import Faults
from palimpsest.engines.in_memory.tenants import InMemoryTenants
from palimpsest.errors import ModelFailed
from palimpsest.jobs.job import MAX_RECEIVES, Job
from palimpsest.jobs.ports import JobNotice
from palimpsest.memory.removal.session import Remove
from palimpsest.models.ports import Usage
from palimpsest.scope import Scope, SessionScope
from palimpsest.tenants.ports import TenantSettings
from palimpsest.workers.sweep import Sweep

TENANT = Scope("acme")


class LetterCounter:
    """One token for every four letters: deterministic and quick."""

    def encoding_for(self, model: str | None) -> str:
        return "letters" if model is None else "words"

    def count(self, text: str, encoding: str) -> int:
        return -(-len(text) // 4) if encoding == "letters" else len(text.split())


@dataclass
class RecordingSummarizer:
    """Names the messages that it read; fails as long as `failure` is set."""

    room: int = 100_000
    fills_its_room: bool = False
    failure: Exception | None = None
    read: list[tuple[int, ...]] = field(default_factory=list)

    def capacity(self, *, model: str | None, prompt: str | None, max_tokens: int) -> int:
        return self.room

    def summarize(
        self,
        *,
        previous: str | None,
        messages: Sequence[Message],
        max_tokens: int,
        prompt: str | None,
        model: str | None,
    ) -> Summary:
        self.read.append(tuple(message.seq for message in messages))
        if self.failure is not None:
            raise self.failure
        text = f"up to {messages[-1].seq}"
        if self.fills_its_room:
            text = f"{text} ".ljust(4 * max_tokens, "x")
        return Summary(text, method="extractive", usage=Usage(model_calls=1))


class World:
    """The service over in-memory adapters. `faults` is told of every write and may raise there."""

    def __init__(self, *, faults: Faults | None = None, clock: Clock | None = None, **memory: object) -> None:
        self.time = FakeClock()
        self.clock = clock or self.time
        self.sessions = InMemorySessions(faults=faults)
        self.jobs = InMemoryJobs(self.sessions.state)
        self.tenants = InMemoryTenants()
        self.tenants.replace_settings(TENANT, TenantSettings(memory=memory))
        self.summarizer = RecordingSummarizer()
        counter = LetterCounter()
        self.app: SessionsApp = wire_sessions(
            Stores(self.sessions, self.jobs, self.tenants), tokens=counter, clock=self.clock
        )
        self.summarize, self.give_up = wire_summarize(
            sessions=self.sessions, jobs=self.jobs, summarizer=self.summarizer, tokens=counter, clock=self.clock
        )
        self.remove = Remove(self.sessions, self.jobs, self.clock)
        self.sweep = Sweep(self.sessions, self.jobs, self.clock)
        self.delivered = 0

    @property
    def outbox(self) -> list[Job]:
        return self.sessions.outbox

    def all_jobs(self) -> list[Job]:
        """Every job that was put, as it is now."""
        return list(self.sessions.state.jobs.values())

    def session(self, name: str = "s") -> SessionScope:
        return TENANT.session(name)

    def append(
        self, *texts: str, role: str = "user", session: str = "s", key: str | None = None, user: str | None = "sarah"
    ) -> Appended:
        drafts = [Draft({"role": role, "content": text}) for text in texts]
        return self.app.append(self.session(session), drafts, user=user, key=key, allow_repeat=key is None)

    def say(self, turns: int, *, letters: int = 40, session: str = "s") -> None:
        """Whole turns: a question and its answer, of so many letters each."""
        for _ in range(turns):
            self.append("q" * letters, session=session)
            self.append("a" * letters, role="assistant", session=session)

    def handle(self, job: Job) -> None:
        """One delivery of a job's message."""
        notice = JobNotice(job.tenant, job.id, job.kind)
        (self.summarize if job.kind == "summarize" else self.remove)(notice)

    def handle_to_the_end(self, job: Job) -> None:
        """A message delivered until it is done or until its last receive has failed."""
        for receive in range(1, MAX_RECEIVES + 1):
            try:
                self.handle(job)
            except ModelFailed as failure:
                if receive == MAX_RECEIVES:
                    self.give_up(JobNotice(job.tenant, job.id, job.kind), error=failure.code)
            else:
                return

    def drain(self) -> None:
        """Deliver every job that was put and not yet delivered, and those that follow from them."""
        while self.delivered < len(self.outbox):
            job = self.outbox[self.delivered]
            self.delivered += 1
            self.handle_to_the_end(job)

    def shown(self, session: str = "s", *, max_tokens: int | None = None) -> list[str]:
        """The texts of the context."""
        context = self.app.context(self.session(session), max_tokens=max_tokens)
        return [str(message["content"]) for message in context.fitted.messages]

    def history(self, session: str = "s") -> list[int]:
        """Every sequence number that can be read."""
        found: list[int] = []
        after = None
        while True:
            page, after = self.app.history.messages(self.session(session), limit=7, after=after)
            found += [message.seq for message in page]
            if after is None:
                return found
