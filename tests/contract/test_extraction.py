"""A whole extraction over every engine: conversations in one table, memories in another, jobs in
one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from string import ascii_lowercase
from threading import Barrier

import pytest
from palimpsest.clock import SystemClock
from palimpsest.conversations.append import Append
from palimpsest.conversations.begin import BeginSession
from palimpsest.conversations.listing import SessionLimit
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.errors import ModelUnavailable
from palimpsest.extraction.ingest import Ingest
from palimpsest.extraction.report import ExtractionReport, ReportExtraction
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.jobs.attempts import next_step
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, armed
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Memories
from palimpsest.scope import UserScope
from palimpsest.wiring.workers import wire_extraction
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalTenants

from tests.contract.tables import memories_table, sessions_table
from tests.doubles.extractor import Extracts
from tests.doubles.tokens import LetterCounter
from tests.unit.extraction.service import transcript

CLOCK = SystemClock()


@dataclass
class Service:
    """Ingest and extraction over one engine; jobs are delivered by hand."""

    sessions: Sessions
    jobs: Jobs
    memories: Memories
    user: UserScope
    extractor: Extracts = field(default_factory=lambda: Extracts(room=100))

    def __post_init__(self) -> None:
        schedule = ExtractionSchedule(self.jobs)
        request = RequestExtraction(self.sessions, schedule, CLOCK)
        tenants, tokens = LocalTenants(), LetterCounter()
        begin = BeginSession(tenants, tokens, SessionLimit(self.sessions, CLOCK))
        append = Append(self.sessions, tenants, tokens, CLOCK, begin, schedule)
        self._ingest = Ingest(self.sessions, self.memories, append, request, CLOCK)
        self.work = wire_extraction(
            sessions=self.sessions,
            jobs=self.jobs,
            memories=self.memories,
            tenants=LocalTenants(),
            extractor=self.extractor,
            clock=CLOCK,
        )

    def ingest(self, *texts: str) -> Job:
        done = self._ingest(self.user, transcript(texts), session_id="talk")
        return self.job(done.job_id)

    def job(self, job_id: str | None) -> Job:
        found = self.jobs.get(self.user.owner, job_id or "")
        assert found is not None
        return found

    def deliver(self, job: Job) -> None:
        self.work.step(JobNotice(job.tenant, job.id, job.kind))

    def chain(self, job: Job) -> Iterator[Job]:
        """The steps that follow a job."""
        for first in range(job.first, job.last + 1):
            found = self.jobs.get(self.user.owner, next_step(job, first=first, now=0).id)
            if found is not None:
                yield found

    def finish(self, job: Job) -> None:
        """The job, and its steps as they come."""
        self.deliver(job)
        done: set[str] = set()
        while waiting := [step for step in self.chain(job) if step.id not in done]:
            self.deliver(waiting[0])
            done.add(waiting[0].id)

    def finished(self, job: Job) -> Job:
        self.finish(job)
        return job

    def report(self, job: Job) -> ExtractionReport:
        return ReportExtraction(self.memories)(self.job(job.id))

    def contents(self) -> list[str]:
        return sorted(
            record.content for record in self.memories.listed(self.user, limit=100).records
        )


@pytest.fixture
def service(engine: str, endpoint: str | None, sarah: UserScope) -> Service:
    if engine == "in_memory":
        sessions = LocalSessions()
        return Service(sessions, LocalJobs(sessions.state), LocalMemories(sessions.state), sarah)
    jobs_table, table = sessions_table(endpoint), memories_table(endpoint)
    return Service(
        DynamoDbSessions(jobs_table, endpoint=endpoint),
        DynamoDbJobs(jobs_table, endpoint=endpoint),
        DynamoDbMemories(table, jobs_table, endpoint=endpoint),
        sarah,
    )


FACTS = (
    "fact[residence]: lives in Rome",
    "ok",
    "fact: likes jazz",
    "ok",
    "event: met Tom yesterday",
)


def test_a_transcript_becomes_memories_chunk_by_chunk(service: Service) -> None:
    job = service.ingest(*FACTS)
    service.finish(job)
    report = service.report(job)
    assert len(service.contents()) == 3
    assert (report.state, report.ledger.received, report.ledger.extracted) == ("done", 5, 5)
    assert len(report.records) == 3
    assert report.spent.model_calls == len(service.extractor.read) == 3
    assert {step.state for step in service.chain(job)} == {"done"}


def test_the_same_transcript_again_is_the_same_job(service: Service) -> None:
    job = service.ingest(*FACTS)
    assert service.ingest(*FACTS).id == job.id


@pytest.mark.parametrize(
    "engine", ["in_memory", "dynoxide"]
)  # on moto threads see half of a transaction
def test_eight_identical_ingests_and_eight_workers_at_once_make_one_record_of_each_fact(
    service: Service,
) -> None:
    together = Barrier(8)

    def at_once(work: Callable[[], Job]) -> Job:
        together.wait()
        return work()

    with ThreadPoolExecutor(8) as callers:
        first, *others = callers.map(at_once, [lambda: service.ingest(*FACTS)] * 8)
        assert {job.id for job in others} == {first.id}
        list(callers.map(at_once, [lambda: service.finished(first)] * 8))
    assert [content.split(" (")[0] for content in service.contents()] == [
        "likes jazz",
        "lives in Rome",
        "met Tom yesterday",
    ]
    ledger = service.report(first).ledger
    assert (ledger.received, ledger.extracted, ledger.parked) == (5, 5, 0)


def test_a_delivery_that_comes_twice_changes_nothing(service: Service) -> None:
    job = service.ingest(*FACTS)
    service.finish(job)
    before = service.memories.user(service.user)
    service.deliver(job)
    assert service.memories.user(service.user) == before


def test_a_job_that_comes_before_its_turn_is_woken_by_the_one_before_it(service: Service) -> None:
    first = service.ingest(*FACTS[:4])
    second = service.ingest(*FACTS)
    service.deliver(second)
    assert service.memories.progress(service.user, "talk").waiting == (second.id,)
    service.finish(first)
    assert service.memories.progress(service.user, "talk").waiting == ()
    for step in service.chain(second):
        service.deliver(step)
    assert (service.report(first).state, service.report(second).state) == ("done", "done")
    assert len(service.contents()) == 3


def test_what_was_parked_is_extracted_by_a_retry(service: Service) -> None:
    job = service.ingest(*FACTS)
    service.extractor.failure = ModelUnavailable("down")
    with pytest.raises(ModelUnavailable):
        service.deliver(job)
    service.work.give_up(JobNotice(job.tenant, job.id, job.kind), error="model_unavailable")
    failed = service.report(job)
    assert (failed.state, failed.ledger.parked) == ("failed", 5)
    service.extractor.failure = None
    service.finish(service.job(service.work.retry(service.job(job.id))))
    assert (service.report(job).state, service.report(job).ledger.parked) == ("done", 0)
    assert len(service.contents()) == 3


def test_what_was_begun_before_an_erasure_writes_nothing(service: Service) -> None:
    job = service.ingest(*FACTS)
    epoch = service.memories.user(service.user).epoch
    erasure = armed(
        tenant=job.tenant,
        kind="delete",
        payload=RemovalPayload(),
        session="all",
        first=0,
        last=0,
        now=0,
    )
    service.memories.erase(service.user, epoch=epoch, job=erasure)
    service.deliver(job)
    assert service.contents() == []
    assert service.job(job.id).error == "erased"


@pytest.mark.not_in_process
def test_a_message_that_says_more_than_a_transaction_holds_keeps_as_much_as_it_can(
    service: Service,
) -> None:
    """Twenty-five statements, each displacing another one, are 104 actions."""
    service.extractor.room = 100_000
    topics = [f"topic{letter}" for letter in ascii_lowercase[:25]]
    service.finish(service.ingest(_all(topics, "old")))
    more = service.ingest(_all(topics, "old"), "ok", _all(topics, "new"))
    service.finish(more)
    current = service.memories.pointers(service.user, topics)
    records = service.memories.records(
        service.user, [str(current[topic].record) for topic in topics]
    )
    kept = [record.content for record in records if record.content.startswith("new")]
    dropped = service.report(more).ledger.dropped.get("over_limit", 0)
    assert len(kept) + dropped == 25
    assert len(kept) == 23


def _all(topics: list[str], what: str) -> str:
    return "\n".join(f"fact[{topic}]: {what} {topic}" for topic in topics)
