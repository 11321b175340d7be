"""Conversations that are extracted: a service within one process whose extractor says what it is told to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.bootstrap.extraction import wire_extraction
from palimpsest.clock import Clock, FakeClock
from palimpsest.conversations.append import Append, Appended, Extract
from palimpsest.conversations.manage import ManageSessions
from palimpsest.conversations.messages import Chat, Draft, text_of
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.engines.in_memory.jobs import InMemoryJobs
from palimpsest.engines.in_memory.memories import InMemoryMemories
from palimpsest.engines.in_memory.sessions import InMemorySessions
from palimpsest.engines.in_memory.state import Faults
from palimpsest.engines.in_memory.tenants import InMemoryTenants
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable, PalimpsestError
from palimpsest.extraction.chunk import Chunk, Finding
from palimpsest.extraction.ingest import Ingest, Ingested
from palimpsest.extraction.ports import Extraction
from palimpsest.extraction.report import Report, ReportExtraction
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.jobs.job import MAX_RECEIVES, Job, armed
from palimpsest.jobs.kinds import RemovalPayload
from palimpsest.jobs.ports import JobNotice
from palimpsest.memory.records import Record
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.models.ports import Usage
from palimpsest.scope import Scope, SessionScope
from palimpsest.tenants.ports import TenantSettings

from tests.unit.world import LetterCounter

TENANT = Scope("acme")
SARAH = TENANT.user("sarah")
_STATEMENT = re.compile(r"(fact|event|instruction|task)(?:\[(\w+)\])?: (.+)")

SMALL = 100  # tokens: two of the messages that `facts` gives fit
DOWN = ModelUnavailable("down")
PROSE = ModelOutputInvalid("prose")

Finds = Callable[[Chunk], Iterable[Finding]]


def stated(chunk: Chunk) -> list[Finding]:
    """What messages say by the form `fact[topic]: content`, one finding each line."""
    found = []
    for message in chunk.messages:
        for kind, topic, content in _STATEMENT.findall(text_of(message.chat)):
            found.append(Finding(kind, content, (message.seq,), content, topic=topic or None, importance=0.8))
    return found


@dataclass
class Extracts:
    """An extractor that finds what `finds` finds, in chunks of at most `room` tokens; `failure` is raised while set."""

    room: int = 100_000
    failure: Exception | None = None
    finds: Finds = stated
    reaches: Callable[[Chunk], int] = lambda chunk: chunk.last
    read: list[tuple[int, ...]] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)

    def capacity(self, *, prompt: str | None) -> int:
        return self.room

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        self.read.append(tuple(message.seq for message in chunk.messages))
        self.before.append(tuple(message.seq for message in chunk.before))
        if self.failure is not None:
            raise self.failure
        return Extraction(
            findings=tuple(self.finds(chunk)),
            through=chunk.last if whole else self.reaches(chunk),
            method="model",
            model="gpt-4.1-nano",
            prompt_hash="abc",
            usage=Usage(1, 1000, 100),
        )


class ExtractionWorld:
    """The service over in-memory adapters, extraction included. `faults` is told of every write and may raise there.

    Extraction is asked for by the tests, or with `extract` "auto" by the sessions' own rule.
    """

    def __init__(
        self, *, faults: Faults | None = None, clock: Clock | None = None, extract: Extract = "never", **memory: object
    ) -> None:
        self.time = FakeClock()
        self.clock = clock or self.time
        self.sessions, self.jobs, self.memories = self.stores_of(faults)
        self.tenants = InMemoryTenants()
        self.tenants.replace_settings(TENANT, TenantSettings(memory=memory))
        self.by_rule = extract
        self.extractor = Extracts()
        tokens = LetterCounter()
        schedule = ExtractionSchedule(self.jobs)
        sessions = EpochGuard(self.sessions)
        self.append = Append(sessions, self.tenants, tokens, self.clock, schedule)
        self.request = RequestExtraction(sessions, schedule, self.clock)
        self.ingest_transcript = Ingest(sessions, self.memories, self.append, self.request, self.clock)
        self.manage = ManageSessions(self.sessions, self.tenants, tokens, self.clock)
        work = wire_extraction(
            sessions=self.sessions,
            jobs=self.jobs,
            memories=self.memories,
            tenants=self.tenants,
            extractor=self.extractor,
            clock=self.clock,
        )
        self.extract, self.give_up, self.retry, self.restart = work.step, work.give_up, work.retry, work.restart
        self.report_of = ReportExtraction(self.memories)
        self.delivered = 0

    def stores_of(self, faults: Faults | None) -> tuple[InMemorySessions, InMemoryJobs, InMemoryMemories]:
        sessions = InMemorySessions(faults=faults)
        return sessions, InMemoryJobs(sessions.state), InMemoryMemories(sessions.state)

    @property
    def outbox(self) -> list[Job]:
        return [job for job in self.sessions.outbox if job.kind == "extract"]

    def all_jobs(self) -> list[Job]:
        """Every job that was put, as it is now."""
        return list(self.sessions.state.jobs.values())

    def outbox_now(self) -> list[Job]:
        """The jobs that were put, as they are now."""
        return [self.job(job.id) for job in self.outbox]

    def session(self, name: str = "s") -> SessionScope:
        return TENANT.session(name)

    def say(self, *texts: str, session: str = "s", timestamp: str | None = None) -> Appended:
        """What the user says, each a message."""
        return self.put(*({"role": "user", "content": text} for text in texts), session=session, timestamp=timestamp)

    def put(self, *chats: Chat, session: str = "s", timestamp: str | None = None) -> Appended:
        drafts = [Draft(chat, timestamp=timestamp) for chat in chats]
        return self.append(self.session(session), drafts, user="sarah", allow_repeat=True, extract=self.by_rule)

    def ingest(self, *texts: str, session: str | None = None) -> Ingested:
        """A transcript in which user and assistant take turns."""
        return self.ingest_transcript(SARAH, transcript(texts), session_id=session)

    def ask(self, session: str = "s") -> Job:
        """Ask for the extraction of what nobody extracts yet: the job."""
        return self.job(self.request(self.session(session)).job_id)

    def job(self, job_id: str | None) -> Job:
        found = self.jobs.get(TENANT, job_id or "")
        assert found is not None
        return found

    def handle(self, job: Job) -> None:
        """One delivery of a job's message."""
        self.extract(JobNotice(job.tenant, job.id, job.kind))

    def handle_to_the_end(self, job: Job) -> None:
        """A message delivered until it is done or until its last receive has failed."""
        for receive in range(1, MAX_RECEIVES + 1):
            try:
                self.handle(job)
            except PalimpsestError as failure:
                if receive == MAX_RECEIVES:
                    self.give_up(JobNotice(job.tenant, job.id, job.kind), error=failure.code)
            else:
                return

    def drain(self) -> None:
        """Deliver every job that was put and not yet delivered, and those that follow from them."""
        while self.delivered < len(self.outbox):
            self.delivered += 1
            self.handle_to_the_end(self.outbox[self.delivered - 1])

    def sweep(self) -> None:
        """Look at every extraction that is due."""
        for job in [job for job in self.sessions.state.jobs.values() if job.kind == "extract"]:
            if job.due_at is not None and job.due_at <= self.clock.now().timestamp():
                self.restart(job)

    def records(self) -> list[Record]:
        return list(self.memories.listed(SARAH, limit=1_000, newest_first=False).records)

    def contents(self) -> list[str]:
        return sorted(record.content for record in self.records())

    def current(self, topic: str) -> str | None:
        """What holds of a topic."""
        pointer = self.memories.pointers(SARAH, [topic]).get(topic)
        found = self.memories.records(SARAH, [pointer.record]) if pointer and pointer.record else ()
        return found[0].content if found else None

    def through(self, session: str = "s") -> int:
        return self.memories.progress(SARAH, session).through

    def parked(self, session: str = "s") -> tuple[tuple[int, int], ...]:
        return self.memories.progress(SARAH, session).parked

    def report(self, job: Job) -> Report:
        return self.report_of(self.job(job.id))


