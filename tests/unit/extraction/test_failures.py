"""Extraction that fails is tried again, parked and tried once more: never taken for one that found
nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from palimpsest.errors import ModelFailed, ModelUnavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.jobs import MOST_ATTEMPTS
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS, Job

from tests.unit.extraction.service import (
    DOWN,
    PROSE,
    SMALL,
    ExtractionService,
    asked,
    crashing,
    facts,
    failed,
)


@pytest.mark.parametrize("failure", [DOWN, PROSE, ModelFailed("no", code="model_refused_request")])
def test_a_failed_extraction_is_never_an_empty_one(failure: ModelFailed) -> None:
    service, job = asked("fact: one")
    service.extractor.failure = failure
    with pytest.raises(ModelFailed):
        service.handle(job)
    assert service.through() == 0
    assert service.report(job).ledger.received == 0
    assert service.job(job.id).state == "running"


def test_after_its_last_receive_a_chunk_is_parked_and_the_rest_goes_on() -> None:
    service, job = asked(*facts(5), room=SMALL)
    poison = service.extractor.finds

    def chokes(chunk: Chunk) -> object:
        if chunk.first == 3:
            raise PROSE
        return poison(chunk)

    service.extractor.finds = chokes
    service.drain()
    report = service.report(job)
    assert service.parked() == ((3, 4),)
    assert service.through() == 5
    assert (report.ledger.received, report.ledger.extracted, report.ledger.parked) == (5, 3, 2)
    assert (report.state, service.job(job.id).error) == ("failed", "parked")


def test_a_model_that_is_down_parks_all_that_is_left_at_once() -> None:
    service, job = asked(*facts(6), room=SMALL)
    service.extractor.failure = DOWN
    service.drain()
    assert service.parked() == ((1, 2), (3, 4), (5, 6))
    assert len(service.extractor.read) == 4
    assert service.report(job).ledger.parked == 6
    assert service.job(job.id).state == "failed"


def test_what_failed_calls_used_is_counted_with_the_job() -> None:
    service, job = asked(*facts(4), room=SMALL)
    service.extractor.failure = ModelUnavailable("down")
    service.extractor.failure.spent = {
        "model_calls": 1,
        "tokens_in": 50,
        "tokens_out": 0,
        "cost_nano_usd": 5_000,
    }
    service.drain()
    assert service.job(job.id).state == "failed"
    spent = service.report(job).spent
    assert (spent.model_calls, spent.tokens_in, spent.cost_usd) == (4, 200, 0.00002)


def redriven(service: ExtractionService, job: Job) -> None:
    service.handle(service.job(job.id))


def by_the_sweep(service: ExtractionService, job: Job) -> None:
    service.time.advance(61)
    service.sweep()


def by_a_caller(service: ExtractionService, job: Job) -> None:
    assert service.retry(service.job(job.id)) is not None


@pytest.mark.parametrize("retried", [redriven, by_the_sweep, by_a_caller])
def test_what_was_parked_is_extracted_when_the_job_is_tried_again(
    retried: Callable[[ExtractionService, Job], None],
) -> None:
    service, job = failed(*facts(5))
    retried(service, job)
    service.drain()
    report = service.report(job)
    assert service.extractor.read == [(1, 2), (3, 4), (5,)]
    assert service.parked() == ()
    assert (report.state, report.ledger.extracted, report.ledger.parked) == ("done", 5, 0)


def test_trying_again_twice_is_trying_again_once() -> None:
    service, job = failed(*facts(2))
    again = {service.retry(service.job(job.id)) for _ in range(3)}
    redriven(service, job)
    service.drain()
    assert len(again) == 1
    assert service.extractor.read == [(1, 2)]


def test_what_fails_again_stays_parked_and_waits_longer() -> None:
    service, job = failed(*facts(3))
    service.extractor.failure = DOWN
    waits = []
    for _ in range(MOST_ATTEMPTS - 1):
        due = min(each.due_at for each in service.sessions.state.jobs.values() if each.due_at)
        waits.append(due - int(service.clock.now().timestamp()))
        service.time.advance(waits[-1] + 1)
        service.sweep()
        service.drain()
    assert waits == sorted(waits)
    assert 60 <= waits[0] <= 61 < waits[-1] <= 300
    assert service.parked() == ((1, 2), (3, 3))
    assert not [
        each for each in service.sessions.state.jobs.values() if each.due_at
    ]  # the dead letters have it
    service.extractor.failure = None
    assert service.retry(service.job(job.id)) is not None
    service.drain()
    assert service.report(job).state == "done"


def test_a_poison_chunk_does_not_keep_what_was_parked_with_it() -> None:
    service, job = failed(*facts(6))
    finds = service.extractor.finds

    def chokes(chunk: Chunk) -> object:
        if chunk.first == 3:
            raise PROSE
        return finds(chunk)

    service.extractor.finds = chokes
    redriven(service, job)
    service.drain()
    assert service.parked() == ((3, 4),)
    assert service.report(job).ledger.extracted == 4


def test_later_messages_are_extracted_while_earlier_ones_are_parked() -> None:
    service, job = failed(*facts(2))
    service.say("fact: later")
    service.handle(service.ask())
    assert service.contents() == ["later"]
    redriven(service, job)
    service.drain()
    assert len(service.contents()) == 3


def test_an_older_statement_that_was_parked_does_not_displace_a_newer_one() -> None:
    service, job = failed("fact[residence]: lives in Rome")
    service.time.advance(60)
    service.say("fact[residence]: lives in Oslo")
    service.handle(service.ask())
    redriven(service, job)
    service.drain()
    assert service.contents() == ["lives in Oslo", "lives in Rome"]
    assert service.current("residence") == "lives in Oslo"


def test_a_step_whose_message_was_lost_is_begun_again_where_it_stood() -> None:
    service, job = asked(*facts(4), room=SMALL)
    service.handle(job)
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.delivered = 2
    service.drain()
    assert service.extractor.read == [(1, 2), (3, 4)]
    assert service.report(job).state == "done"
    assert not [each for each in service.sessions.state.jobs.values() if each.due_at]


def test_a_crash_while_a_model_is_given_up_on_is_mended_by_the_sweep() -> None:
    service, job = asked(*facts(6), room=SMALL)
    service.extractor.failure = DOWN
    with pytest.raises(ModelUnavailable):
        service.handle(job)
    crashing(service, "after commit memories")
    with pytest.raises(RuntimeError):
        service.give_up(JobNotice("acme", job.id, "extract"), error="model_unavailable")
    service.extractor.failure = None
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.delivered = len(service.outbox) - 1
    service.drain()
    assert service.through() == 6
    assert service.parked() == ((1, 2),)
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.drain()
    assert service.report(job).state == "done"
    assert len(service.contents()) == 6


def test_a_step_that_is_lost_again_and_again_is_parked_in_the_end() -> None:
    service, job = asked(*facts(3), room=SMALL)
    for _ in range(7):
        service.time.advance(OVERDUE_SECONDS + 1)
        service.sweep()
    assert service.parked() == ((1, 2),)
    for each in service.outbox:  # all of them come after all, in any order
        service.handle(each)
    service.drain()
    assert len(service.contents()) == 3
    assert service.report(job).state == "done"


def test_a_store_error_is_a_failure_and_nothing_is_skipped() -> None:
    service, job = asked("fact: one")
    crashing(service, "before start")
    with pytest.raises(RuntimeError):
        service.handle(job)
    service.handle(job)
    assert service.contents() == ["one"]
