"""Extraction of what is gone: erased, expired, deleted, withdrawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.commit import LOOK_BACK
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import OVERDUE_SECONDS
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.extraction.service import SMALL, ExtractionService, asked, erase, facts


def test_a_user_who_was_erased_meanwhile_has_nothing_written() -> None:
    service, job = asked(*facts(4), room=SMALL)
    service.handle(job)
    finds = service.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        erase(service)
        return finds(chunk)

    service.extractor.finds = meanwhile
    service.handle(service.outbox[-1])
    assert service.records() == []
    assert service.through() == 0
    assert [service.job(each.id).error for each in service.outbox] == ["erased", "erased"]


def test_a_job_of_before_the_erasure_costs_no_model_call_however_often_it_is_replayed() -> None:
    service, job = asked("fact: one")
    erase(service)
    for _ in range(3):
        service.handle(job)
    assert service.extractor.read == []
    assert (service.job(job.id).state, service.job(job.id).error) == ("done", "erased")


def test_giving_up_on_what_was_erased_parks_nothing() -> None:
    service, job = asked("fact: one")
    erase(service)
    service.give_up(JobNotice("acme", job.id, "extract"), error="model_unavailable")
    assert service.parked() == ()
    assert service.job(job.id).error == "erased"


def test_what_a_user_says_after_an_erasure_is_remembered() -> None:
    service, job = asked("fact: old")
    erase(service)
    service.manage.delete(service.session())
    service.say("fact: new")
    service.handle(job)
    service.handle(service.ask())
    assert service.contents() == ["new"]


def test_a_session_that_expired_is_not_extracted_any_more() -> None:
    service, job = asked("fact: one")
    service.time.advance(31 * 24 * 3600)
    service.handle(job)
    assert service.records() == []
    assert (service.job(job.id).state, service.job(job.id).error) == ("done", "session_gone")


def test_a_session_made_again_under_its_id_meets_no_late_job_and_loses_nothing() -> None:
    service, old = asked(*facts(3), room=SMALL)
    service.handle(old)
    service.manage.delete(service.session())
    service.say("fact: new life")
    new = service.ask()
    service.handle(service.outbox[1])
    service.handle(new)
    assert service.job(old.id).error == "session_gone"
    assert service.contents() == ["new life", "thing 0 is so", "thing 1 is so"]
    assert service.report(new).ledger.received == 1


def test_a_withdrawn_message_is_not_extracted() -> None:
    service = ExtractionService()
    service.say("fact: kept", "fact: withdrawn")
    job = service.ask()
    partition = service.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    partition.head = replace(partition.head, withdrawn=((2, 2),))
    service.drain()
    assert service.contents() == ["kept"]
    assert service.through() == 2
    assert service.report(job).ledger.received == 1


@pytest.mark.parametrize("between", [0, 2 * LOOK_BACK])
def test_a_role_play_that_was_withdrawn_is_not_played_on(between: int) -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.say("Let's role-play: I'm Karl and you are my boss.", *["What now?"] * between)
    service.handle_to_the_end(service.ask())
    partition = service.sessions.state.partitions["acme", "s"]
    assert partition.head is not None
    partition.head = replace(partition.head, withdrawn=((1, 1),))
    service.say("I live in Kiel.")
    service.handle_to_the_end(service.ask())
    assert service.contents() == ["I live in Kiel."]


def test_a_session_made_again_is_extracted_although_its_first_job_was_lost() -> None:
    service = ExtractionService()
    service.say("fact: old life, never extracted")
    service.manage.delete(service.session())
    service.say("fact: one", "fact: two")
    lost = service.ask()
    service.delivered = len(service.outbox)
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.drain()
    assert service.job(lost.id).error == "stuck"
    assert service.contents() == ["one", "two"]
    assert service.outbox_now()[-1].state == "done"


def test_a_session_that_expires_while_the_model_is_asked_gives_nothing() -> None:
    service, job = asked("fact: one")
    finds = service.extractor.finds

    def slowly(chunk: Chunk) -> object:
        service.time.advance(31 * 24 * 3600)
        return finds(chunk)

    service.extractor.finds = slowly
    service.handle(job)
    assert service.records() == []
    assert (service.job(job.id).state, service.job(job.id).error) == ("done", "session_gone")
