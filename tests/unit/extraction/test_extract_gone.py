"""Extraction of what is gone: erased, expired, deleted, withdrawn."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.extraction.chunk import Chunk
from palimpsest.jobs.job import OVERDUE_SECONDS
from palimpsest.jobs.ports import JobNotice

from tests.unit.extraction.extraction_world import SMALL, ExtractionWorld, asked, erase, facts


def test_a_user_who_was_erased_meanwhile_has_nothing_written() -> None:
    world, job = asked(*facts(4), room=SMALL)
    world.handle(job)
    finds = world.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        erase(world)
        return finds(chunk)

    world.extractor.finds = meanwhile
    world.handle(world.outbox[-1])
    assert world.records() == []
    assert world.through() == 0
    assert [world.job(each.id).error for each in world.outbox] == ["erased", "erased"]


def test_a_job_of_before_the_erasure_costs_no_model_call_however_often_it_is_replayed() -> None:
    world, job = asked("fact: one")
    erase(world)
    for _ in range(3):
        world.handle(job)
    assert world.extractor.read == []
    assert (world.job(job.id).state, world.job(job.id).error) == ("done", "erased")


def test_giving_up_on_what_was_erased_parks_nothing() -> None:
    world, job = asked("fact: one")
    erase(world)
    world.give_up(JobNotice("acme", job.id, "extract"), error="model_unavailable")
    assert world.parked() == ()
    assert world.job(job.id).error == "erased"


def test_what_a_user_says_after_an_erasure_is_remembered() -> None:
    world, job = asked("fact: old")
    erase(world)
    world.manage.delete(world.session())
    world.say("fact: new")
    world.handle(job)
    world.handle(world.ask())
    assert world.contents() == ["new"]


def test_a_session_that_expired_is_not_extracted_any_more() -> None:
    world, job = asked("fact: one")
    world.time.advance(31 * 24 * 3600)
    world.handle(job)
    assert world.records() == []
    assert (world.job(job.id).state, world.job(job.id).error) == ("done", "session_gone")


def test_a_session_made_again_under_its_id_meets_no_late_job_and_loses_nothing() -> None:
    world, old = asked(*facts(3), room=SMALL)
    world.handle(old)
    world.manage.delete(world.session())
    world.say("fact: new life")
    new = world.ask()
    world.handle(world.outbox[1])
    world.handle(new)
    assert world.job(old.id).error == "session_gone"
    assert world.contents() == ["new life", "thing 0 is so", "thing 1 is so"]
    assert world.report(new).ledger.received == 1


def test_a_withdrawn_message_is_not_extracted() -> None:
    world = ExtractionWorld()
    world.say("fact: kept", "fact: withdrawn")
    job = world.ask()
    partition = world.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    partition.head = replace(partition.head, withdrawn=((2, 2),))
    world.drain()
    assert world.contents() == ["kept"]
    assert world.through() == 2
    assert world.report(job).ledger.received == 1


def test_a_session_made_again_is_extracted_although_its_first_job_was_lost() -> None:
    world = ExtractionWorld()
    world.say("fact: old life, never extracted")
    world.manage.delete(world.session())
    world.say("fact: one", "fact: two")
    lost = world.ask()
    world.delivered = len(world.outbox)
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.drain()
    assert world.job(lost.id).error == "stuck"
    assert world.contents() == ["one", "two"]
    assert world.outbox_now()[-1].state == "done"


def test_a_session_that_expires_while_the_model_is_asked_gives_nothing() -> None:
    world, job = asked("fact: one")
    finds = world.extractor.finds

    def slowly(chunk: Chunk) -> object:
        world.time.advance(31 * 24 * 3600)
        return finds(chunk)

    world.extractor.finds = slowly
    world.handle(job)
    assert world.records() == []
    assert (world.job(job.id).state, world.job(job.id).error) == ("done", "session_gone")
