"""Extraction that fails is tried again, parked and tried once more: never taken for one that found nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from palimpsest.errors import ModelFailed, ModelUnavailable
from palimpsest.extraction.chunk import Chunk
from palimpsest.jobs.job import OVERDUE_SECONDS, Job
from palimpsest.jobs.ports import JobNotice

from tests.unit.extraction.extraction_world import DOWN, PROSE, SMALL, ExtractionWorld, asked, crashing, facts, failed


@pytest.mark.parametrize("failure", [DOWN, PROSE, ModelFailed("no", code="model_refused_request")])
def test_a_failed_extraction_is_never_an_empty_one(failure: ModelFailed) -> None:
    world, job = asked("fact: one")
    world.extractor.failure = failure
    with pytest.raises(ModelFailed):
        world.handle(job)
    assert world.through() == 0
    assert world.report(job).ledger.received == 0
    assert world.job(job.id).state == "running"


def test_after_its_last_receive_a_chunk_is_parked_and_the_rest_goes_on() -> None:
    world, job = asked(*facts(5), room=SMALL)
    poison = world.extractor.finds

    def chokes(chunk: Chunk) -> object:
        if chunk.first == 3:
            raise PROSE
        return poison(chunk)

    world.extractor.finds = chokes
    world.drain()
    report = world.report(job)
    assert world.parked() == ((3, 4),)
    assert world.through() == 5
    assert (report.ledger.received, report.ledger.extracted, report.ledger.parked) == (5, 3, 2)
    assert (report.state, world.job(job.id).error) == ("failed", "parked")


def test_a_model_that_is_down_parks_all_that_is_left_at_once() -> None:
    world, job = asked(*facts(6), room=SMALL)
    world.extractor.failure = DOWN
    world.drain()
    assert world.parked() == ((1, 2), (3, 4), (5, 6))
    assert len(world.extractor.read) == 4
    assert world.report(job).ledger.parked == 6
    assert world.job(job.id).state == "failed"


def redriven(world: ExtractionWorld, job: Job) -> None:
    world.handle(world.job(job.id))


def by_the_sweep(world: ExtractionWorld, job: Job) -> None:
    world.time.advance(61)
    world.sweep()


def by_a_caller(world: ExtractionWorld, job: Job) -> None:
    assert world.retry(world.job(job.id)) is not None


@pytest.mark.parametrize("retried", [redriven, by_the_sweep, by_a_caller])
def test_what_was_parked_is_extracted_when_the_job_is_tried_again(
    retried: Callable[[ExtractionWorld, Job], None],
) -> None:
    world, job = failed(*facts(5))
    retried(world, job)
    world.drain()
    report = world.report(job)
    assert world.extractor.read == [(1, 2), (3, 4), (5,)]
    assert world.parked() == ()
    assert (report.state, report.ledger.extracted, report.ledger.parked) == ("done", 5, 0)


def test_trying_again_twice_is_trying_again_once() -> None:
    world, job = failed(*facts(2))
    again = {world.retry(world.job(job.id)) for _ in range(3)}
    redriven(world, job)
    world.drain()
    assert len(again) == 1
    assert world.extractor.read == [(1, 2)]


def test_what_fails_again_stays_parked_and_waits_longer() -> None:
    world, job = failed(*facts(3))
    world.extractor.failure = DOWN
    waits = []
    for _ in range(6):
        due = min(each.due_at for each in world.sessions.state.jobs.values() if each.due_at)
        waits.append(due - int(world.clock.now().timestamp()))
        world.time.advance(waits[-1] + 1)
        world.sweep()
        world.drain()
    assert waits == sorted(waits)
    assert 60 <= waits[0] <= 61 < waits[-1] <= 3600
    assert world.parked() == ((1, 2), (3, 3))
    assert not [each for each in world.sessions.state.jobs.values() if each.due_at]  # the dead letters have it
    world.extractor.failure = None
    assert world.retry(world.job(job.id)) is not None
    world.drain()
    assert world.report(job).state == "done"


def test_a_poison_chunk_does_not_keep_what_was_parked_with_it() -> None:
    world, job = failed(*facts(6))
    finds = world.extractor.finds

    def chokes(chunk: Chunk) -> object:
        if chunk.first == 3:
            raise PROSE
        return finds(chunk)

    world.extractor.finds = chokes
    redriven(world, job)
    world.drain()
    assert world.parked() == ((3, 4),)
    assert world.report(job).ledger.extracted == 4


def test_later_messages_are_extracted_while_earlier_ones_are_parked() -> None:
    world, job = failed(*facts(2))
    world.say("fact: later")
    world.handle(world.ask())
    assert world.contents() == ["later"]
    redriven(world, job)
    world.drain()
    assert len(world.contents()) == 3


def test_an_older_statement_that_was_parked_does_not_displace_a_newer_one() -> None:
    world, job = failed("fact[residence]: lives in Rome")
    world.time.advance(60)
    world.say("fact[residence]: lives in Oslo")
    world.handle(world.ask())
    redriven(world, job)
    world.drain()
    assert world.contents() == ["lives in Oslo", "lives in Rome"]
    assert world.current("residence") == "lives in Oslo"


def test_a_step_whose_message_was_lost_is_begun_again_where_it_stood() -> None:
    world, job = asked(*facts(4), room=SMALL)
    world.handle(job)
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.delivered = 2
    world.drain()
    assert world.extractor.read == [(1, 2), (3, 4)]
    assert world.report(job).state == "done"
    assert not [each for each in world.sessions.state.jobs.values() if each.due_at]


def test_a_crash_while_a_model_is_given_up_on_is_mended_by_the_sweep() -> None:
    world, job = asked(*facts(6), room=SMALL)
    world.extractor.failure = DOWN
    with pytest.raises(ModelUnavailable):
        world.handle(job)
    crashing(world, "after commit memories")
    with pytest.raises(RuntimeError):
        world.give_up(JobNotice("acme", job.id, "extract"), error="model_unavailable")
    world.extractor.failure = None
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.delivered = len(world.outbox) - 1
    world.drain()
    assert world.through() == 6
    assert world.parked() == ((1, 2),)
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.drain()
    assert world.report(job).state == "done"
    assert len(world.contents()) == 6


def test_a_step_that_is_lost_again_and_again_is_parked_in_the_end() -> None:
    world, job = asked(*facts(3), room=SMALL)
    for _ in range(7):
        world.time.advance(OVERDUE_SECONDS + 1)
        world.sweep()
    assert world.parked() == ((1, 2),)
    for each in world.outbox:  # all of them come after all, in any order
        world.handle(each)
    world.drain()
    assert len(world.contents()) == 3
    assert world.report(job).state == "done"


def test_a_store_error_is_a_failure_and_nothing_is_skipped() -> None:
    world, job = asked("fact: one")
    crashing(world, "before start")
    with pytest.raises(RuntimeError):
        world.handle(job)
    world.handle(job)
    assert world.contents() == ["one"]
