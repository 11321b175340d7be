"""What tests of extraction say to the service, and how its steps are made to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from palimpsest.clock import Clock
from palimpsest.conversations.append import AppendResult, Extract
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.manage import ManageSessions
from palimpsest.conversations.message import Chat
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.extraction.ingest import Ingested
from palimpsest.extraction.report import ExtractionReport
from palimpsest.jobs.job import Job, armed
from palimpsest.models.ports import ChatModel
from palimpsest_local.stores.state import Faults

from tests.service import SARAH, Service

SMALL = 100  # tokens: two of the messages that `facts` gives fit
DOWN = ModelUnavailable("down")
PROSE = ModelOutputInvalid("prose")


class ExtractionService(Service):
    """Conversations that are extracted: asked for by the tests, or with `extract` "auto" by the
    sessions' own rule.
    """

    def __init__(
        self,
        *,
        extract: Extract = "never",
        faults: Faults | None = None,
        clock: Clock | None = None,
        folder: Path | None = None,
        selector: ChatModel | None = None,
        **memory: Any,
    ) -> None:
        super().__init__(
            faults=faults, clock=clock, folder=folder, selector=selector, memory=memory
        )
        self.by_rule = extract
        self.append = self.app.append
        limit = SessionLimit(self.sessions, self.clock)
        self.manage = ManageSessions(self.sessions, self.tenants, self.tokens, self.clock, limit)
        assert self.app.extract is not None
        self.request, self.ingest_transcript = self.app.extract, self.memories_app.ingest
        self.report_of = self.memories_app.report

    def wire_workers(self) -> None:
        super().wire_workers()
        work = self.extraction
        self.extract, self.give_up, self.retry, self.restart = (
            work.step,
            work.give_up,
            work.retry,
            work.restart,
        )

    @property
    def outbox(self) -> list[Job]:
        return [job for job in self.sessions.outbox if job.kind == "extract"]

    def outbox_now(self) -> list[Job]:
        """The jobs that were put, as they are now."""
        return [self.job(job.id) for job in self.outbox]

    def say(self, *texts: str, session: str = "s", timestamp: str | None = None) -> AppendResult:
        """What the user says, each a message."""
        return self.put(
            *({"role": "user", "content": text} for text in texts),
            session=session,
            timestamp=timestamp,
        )

    def put(self, *chats: Chat, session: str = "s", timestamp: str | None = None) -> AppendResult:
        drafts = [Draft(chat, timestamp=timestamp) for chat in chats]
        return self.append(
            self.session(session), drafts, user="sarah", allow_repeat=True, extract=self.by_rule
        )

    def ingest(self, *texts: str, session: str | None = None) -> Ingested:
        """A transcript in which user and assistant take turns."""
        return self.ingest_transcript(SARAH, transcript(texts), session_id=session)

    def ask(self, session: str = "s") -> Job:
        """Ask for the extraction of what nobody extracts yet: the job."""
        return self.job(self.request(self.session(session)).job_id)

    def sweep(self) -> None:
        """Look at every extraction that is due."""
        for job in [job for job in self.sessions.state.jobs.values() if job.kind == "extract"]:
            if job.due_at is not None and job.due_at <= self.clock.now().timestamp():
                self.restart(job)

    def current(self, topic: str) -> str | None:
        """What holds of a topic."""
        pointer = self.memories.pointers(SARAH, [topic]).get(topic)
        records = (
            self.memories.records(SARAH, [pointer.record]) if pointer and pointer.record else ()
        )
        return records[0].content if records else None

    def through(self, session: str = "s") -> int:
        return self.memories.progress(SARAH, session).through

    def parked(self, session: str = "s") -> tuple[tuple[int, int], ...]:
        return self.memories.progress(SARAH, session).parked

    def report(self, job: Job) -> ExtractionReport:
        return self.report_of(self.job(job.id))


def transcript(texts: Sequence[str]) -> list[Draft]:
    roles = ("user", "assistant")
    return [
        Draft({"role": roles[number % 2], "content": text}) for number, text in enumerate(texts)
    ]


def said_by(draft: Draft, timestamp: str) -> Draft:
    return replace(draft, timestamp=timestamp)


def facts(number: int, *, word: str = "thing") -> list[str]:
    return [f"fact: {word} {fact} is so" for fact in range(number)]


def asked(*texts: str, room: int = 100_000) -> tuple[ExtractionService, Job]:
    """A session whose messages wait to be extracted, and the job."""
    service = ExtractionService()
    service.extractor.room = room
    service.say(*texts)
    return service, service.ask()


def erase(service: ExtractionService) -> None:
    epoch = service.memories.user(SARAH).epoch
    job = replace(
        armed(
            tenant="acme",
            kind="delete",
            payload=RemovalPayload(),
            session="all",
            first=0,
            last=epoch,
            now=0,
        ),
        user="sarah",
    )
    service.memories.erase(SARAH, epoch=epoch, job=job)


def crashing(service: ExtractionService, where: str) -> None:
    """Make the next commit to memories crash there."""
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == where:
            for error in crashes:
                raise error

    service.sessions.state.faults = crash


def failed(*texts: str) -> tuple[ExtractionService, Job]:
    """A job all of which is parked, and a model that is up again."""
    service, job = asked(*texts, room=SMALL)
    service.extractor.failure = DOWN
    service.drain()
    service.extractor.failure = None
    service.extractor.read.clear()
    return service, job
