"""Flush: old turns leave the window once every block that stores has stored them, whatever crashes on the way."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from palimpsest.conversations.manage import ManageSessions, Wanted
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.conversations.turns import problems
from palimpsest.errors import ModelUnavailable, Unavailable
from palimpsest.jobs.job import Job
from palimpsest.jobs.ports import JobNotice

from tests.unit.context.blocks_world import BlocksWorld
from tests.unit.extraction.extraction_world import TENANT

MINUTE = 60
FLUSH: dict[str, Any] = {"strategy": "flush", "max_tokens": 600, "keep_recent_turns": 3, "extract": "manual"}


def full(**more: Any) -> BlocksWorld:
    """A session of 13 turns whose window has passed half of its budget: a flush and the extraction it waits for."""
    world = BlocksWorld(**{**FLUSH, **more})
    world.talk([(f"fact: number {turn} {'q' * 20}", "a" * 40) for turn in range(13)])
    return world


def pending(world: BlocksWorld, kind: str) -> Job:
    (job,) = [job for job in world.sessions.state.jobs.values() if job.kind == kind and not job.has_ended]
    return job


def test_a_full_window_arms_one_flush_with_its_parts_and_the_extraction_it_waits_for() -> None:
    world = full()
    flush, extract = pending(world, "flush"), pending(world, "extract")
    assert (flush.first, flush.parts) == (1, ("extractive", "vector"))
    assert flush.lacking == {"extractive", "vector"}
    assert extract.first == 1
    assert extract.last >= flush.last
    context = world.context()
    assert (context.compaction, context.head.window_start) == ("pending", 1)
    world.talk(10)
    assert len([job for job in world.outbox if job.kind == "flush"]) == 1


def test_a_flushed_window_holds_the_recent_turns_and_memory_the_rest() -> None:
    world = full()
    world.drain()
    head = world.head()
    assert (head.job, head.compaction) == (None, "none")
    assert world.through() >= head.window_start - 1 > 0
    texts = world.shown()
    assert len(texts) == head.window_messages
    context = world.context()
    assert "number 0" in context.memory.text
    assert "number 0" not in "".join(texts)
    assert context.memory.tokens + context.fitted.tokens <= 600


def test_what_was_flushed_is_recorded_and_can_be_unfolded() -> None:
    world = full()
    before = world.head()
    world.drain()
    (compaction,) = world.compactions()
    after = world.head()
    assert (compaction.first, compaction.method, compaction.summary) == (1, "flush", None)
    assert compaction.last == after.window_start - 1
    assert compaction.tokens_after == after.tokens < compaction.tokens_before == before.tokens
    unfolded, _ = world.history.unfold(world.session(), compaction.last, limit=100)
    assert [message.seq for message in unfolded] == list(range(1, compaction.last + 1))
    assert after.window_tokens == sum(message.tokens for message in world.sessions.messages(
        world.session(), first=after.window_start, last=after.seq))  # fmt: skip


def test_the_window_starts_later_only_when_every_part_is_stored() -> None:
    world = full()
    world.handle(pending(world, "flush"))
    flush = pending(world, "flush")
    assert flush.state == "running"
    assert flush.stored == {"vector"}
    assert world.head().window_start == 1
    world.handle(pending(world, "extract"))
    assert world.head().window_start > 1
    assert world.job(flush.id).state == "done"
    assert world.job(flush.id).result["messages"] == world.head().window_start - 1


def test_extraction_that_came_first_is_noticed_by_the_flush_itself() -> None:
    world = full()
    flush = pending(world, "flush")
    world.extract(JobNotice("acme", pending(world, "extract").id, "extract"))  # and the process dies right behind it
    assert world.head().window_start == 1
    world.handle(flush)
    assert world.head().window_start == flush.last + 1


def test_a_delivery_that_finds_its_part_done_tries_the_commit_too() -> None:
    world = full()
    extract = pending(world, "extract")
    world.flush(JobNotice("acme", pending(world, "flush").id, "flush"))
    world.extract(JobNotice("acme", extract.id, "extract"))  # dies before the flush is tried
    assert world.head().window_start == 1
    world.handle(extract)  # the message comes again, and its work is done
    assert world.head().window_start > 1
    assert len(world.extractor.read) == 1


def test_deliveries_repeated_change_nothing() -> None:
    world = full()
    world.drain()
    before = (world.head(), world.compactions(), world.contents(), len(world.extractor.read))
    for job in tuple(world.outbox):
        world.handle(job)
        world.handle(job)
    assert (world.head(), world.compactions(), world.contents(), len(world.extractor.read)) == before


def test_appends_may_come_between() -> None:
    world = full()
    flush = pending(world, "flush")
    world.handle(flush)
    world.talk(2)
    world.handle(pending(world, "extract"))
    head = world.head()
    assert head.window_start == flush.last + 1
    assert head.window_messages == head.seq - flush.last


def test_a_long_range_is_extracted_in_steps_and_flushed_behind_the_last() -> None:
    world = full()
    world.extractor.room = 200
    world.drain()
    assert len(world.extractor.read) > 2
    assert world.head().window_start > 1
    assert len(world.compactions()) == 1


def test_what_is_left_over_the_trigger_is_the_next_flush() -> None:
    world = full()
    world.talk([(f"fact: more {turn} {'q' * 20}", "a" * 40) for turn in range(13)])
    world.drain()
    head = world.head()
    assert head.tokens < 300
    assert [each.method for each in world.compactions()] == ["flush", "flush"]


@pytest.mark.parametrize("part", ["extractive", "vector"])
@pytest.mark.parametrize("state", ["pending", Unavailable("down")])
def test_while_one_block_has_not_stored_its_part_the_window_stays(part: Any, state: Any) -> None:
    world = full()
    flush, extract = pending(world, "flush"), pending(world, "extract")
    world.fails(part, state)
    for job in (extract, flush, extract):
        with suppress(Unavailable):
            world.handle(job)
    assert world.head().window_start == 1
    assert world.job(flush.id).lacking == {part}  # the other is marked all the same
    assert problems(world.context().fitted.messages) == []
    assert world.context().fitted.tokens <= 600


def test_a_part_that_failed_is_said_and_the_flush_is_armed_again_later() -> None:
    world = full()
    world.extractor.failure = ModelUnavailable("down")
    world.drain()
    assert world.parked()
    head = world.head()
    assert (head.compaction, head.job, head.window_start) == ("failed", None, 1)
    world.extractor.failure = None
    for _ in range(3):
        world.time.advance(2 * MINUTE)
        world.sweep_all()
        world.drain()
    head = world.head()
    assert (head.compaction, head.job) == ("none", None)
    assert head.window_start > 1
    assert world.parked() == ()
    assert "fact" in {record.type for record in world.records()}


def test_a_failed_flush_waits_and_appends_go_on() -> None:
    world = full()
    world.fails("extractive", "failed")
    world.drain()
    world.talk(3)
    assert len([job for job in world.outbox if job.kind == "flush"]) == 1
    world.time.advance(MINUTE)
    world.talk(1)
    assert len([job for job in world.outbox if job.kind == "flush"]) == 2


def test_a_flush_whose_message_was_lost_is_mended_by_the_sweep() -> None:
    world = full()
    world.extract(JobNotice("acme", pending(world, "extract").id, "extract"))
    world.delivered = len(world.outbox)
    for _ in range(3):
        world.time.advance(40 * MINUTE)
        world.sweep_all()
        world.drain()
    assert world.head().window_start > 1


def test_a_redriven_flush_is_armed_at_once() -> None:
    world = full()
    world.fails("extractive", "failed")
    flush = pending(world, "flush")
    world.drain()
    world.fails("extractive", "stored")
    world.handle(flush)
    world.drain()
    assert world.head().window_start > 1


def test_a_deleted_session_is_not_flushed() -> None:
    world = full()
    flush = pending(world, "flush")
    world.manage.delete(world.session())
    world.handle(flush)
    job = world.jobs.get(TENANT, flush.id)
    assert job is not None
    assert (job.state, job.error) == ("done", "overtaken")
    assert world.sessions.compactions(world.session(), first=1, last=99) == ()


def test_another_strategy_meanwhile_ends_the_flush() -> None:
    world = full()
    flush = pending(world, "flush")
    schedule = ExtractionSchedule(world.jobs)
    manage = ManageSessions(world.sessions, world.tenants, world.manage.tokens, world.clock, schedule)
    manage.patch(world.session(), wanted=Wanted(memory={"strategy": "summarize"}))
    world.drain()
    assert world.job(flush.id).error == "overtaken"
    assert world.head().window_start == 1


def test_only_into_the_vector_block_needs_no_extraction() -> None:
    world = full(blocks=[{"type": "vector"}])
    assert not [job for job in world.outbox if job.kind == "extract"]
    world.drain()
    assert world.head().window_start > 1
    assert world.records() == []


class Killed(Exception):
    """The process died at this write."""


def outcome(dies_at: int | None) -> tuple[Any, ...]:
    """What a flush comes to when the process dies at one of its writes, and every message is delivered again."""
    writes = -1

    def maybe_die(step: str) -> None:
        nonlocal writes
        if writes >= 0:
            writes += 1
            if writes == dies_at:
                raise Killed(step)

    world = full(faults=maybe_die)
    writes = 0
    delivered = 0
    while delivered < len(world.outbox):
        try:
            world.handle_to_the_end(world.outbox[delivered])
        except Killed:
            continue  # the queue delivers again
        delivered += 1
    head = world.head()
    made = [(each.first, each.last, each.method, each.tokens_before, each.tokens_after) for each in world.compactions()]
    return (
        (head.window_start, head.window_tokens, head.window_messages, head.job, head.compaction),
        made,
        world.contents(),
        [world.job(job.id).state for job in world.outbox],
        writes,
    )


def test_wherever_it_crashes_it_is_flushed_once() -> None:
    *whole, writes = outcome(None)
    assert whole[0][0] > 1
    assert whole[0][3:] == (None, "none")
    for dies_at in range(1, writes + 1):
        *crashed, _ = outcome(dies_at)
        assert crashed == whole, f"died at write {dies_at}"


def test_a_withdrawal_leaves_the_users_newest_message_in_the_window() -> None:
    world = BlocksWorld(strategy="flush", max_tokens=160, keep_recent_turns=1, extract="manual")
    first, withdrawn, answer = {"role": "user", "content": "q" * 200}, {"role": "user", "content": "w" * 200}, "a" * 40
    world.put(first)
    world.put(withdrawn)
    world.drain()
    assert world.head().window_start == 2
    world.history.withdraw(world.session(), first=2)
    world.put({"role": "assistant", "content": answer})
    world.put(withdrawn)
    world.history.withdraw(world.session(), first=world.head().seq)
    assert world.shown() == [first["content"], answer]
