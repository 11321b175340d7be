"""What was lost on the way from a table to a worker is sent again; what is under way or has ended
is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from palimpsest.clock import seconds
from palimpsest.engines.places import SHARDS, job_partition, shards_at
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import JobNotice, RecordChanged
from palimpsest.jobs.handling import CountedTries
from palimpsest.jobs.job import (
    LEASE_SECONDS,
    MOST_LOST,
    OVERDUE_SECONDS,
    STUCK,
    UNHEARD_SECONDS,
    Job,
    JobState,
)
from palimpsest.jobs.payloads import NewerPayload
from palimpsest.wiring.sweep import wire_sweep
from palimpsest.workers.sweep import PATIENCE

from tests.service import SARAH
from tests.unit.conversations.service import ConversationService
from tests.unit.memory.service import MemoryService

MINUTE = 60
"""The sweep comes once a minute."""


def fold(service: ConversationService) -> Job:
    service.say(14)
    (job,) = service.outbox
    assert job.kind == "summarize"
    return job


def delete(service: ConversationService) -> Job:
    service.say(1)
    service.app.manage.delete(service.session())
    return service.outbox[-1]


def extract(service: ConversationService) -> Job:
    service.say(1)
    assert service.app.extract is not None
    return service.job(service.app.extract(service.session()).job_id)


def erase(service: ConversationService) -> Job:
    service.say(1)
    service.memories_app.erase(SARAH)
    return service.outbox[-1]


@pytest.fixture
def service() -> ConversationService:
    return ConversationService(
        max_tokens=400, keep_recent_turns=2, extract="manual", long_term=True
    )


@pytest.mark.parametrize("cause", [fold, extract, delete, erase])
def test_a_job_whose_message_was_lost_is_armed_again_within_two_minutes_and_takes_effect_once(
    service: ConversationService, cause: Callable[[ConversationService], Job]
) -> None:
    job = cause(service)
    service.delivered = len(service.outbox)  # the stream record, or the queue message, is lost
    service.time.advance(MINUTE)
    service.sweep()
    assert [notice.job_id for notice in service.sent_again] == [job.id]
    service.drain()
    assert service.job(job.id).state == "done"
    before = (service.all_jobs(), len(service.summarizer.read))
    service.handle(job)  # the message comes after all
    assert (service.all_jobs(), len(service.summarizer.read)) == before
    service.time.advance(OVERDUE_SECONDS)
    service.sweep()
    assert list(service.sent_again) == []


def test_what_one_store_does_not_answer_for_keeps_nothing_else_waiting(
    service: ConversationService,
) -> None:
    for session in map(str, range(9)):
        service.append("hello", session=session)
        service.app.manage.delete(service.session(session))
    with service.killed_at("before commit"):
        service.append("a" * 400_000, session="large")
    service.time.advance(OVERDUE_SECONDS)

    def down(step: str) -> None:
        if step == "before remove blobs":
            raise Unavailable("The bucket did not answer.")

    service.shared.faults = down
    with pytest.raises(Unavailable):
        service.sweep()
    assert sum(job.attempt == 1 for job in service.all_jobs() if job.kind == "delete") == 9


def test_what_waits_in_a_long_queue_is_sent_again_ever_more_rarely(
    service: ConversationService,
) -> None:
    fold(service)
    for _ in range(OVERDUE_SECONDS // MINUTE - 1):
        service.time.advance(MINUTE)
        service.sweep()
    assert len(service.sent_again) <= 6


def test_a_sweep_without_time_for_all_work_leaves_the_rest_to_the_next_ones(
    service: ConversationService,
) -> None:
    for session in map(str, range(60)):
        service.append("hello", session=session)
        service.app.manage.delete(service.session(session))
    lost = {job.id for job in service.all_jobs() if job.kind == "delete"}
    service.delivered = len(service.outbox)
    sweep = replace(service.sweep, timer=count(step=PATIENCE / 10).__next__)
    visits = []
    for _ in range(20):
        service.time.advance(MINUTE)
        visits.append(sweep())
    assert max(visits) <= 10 < len(lost)
    assert {notice.job_id for notice in service.sent_again} == lost


def test_each_shard_comes_first_in_some_minute() -> None:
    firsts = {next(shards_at(minute * MINUTE)) for minute in range(SHARDS)}
    assert firsts == set(shards_at(0))
    assert len(firsts) == SHARDS


def seconds_of(service: ConversationService) -> int:
    return seconds(service.time.now())


@pytest.mark.parametrize("step", ["before start", "after start"])
@pytest.mark.parametrize("cause", [fold, extract, delete, erase])
def test_the_job_of_a_killed_worker_is_done_within_three_minutes_and_takes_effect_once(
    service: ConversationService, cause: Callable[[ConversationService], Job], step: str
) -> None:
    job = cause(service)
    service.delivered = len(service.outbox)
    with service.killed_at(step):
        service.handle(job)
    for _ in range(3):  # the queue hides the message of the killed worker for nine minutes
        service.time.advance(MINUTE)
        service.sweep()
        service.drain()
    assert service.job(job.id).state == "done"
    before = (service.all_jobs(), len(service.summarizer.read))
    service.handle(job)  # now the queue delivers it again
    assert (service.all_jobs(), len(service.summarizer.read)) == before


@pytest.mark.parametrize("step", ["before commit", "after commit"])
def test_a_worker_killed_at_its_commit_leaves_one_summary(
    service: ConversationService, step: str
) -> None:
    job = fold(service)
    service.delivered = len(service.outbox)
    with service.killed_at(step):
        service.handle(job)
    for _ in range(3):
        service.time.advance(MINUTE)
        service.sweep()
        service.drain()
    assert service.job(job.id).state == "done"
    assert len(service.app.history.compactions(service.session(), limit=9)[0]) == 1


def test_a_job_that_a_worker_has_begun_is_not_sent_again_while_its_function_may_run(
    service: ConversationService,
) -> None:
    job = fold(service)
    service.jobs.start(job.begun(now=seconds_of(service)))
    service.time.advance(LEASE_SECONDS - 1)
    service.sweep()
    assert list(service.sent_again) == []
    service.time.advance(1)
    service.sweep()
    assert [notice.job_id for notice in service.sent_again] == [job.id]


def test_a_job_that_ends_every_worker_is_sent_again_a_few_times_and_then_begun_anew(
    service: ConversationService,
) -> None:
    job = fold(service)
    sent = 0
    for _ in range(OVERDUE_SECONDS // MINUTE - 1):
        service.jobs.start(job.begun(now=seconds_of(service)))
        service.time.advance(LEASE_SECONDS)
        service.sweep()
        if not service.sent_again:
            break
        service.sent_again.clear()
        sent += 1
    assert (sent, service.job(job.id).lost) == (MOST_LOST, MOST_LOST)
    assert service.job(job.id).due_at == job.overdue_at
    service.time.advance(OVERDUE_SECONDS)
    service.sweep()
    assert (service.job(job.id).state, service.job(job.id).error) == ("failed", STUCK)


@pytest.mark.parametrize("state", ["pending", "running", "failed"])
def test_a_job_that_only_a_newer_release_can_do_is_left_as_it_is_for_as_long_as_it_is_stored(
    service: ConversationService, state: JobState
) -> None:
    job = fold(service)
    before = replace(service.job(job.id), state=state, payload=NewerPayload())
    service.shared.jobs[job_partition(job)] = before
    for _ in range(2 * OVERDUE_SECONDS // MINUTE):
        service.time.advance(MINUTE)
        service.sweep()
    after = service.job(job.id)
    assert list(service.sent_again) == []
    assert replace(after, due_at=before.due_at) == before
    assert after.due_at is not None  # so that the newer release finds it


def test_a_job_whose_message_waits_after_a_failure_is_not_sent_again_before(
    service: ConversationService,
) -> None:
    job = fold(service)
    service.jobs.start(job.begun(now=seconds_of(service)))
    tries = CountedTries(service.jobs, service.clock)
    tries.wait(JobNotice(job.tenant, job.id, job.kind), seconds=300)
    for _ in range(5):
        service.time.advance(MINUTE)
        service.sweep()
    assert list(service.sent_again) == []
    service.time.advance(UNHEARD_SECONDS)
    service.sweep()  # nor was it delivered then
    assert [notice.job_id for notice in service.sent_again] == [job.id]


def test_a_flush_is_done_within_three_minutes_although_the_worker_that_should_end_it_was_killed(
    service: ConversationService,
) -> None:
    service = ConversationService(max_tokens=400, strategy="flush", long_term=True)
    service.say(8)
    flush = next(job for job in service.outbox if job.kind == "flush")
    for job in service.outbox:
        if job.kind == "flush":
            service.handle(job)
    for job in service.outbox:
        if job.kind == "extract":
            with service.killed_at("after commit memories"):
                service.handle(job)
    service.delivered = len(service.outbox)
    for _ in range(3):
        service.time.advance(MINUTE)
        service.sweep()
        service.drain()
    assert service.job(flush.id).state == "done"


def test_a_job_that_ended_while_the_sweep_looked_at_it_is_not_visited_again(
    service: ConversationService, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = fold(service)
    service.time.advance(UNHEARD_SECONDS)
    monkeypatch.setattr(service.sent_again, "send", lambda _: service.handle(job))
    service.sweep()
    assert (service.job(job.id).state, service.job(job.id).due_at) == ("done", None)


def test_a_memory_whose_change_was_lost_on_its_way_to_the_index_is_sent_again_within_two_minutes(
    tmp_path: Path,
) -> None:
    service = MemoryService(folder=tmp_path)
    record = service.say("works at A").record
    change = RecordChanged(SARAH.tenant, SARAH.user, record.id)
    service.sweep_all()  # it may be on its way
    assert service.sent_again.changes == []
    service.time.advance(MINUTE)
    service.sweep_all()
    assert service.sent_again.changes == [change]
    for _ in range(60):
        service.time.advance(MINUTE)
        service.sweep_all()
    assert len(service.sent_again.changes) <= 7  # ever more rarely
    service.memories.mark_indexed(SARAH, record)
    service.sent_again.changes.clear()
    service.time.advance(OVERDUE_SECONDS)
    service.sweep_all()
    assert service.sent_again.changes == []


def test_where_nothing_is_indexed_no_memory_waits_for_it() -> None:
    service = MemoryService()
    record = service.say("works at A").record
    within: dict[str, Any] = {
        "sessions": service.sessions,
        "jobs": service.jobs,
        "memories": service.memories,
    }
    background: dict[str, Any] = {
        "expiries": service.expiries,
        "tenants": service.tenants,
        "clock": service.clock,
    }
    _, sweep = wire_sweep(
        **within,
        **background,
        blobs=service.blobs,
        vectors=service.stores.vectors(),
        usages=service.usages,
        tokens=service.tokens,
        queues=service.sent_again,
        is_indexed=False,
    )
    sweep()
    assert service.expiries.reminder(SARAH, record.id) is None
    assert service.sent_again.changes == []
