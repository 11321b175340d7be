"""Extraction: each message once and in order, whatever comes twice, late, at once or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from palimpsest.extraction.chunk import Chunk, Finding
from palimpsest.jobs.job import OVERDUE_SECONDS
from palimpsest.tenants.ports import TenantSettings

from tests.doubles.extractor import stated
from tests.unit.extraction.extraction_world import SARAH, SMALL, TENANT, ExtractionWorld, asked, crashing, facts


def test_what_was_said_is_remembered_with_its_source() -> None:
    world, job = asked("fact[residence]: lives in Rome")
    world.drain()
    (record,) = world.records()
    (message,) = world.sessions.messages(world.session(), first=1, last=1)
    assert (record.content, record.topic_key, record.method) == ("lives in Rome", "residence", "model")
    assert (record.source.session, record.source.seqs, record.source.message_ids) == ("s", (1,), (message.id,))
    assert record.source.quote == "lives in Rome"
    assert world.report(job).records == (record.id,)
    assert world.job(job.id).state == "done"


def test_a_range_is_extracted_chunk_by_chunk_and_each_message_once() -> None:
    world, job = asked(*facts(7), room=SMALL)
    world.drain()
    assert world.extractor.read == [(1, 2), (3, 4), (5, 6), (7,)]
    assert len(world.records()) == 7
    assert world.job(job.id).state == "done"
    assert all(each.state == "done" for each in world.outbox_now())


def test_two_messages_before_a_chunk_are_read_but_not_extracted_again() -> None:
    world, _ = asked(*facts(5), room=SMALL)
    again = world.extractor.finds

    def from_before_too(chunk: Chunk) -> list[Finding]:
        return [*again(chunk), *(Finding("fact", "old news", (m.seq,), "is so") for m in chunk.before)]

    world.extractor.finds = from_before_too
    world.drain()
    assert world.extractor.before == [(), (1, 2), (3, 4)]
    assert "old news" not in world.contents()


def test_the_ledger_accounts_for_every_message_with_the_reason() -> None:
    world = ExtractionWorld()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    world.put(
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "fact: one"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "fact: from a tool"},
        {"role": "assistant", "content": "fact: two"},
        {"role": "user", "content": "   "},
    )
    job = world.ask()
    world.drain()
    ledger = world.report(job).ledger
    assert (ledger.received, ledger.extracted, ledger.skipped, ledger.parked) == (6, 2, 4, 0)
    assert ledger.reasons == {"system": 1, "empty": 2, "tool": 1}
    assert world.contents() == ["one", "two"]


def test_a_report_says_what_was_spent() -> None:
    world, job = asked(*facts(3), room=SMALL)
    world.drain()
    spent = world.report(job).spent
    assert (spent.model_calls, spent.tokens_in, spent.tokens_out) == (2, 2000, 200)
    assert spent.cost_usd == pytest.approx(2 * (1000 * 0.10 + 100 * 0.40) / 1e6)


def test_nothing_to_read_costs_no_model_call() -> None:
    world = ExtractionWorld()
    world.put({"role": "system", "content": "You help."})
    job = world.ask()
    world.drain()
    assert world.extractor.read == []
    assert world.report(job).ledger.skipped == 1
    assert world.job(job.id).state == "done"


def test_an_extractor_that_reached_less_is_asked_again_for_the_rest() -> None:
    """Of an answer that was cut off what is complete is kept, and the rest of the chunk is the next one."""
    world, _ = asked(*facts(6))
    world.extractor.reaches = lambda chunk: chunk.first + 1
    world.drain()
    assert world.extractor.read == [(1, 2, 3, 4, 5, 6), (3, 4, 5, 6), (5, 6)]
    assert len(world.records()) == 6
    assert world.report(world.outbox[0]).ledger.received == 6


def test_more_findings_than_a_transaction_holds_shorten_the_chunk() -> None:
    many = ["\n".join(f"fact[t{n}x{i}]: value {n} {i}" for i in range(9)) for n in range(6)]
    world, job = asked(*many)
    world.drain()
    assert len(world.records()) == 54
    assert world.report(job).ledger.dropped == {}


def test_of_too_many_findings_in_one_message_the_most_important_stay() -> None:
    world, job = asked("\n".join(f"fact: number {i}" for i in range(40)))

    def by_rank(chunk: Chunk) -> list[Finding]:
        return [replace(found, importance=0.5 + rank / 100) for rank, found in enumerate(stated(chunk))]

    world.extractor.finds = by_rank
    world.drain()
    assert len(world.records()) == 25
    assert "number 0" not in world.contents()
    assert world.report(job).ledger.dropped == {"over_limit": 15}


# Delivery


def test_a_message_delivered_twice_costs_one_model_call() -> None:
    world, job = asked("fact: one")
    world.handle(job)
    before = world.memories.user(SARAH)
    world.handle(job)
    assert len(world.extractor.read) == 1
    assert world.memories.user(SARAH) == before


def test_a_late_delivery_of_the_first_step_leaves_the_next_ones_alone() -> None:
    world, job = asked(*facts(6), room=SMALL)
    world.handle(job)
    world.handle(job)
    assert world.extractor.read == [(1, 2)]
    assert world.job(job.id).state == "running"
    world.drain()
    assert world.job(job.id).state == "done"


def test_two_workers_on_one_chunk_commit_once() -> None:
    world, job = asked("fact: one", "event: two")
    together = Barrier(2)
    finds = world.extractor.finds

    def at_once(chunk: Chunk) -> object:
        together.wait(5)
        return finds(chunk)

    world.extractor.finds = at_once
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(world.handle, [job, job]))
    assert len(world.extractor.read) == 2
    assert world.contents() == ["one", "two"]
    assert world.report(job).spent.model_calls == 1
    assert world.job(job.id).state == "done"


def test_a_crash_after_the_model_call_before_the_commit_is_mended_by_the_next_delivery() -> None:
    world, job = asked("fact: one")
    crashing(world, "before commit memories")
    with pytest.raises(RuntimeError):
        world.handle(job)
    assert world.records() == []
    world.handle(job)
    assert world.contents() == ["one"]
    assert world.report(job).ledger.received == 1


def test_a_crash_after_the_commit_leaves_nothing_to_do() -> None:
    world, job = asked(*facts(3), room=SMALL)
    crashing(world, "after commit memories")
    with pytest.raises(RuntimeError):
        world.handle(job)
    world.handle(job)
    assert world.extractor.read == [(1, 2)]
    world.drain()
    assert world.extractor.read == [(1, 2), (3,)]


def test_a_crash_after_the_last_commit_still_ends_the_step() -> None:
    world, job = asked(*facts(3), room=SMALL)
    world.handle(job)
    step = world.outbox[-1]
    crashing(world, "after commit memories")
    with pytest.raises(RuntimeError):
        world.handle(step)
    world.handle(step)
    assert (world.job(job.id).state, world.job(step.id).state) == ("done", "done")
    assert len(world.extractor.read) == 2


def test_other_writers_to_the_same_topic_do_not_cost_another_model_call() -> None:
    world, job = asked("fact[residence]: lives in Rome")
    finds = world.extractor.finds

    def meanwhile(chunk: Chunk) -> object:
        found = finds(chunk)
        world.say("fact[residence]: lives in Oslo", session="other")
        world.extractor.finds = finds
        world.handle(world.ask("other"))
        return found

    world.time.advance(60)
    world.extractor.finds = meanwhile
    world.handle(job)
    assert len(world.extractor.read) == 2
    assert world.current("residence") == "lives in Oslo"


# Order


def test_a_job_that_comes_before_its_turn_waits_and_is_woken() -> None:
    world, first = asked(*facts(4), room=SMALL)
    world.say("fact: later")
    second = world.ask()
    world.handle(second)
    assert world.extractor.read == []
    world.delivered = 0
    world.handle(first)
    for job in world.outbox[2:]:
        world.handle(job)
    world.handle(world.outbox[-1])
    assert world.extractor.read == [(1, 2), (3, 4), (5,)]
    assert (world.job(first.id).state, world.job(second.id).state) == ("done", "done")
    assert world.report(first).ledger.received == 4
    assert world.report(second).ledger.received == 1


def test_jobs_delivered_in_any_order_come_to_the_same() -> None:
    world = ExtractionWorld()
    world.extractor.room = SMALL
    jobs = []
    for number in range(4):
        world.say(*facts(3, word=f"round {number}"))
        jobs.append(world.ask())
    for job in (jobs[3], jobs[1], jobs[2], jobs[0]):
        world.handle(job)
    world.delivered = 4
    world.drain()
    read = [seq for chunk in world.extractor.read for seq in chunk]
    assert read == list(range(1, 13))
    assert [world.report(job).ledger.received for job in jobs] == [3, 3, 3, 3]
    assert {world.job(job.id).state for job in jobs} == {"done"}


def test_a_job_that_waits_and_is_never_woken_is_begun_by_the_sweep() -> None:
    world, first = asked("fact: one")
    world.say("fact: two")
    second = world.ask()
    world.handle(second)
    waiting = world.memories.progress(SARAH, "s")
    world.handle(first)
    world.sessions.state.jobs = {
        name: job for name, job in world.sessions.state.jobs.items() if job.parent != second.id
    }  # the one that wakes it is lost
    assert second.id in waiting.waiting
    world.time.advance(OVERDUE_SECONDS + 1)
    world.sweep()
    world.handle(world.outbox[-1])
    assert world.contents() == ["one", "two"]
    assert world.report(second).state == "done"


# Asking for it


def test_asking_when_nothing_is_new_gives_the_job_that_was_there() -> None:
    world, job = asked("fact: one")
    again = world.request(world.session())
    assert (again.job_id, again.armed) == (job.id, False)


def test_asking_if_needed_waits_for_enough_whole_turns() -> None:
    world = ExtractionWorld()
    world.tenants.replace_settings(TENANT, TenantSettings(memory={"extract": "manual"}))
    turn = ({"role": "user", "content": "q"}, {"role": "assistant", "content": "a"})
    for _ in range(4):
        world.put(*turn)
        assert not world.request(world.session(), if_needed=True).armed
    world.put(*turn)
    assert world.request(world.session(), if_needed=True).armed
    assert not world.request(world.session(), if_needed=True, max_buffer_turns=1).armed
    world.put({"role": "user", "content": "q"})
    assert not world.request(world.session(), if_needed=True, max_buffer_turns=1).armed
    world.put({"role": "assistant", "content": "a"})
    assert world.request(world.session(), if_needed=True, max_buffer_turns=1).armed