def transcript(texts: Sequence[str]) -> list[Draft]:
    roles = ("user", "assistant")
    return [Draft({"role": roles[number % 2], "content": text}) for number, text in enumerate(texts)]


def said_by(draft: Draft, timestamp: str) -> Draft:
    return replace(draft, timestamp=timestamp)


def facts(number: int, *, word: str = "thing") -> list[str]:
    return [f"fact: {word} {each} is so" for each in range(number)]


def asked(*texts: str, room: int = 100_000) -> tuple[ExtractionWorld, Job]:
    """A session whose messages wait to be extracted, and the job."""
    world = ExtractionWorld()
    world.extractor.room = room
    world.say(*texts)
    return world, world.ask()


def erase(world: ExtractionWorld) -> None:
    epoch = world.memories.user(SARAH).epoch
    job = replace(
        armed(tenant="acme", kind="delete", payload=RemovalPayload(), session="all", first=0, last=epoch, now=0),
        user="sarah",
    )
    world.memories.erase(SARAH, epoch=epoch, job=job)


def crashing(world: ExtractionWorld, where: str) -> None:
    """Make the next commit to memories crash there."""
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == where:
            for error in crashes:
                raise error

    world.sessions.state.faults = crash


def failed(*texts: str) -> tuple[ExtractionWorld, Job]:
    """A job all of which is parked, and a model that is up again."""
    world, job = asked(*texts, room=SMALL)
    world.extractor.failure = DOWN
    world.drain()
    world.extractor.failure = None
    world.extractor.read.clear()
    return world, job
