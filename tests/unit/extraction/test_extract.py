"""Extraction: each message once and in order, whatever comes twice, late, at once or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from time import monotonic
from typing import Any

import pytest
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.jobs.job import OVERDUE_SECONDS
from palimpsest.models import deadline
from palimpsest.tenants.settings import TenantSettings

from tests.doubles.extractor import stated
from tests.service import SARAH, TENANT
from tests.unit.extraction.service import SMALL, ExtractionService, asked, crashing, facts


def test_what_was_said_is_remembered_with_its_source() -> None:
    service, job = asked("fact[residence]: lives in Rome")
    service.drain()
    (record,) = service.records()
    (message,) = service.sessions.messages(service.session(), first=1, last=1)
    assert (record.content, record.topic_key, record.method) == (
        "lives in Rome",
        "residence",
        "model",
    )
    assert (record.source.session, record.source.seqs, record.source.message_ids) == (
        "s",
        (1,),
        (message.id,),
    )
    assert record.source.quote == "lives in Rome"
    assert service.report(job).records == (record.id,)
    assert service.job(job.id).state == "done"


@pytest.mark.parametrize(("memory", "usual", "seconds"), [({}, 30, 30), ({"extraction_seconds": 12}, 30, 12),
                                                           ({"extraction_seconds": 60}, 30, 60)])  # fmt: skip
def test_a_session_says_how_long_its_extraction_may_take(
    memory: dict[str, Any], usual: int, seconds: int
) -> None:
    service = ExtractionService(**memory)
    finds, left = service.extractor.finds, list[float]()

    def timed(chunk: Chunk) -> list[Finding]:
        left.append(deadline.until(usual) - monotonic())
        return [*finds(chunk)]

    service.extractor.finds = timed
    service.say("fact: lives in Rome")
    service.ask()
    service.drain()
    assert service.contents() == ["lives in Rome"]
    (given,) = left
    assert seconds - 5 < given <= seconds


def test_a_range_is_extracted_chunk_by_chunk_and_each_message_once() -> None:
    service, job = asked(*facts(7), room=SMALL)
    service.drain()
    assert service.extractor.read == [(1, 2), (3, 4), (5, 6), (7,)]
    assert len(service.records()) == 7
    assert service.job(job.id).state == "done"
    assert all(each.state == "done" for each in service.outbox_now())


def test_two_messages_before_a_chunk_are_read_but_not_extracted_again() -> None:
    service, _ = asked(*facts(5), room=SMALL)
    again = service.extractor.finds

    def from_before_too(chunk: Chunk) -> list[Finding]:
        return [
            *again(chunk),
            *(Finding("fact", "old news", (m.seq,), "is so") for m in chunk.before),
        ]

    service.extractor.finds = from_before_too
    service.drain()
    assert service.extractor.before == [(), (1, 2), (3, 4)]
    assert "old news" not in service.contents()


def test_the_ledger_accounts_for_every_message_with_the_reason() -> None:
    service = ExtractionService()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    service.put(
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "fact: one"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "fact: from a tool"},
        {"role": "assistant", "content": "fact: two"},
        {"role": "user", "content": "   "},
    )
    job = service.ask()
    service.drain()
    ledger = service.report(job).ledger
    assert (ledger.received, ledger.extracted, ledger.skipped, ledger.parked) == (6, 2, 4, 0)
    assert ledger.reasons == {"system": 1, "empty": 2, "tool": 1}
    assert service.contents() == ["one", "two"]


def test_a_report_says_what_was_spent() -> None:
    service, job = asked(*facts(3), room=SMALL)
    service.drain()
    spent = service.report(job).spent
    assert (spent.model_calls, spent.tokens_in, spent.tokens_out) == (2, 2000, 200)
    assert spent.cost_usd == pytest.approx(2 * (1000 * 0.10 + 100 * 0.40) / 1e6)


def test_nothing_to_read_costs_no_model_call() -> None:
    service = ExtractionService()
    service.put({"role": "system", "content": "You help."})
    job = service.ask()
    service.drain()
    assert service.extractor.read == []
    assert service.report(job).ledger.skipped == 1
    assert service.job(job.id).state == "done"


def test_an_extractor_that_reached_less_is_asked_again_for_the_rest() -> None:
    """Of an answer that was cut off what is complete is kept, and the rest of the chunk is the next
    one.
    """
    service, _ = asked(*facts(6))
    service.extractor.reaches = lambda chunk: chunk.first + 1
    service.drain()
    assert service.extractor.read == [(1, 2, 3, 4, 5, 6), (3, 4, 5, 6), (5, 6)]
    assert len(service.records()) == 6
    assert service.report(service.outbox[0]).ledger.received == 6


def test_more_findings_than_a_transaction_holds_shorten_the_chunk() -> None:
    many = ["\n".join(f"fact[t{n}x{i}]: value {n} {i}" for i in range(9)) for n in range(6)]
    service, job = asked(*many)
    service.drain()
    assert len(service.records()) == 54
    assert service.report(job).ledger.dropped == {}


def test_of_too_many_findings_in_one_message_the_most_important_stay() -> None:
    service, job = asked("\n".join(f"fact: number {i}" for i in range(40)))

    def by_rank(chunk: Chunk) -> list[Finding]:
        return [
            replace(found, importance=0.5 + rank / 100) for rank, found in enumerate(stated(chunk))
        ]

    service.extractor.finds = by_rank
    service.drain()
    assert len(service.records()) == 25
    assert "number 0" not in service.contents()
    assert service.report(job).ledger.dropped == {"over_limit": 15}


# Delivery


def test_a_message_delivered_twice_costs_one_model_call() -> None:
    service, job = asked("fact: one")
    service.handle(job)
    before = service.memories.user(SARAH)
    service.handle(job)
    assert len(service.extractor.read) == 1
    assert service.memories.user(SARAH) == before


def test_a_late_delivery_of_the_first_step_leaves_the_next_ones_alone() -> None:
    service, job = asked(*facts(6), room=SMALL)
    service.handle(job)
    service.handle(job)
    assert service.extractor.read == [(1, 2)]
    assert service.job(job.id).state == "running"
    service.drain()
    assert service.job(job.id).state == "done"


def test_two_workers_on_one_chunk_commit_once() -> None:
    service, job = asked("fact: one", "event: two")
    together = Barrier(2)
    finds = service.extractor.finds

    def at_once(chunk: Chunk) -> object:
        together.wait(30)
        return finds(chunk)

    service.extractor.finds = at_once
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(service.handle, [job, job]))
    assert len(service.extractor.read) == 2
    assert service.contents() == ["one", "two"]
    assert service.report(job).spent.model_calls == 2  # both called the model
    assert service.job(job.id).state == "done"


def test_a_crash_after_the_model_call_before_the_commit_is_mended_by_the_next_delivery() -> None:
    service, job = asked("fact: one")
    crashing(service, "before commit memories")
    with pytest.raises(RuntimeError):
        service.handle(job)
    assert service.records() == []
    service.handle(job)
    assert service.contents() == ["one"]
    assert service.report(job).ledger.received == 1


def test_a_crash_after_the_commit_leaves_nothing_to_do() -> None:
    service, job = asked(*facts(3), room=SMALL)
    crashing(service, "after commit memories")
    with pytest.raises(RuntimeError):
        service.handle(job)
    service.handle(job)
    assert service.extractor.read == [(1, 2)]
    service.drain()
    assert service.extractor.read == [(1, 2), (3,)]


def test_a_crash_after_the_last_commit_still_ends_the_step() -> None:
    service, job = asked(*facts(3), room=SMALL)
    service.handle(job)
    step = service.outbox[-1]
    crashing(service, "after commit memories")
    with pytest.raises(RuntimeError):
        service.handle(step)
    service.handle(step)
    assert (service.job(job.id).state, service.job(step.id).state) == ("done", "done")
    assert len(service.extractor.read) == 2


def test_other_writers_to_the_same_topic_do_not_cost_another_model_call() -> None:
    service, job = asked("fact[residence]: lives in Rome")
    finds = service.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        found = finds(chunk)
        service.say("fact[residence]: lives in Oslo", session="other")
        service.extractor.finds = finds
        service.handle(service.ask("other"))
        return found

    service.time.advance(60)
    service.extractor.finds = meanwhile
    service.handle(job)
    assert len(service.extractor.read) == 2
    assert service.current("residence") == "lives in Oslo"


# Order


def test_a_job_that_comes_before_its_turn_waits_and_is_woken() -> None:
    service, first = asked(*facts(4), room=SMALL)
    service.say("fact: later")
    second = service.ask()
    service.handle(second)
    assert service.extractor.read == []
    service.delivered = 0
    service.handle(first)
    for job in service.outbox[2:]:
        service.handle(job)
    service.handle(service.outbox[-1])
    assert service.extractor.read == [(1, 2), (3, 4), (5,)]
    assert (service.job(first.id).state, service.job(second.id).state) == ("done", "done")
    assert service.report(first).ledger.received == 4
    assert service.report(second).ledger.received == 1


def test_jobs_delivered_in_any_order_come_to_the_same() -> None:
    service = ExtractionService()
    service.extractor.room = SMALL
    jobs = []
    for number in range(4):
        service.say(*facts(3, word=f"round {number}"))
        jobs.append(service.ask())
    for job in (jobs[3], jobs[1], jobs[2], jobs[0]):
        service.handle(job)
    service.delivered = 4
    service.drain()
    read = [seq for chunk in service.extractor.read for seq in chunk]
    assert read == list(range(1, 13))
    assert [service.report(job).ledger.received for job in jobs] == [3, 3, 3, 3]
    assert {service.job(job.id).state for job in jobs} == {"done"}


def test_a_job_that_waits_and_is_never_woken_is_begun_by_the_sweep() -> None:
    service, first = asked("fact: one")
    service.say("fact: two")
    second = service.ask()
    service.handle(second)
    waiting = service.memories.progress(SARAH, "s")
    service.handle(first)
    jobs = service.sessions.state.jobs
    for name in [name for name, job in jobs.items() if job.parent == second.id]:
        del jobs[name]  # the job that wakes it is lost
    assert second.id in waiting.waiting
    service.time.advance(OVERDUE_SECONDS + 1)
    service.sweep()
    service.handle(service.outbox[-1])
    assert service.contents() == ["one", "two"]
    assert service.report(second).state == "done"


# Asking for it


def test_asking_when_nothing_is_new_gives_the_job_that_was_there() -> None:
    service, job = asked("fact: one")
    again = service.request(service.session())
    assert (again.job_id, again.armed) == (job.id, False)


def test_asking_if_needed_waits_for_enough_whole_turns() -> None:
    service = ExtractionService()
    service.tenants.replace_settings(TENANT, TenantSettings(memory={"extract": "manual"}))
    turn = ({"role": "user", "content": "q"}, {"role": "assistant", "content": "a"})
    for _ in range(4):
        service.put(*turn)
        assert not service.request(service.session(), if_needed=True).armed
    service.put(*turn)
    assert service.request(service.session(), if_needed=True).armed
    assert not service.request(service.session(), if_needed=True, max_buffer_turns=1).armed
    service.put({"role": "user", "content": "q"})
    assert not service.request(service.session(), if_needed=True, max_buffer_turns=1).armed
    service.put({"role": "assistant", "content": "a"})
    assert service.request(service.session(), if_needed=True, max_buffer_turns=1).armed
