"""Flush: old turns leave the window once every block that stores has stored them, whatever crashes
on the way.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.conversations.manage import SessionRequest
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.errors import ModelUnavailable, Unavailable
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job

from tests.service import TENANT
from tests.unit.context.service import ContextService
from tests.unit.conversations.validity import problems

MINUTE = 60
FLUSH: dict[str, Any] = {
    "strategy": "flush",
    "max_tokens": 600,
    "keep_recent_turns": 3,
    "extract": "manual",
}


def full(**more: Any) -> ContextService:
    """A session of 13 turns whose window has passed half of its budget: a flush and the extraction
    it waits for.
    """
    service = ContextService(**{**FLUSH, **more})
    service.talk([(f"fact: thing {turn} is {'q' * 19}", "a" * 40) for turn in range(13)])
    return service


def pending(service: ContextService, kind: str) -> Job:
    (job,) = [
        job
        for job in service.sessions.state.jobs.values()
        if job.kind == kind and not job.has_ended
    ]
    return job


def test_a_full_window_arms_one_flush_with_its_parts_and_the_extraction_it_waits_for() -> None:
    service = full()
    flush, extract = pending(service, "flush"), pending(service, "extract")
    assert (flush.first, flush.parts) == (1, ("extractive", "vector"))
    assert flush.lacking == {"extractive", "vector"}
    assert extract.first == 1
    assert extract.last >= flush.last
    context = service.context()
    assert (context.compaction, context.head.window_start) == ("pending", 1)
    service.talk(10)
    assert len([job for job in service.outbox if job.kind == "flush"]) == 1


def test_a_flushed_window_holds_the_recent_turns_and_memory_the_rest() -> None:
    service = full()
    service.drain()
    head = service.head()
    assert (head.job, head.compaction) == (None, "none")
    assert service.through() >= head.window_start - 1 > 0
    texts = service.shown()
    assert len(texts) == head.window_messages
    context = service.context()
    assert "thing 0" in context.memory.text
    assert "thing 0" not in "".join(texts)
    assert context.fitted.tokens <= 600


def test_what_was_flushed_is_recorded_and_can_be_unfolded() -> None:
    service = full()
    before = service.head()
    service.drain()
    (compaction,) = service.compactions()
    after = service.head()
    assert (compaction.first, compaction.method, compaction.summary) == (1, "flush", None)
    assert compaction.last == after.window_start - 1
    assert compaction.tokens_after == after.tokens < compaction.tokens_before == before.tokens
    unfolded, _ = service.history.unfold(service.session(), compaction.last, limit=100)
    assert [message.seq for message in unfolded] == list(range(1, compaction.last + 1))
    assert after.window_tokens == sum(message.tokens for message in service.sessions.messages(
        service.session(), first=after.window_start, last=after.seq))  # fmt: skip


def test_the_window_starts_later_only_when_every_part_is_stored() -> None:
    service = full()
    service.handle(pending(service, "flush"))
    flush = pending(service, "flush")
    assert flush.state == "running"
    assert flush.stored == {"vector"}
    assert service.head().window_start == 1
    service.handle(pending(service, "extract"))
    assert service.head().window_start > 1
    assert service.job(flush.id).state == "done"
    assert service.job(flush.id).result["messages"] == service.head().window_start - 1


def test_extraction_that_came_first_is_noticed_by_the_flush_itself() -> None:
    service = full()
    flush = pending(service, "flush")
    service.extract(
        JobNotice("acme", pending(service, "extract").id, "extract")
    )  # and the process dies right behind it
    assert service.head().window_start == 1
    service.handle(flush)
    assert service.head().window_start == flush.last + 1


def test_a_delivery_that_finds_its_part_done_tries_the_commit_too() -> None:
    service = full()
    extract = pending(service, "extract")
    service.flush(JobNotice("acme", pending(service, "flush").id, "flush"))
    service.extract(JobNotice("acme", extract.id, "extract"))  # dies before the flush is tried
    assert service.head().window_start == 1
    service.handle(extract)  # the message comes again, and its work is done
    assert service.head().window_start > 1
    assert len(service.extractor.read) == 1


def test_deliveries_repeated_change_nothing() -> None:
    service = full()
    service.drain()
    before = (
        service.head(),
        service.compactions(),
        service.contents(),
        len(service.extractor.read),
    )
    for job in tuple(service.outbox):
        service.handle(job)
        service.handle(job)
    assert (
        service.head(),
        service.compactions(),
        service.contents(),
        len(service.extractor.read),
    ) == before


def test_appends_may_come_between() -> None:
    service = full()
    flush = pending(service, "flush")
    service.handle(flush)
    service.talk(2)
    service.handle(pending(service, "extract"))
    head = service.head()
    assert head.window_start == flush.last + 1
    assert head.window_messages == head.seq - flush.last


def test_a_long_range_is_extracted_in_steps_and_flushed_behind_the_last() -> None:
    service = full()
    service.extractor.room = 200
    service.drain()
    assert len(service.extractor.read) > 2
    assert service.head().window_start > 1
    assert len(service.compactions()) == 1


def test_what_is_left_over_the_trigger_is_the_next_flush() -> None:
    service = full()
    service.talk([(f"fact: other {turn} is {'q' * 19}", "a" * 40) for turn in range(13)])
    service.drain()
    head = service.head()
    assert head.tokens < 300
    assert [compaction.method for compaction in service.compactions()] == ["flush", "flush"]


@pytest.mark.parametrize("part", ["extractive", "vector"])
@pytest.mark.parametrize("state", ["pending", Unavailable("down")])
def test_while_one_block_has_not_stored_its_part_the_window_stays(part: Any, state: Any) -> None:
    service = full()
    flush, extract = pending(service, "flush"), pending(service, "extract")
    service.fails(part, state)
    for job in (extract, flush, extract):
        with suppress(Unavailable):
            service.handle(job)
    assert service.head().window_start == 1
    assert service.job(flush.id).lacking == {part}  # the other is marked all the same
    assert problems(service.context().fitted.messages) == []
    assert service.context().fitted.tokens <= 600


def test_a_part_that_failed_is_said_and_the_flush_is_armed_again_later() -> None:
    service = full()
    service.extractor.failure = ModelUnavailable("down")
    service.drain()
    assert service.parked()
    head = service.head()
    assert (head.compaction, head.job, head.window_start) == ("failed", None, 1)
    service.extractor.failure = None
    for _ in range(3):
        service.time.advance(2 * MINUTE)
        service.sweep_all()
        service.drain()
    head = service.head()
    assert (head.compaction, head.job) == ("none", None)
    assert head.window_start > 1
    assert service.parked() == ()
    assert "fact" in {record.type for record in service.records()}


def test_a_failed_flush_waits_and_appends_go_on() -> None:
    service = full()
    service.fails("extractive", "failed")
    service.drain()
    service.talk(3)
    assert len([job for job in service.outbox if job.kind == "flush"]) == 1
    service.time.advance(MINUTE)
    service.talk(1)
    assert len([job for job in service.outbox if job.kind == "flush"]) == 2


def test_a_flush_whose_message_was_lost_is_mended_by_the_sweep() -> None:
    service = full()
    service.extract(JobNotice("acme", pending(service, "extract").id, "extract"))
    service.delivered = len(service.outbox)
    for _ in range(3):
        service.time.advance(40 * MINUTE)
        service.sweep_all()
        service.drain()
    assert service.head().window_start > 1


def test_a_redriven_flush_is_armed_at_once() -> None:
    service = full()
    service.fails("extractive", "failed")
    flush = pending(service, "flush")
    service.drain()
    service.fails("extractive", "stored")
    service.handle(flush)
    service.drain()
    assert service.head().window_start > 1


def test_a_deleted_session_is_not_flushed() -> None:
    service = full()
    flush = pending(service, "flush")
    service.manage.delete(service.session())
    service.handle(flush)
    job = service.jobs.get(TENANT, flush.id)
    assert job is not None
    assert (job.state, job.error) == ("done", "overtaken")
    assert service.sessions.compactions(service.session(), first=1, last=99) == ()


def test_another_strategy_meanwhile_ends_the_flush() -> None:
    service = full()
    flush = pending(service, "flush")
    schedule = ExtractionSchedule(service.jobs)
    manage = replace(service.manage, schedule=schedule)
    manage.patch(service.session(), wanted=SessionRequest(memory={"strategy": "summarize"}))
    service.drain()
    assert service.job(flush.id).error == "overtaken"
    assert service.head().window_start == 1


def test_only_into_the_vector_block_needs_no_extraction() -> None:
    service = full(blocks=[{"type": "vector"}])
    assert not [job for job in service.outbox if job.kind == "extract"]
    service.drain()
    assert service.head().window_start > 1
    assert service.records() == []


class Killed(Exception):
    """The process died at this write."""


def outcome(dies_at: int | None) -> tuple[Any, ...]:
    """What a flush comes to when the process dies at one of its writes, and every message is
    delivered again.
    """
    writes = -1

    def maybe_die(step: str) -> None:
        nonlocal writes
        if writes >= 0:
            writes += 1
            if writes == dies_at:
                raise Killed(step)

    service = full(faults=maybe_die)
    writes = 0
    delivered = 0
    while delivered < len(service.outbox):
        try:
            service.handle_to_the_end(service.outbox[delivered])
        except Killed:
            continue  # the queue delivers again
        delivered += 1
    head = service.head()
    made = [
        (
            compaction.first,
            compaction.last,
            compaction.method,
            compaction.tokens_before,
            compaction.tokens_after,
        )
        for compaction in service.compactions()
    ]
    return (
        (head.window_start, head.window_tokens, head.window_messages, head.job, head.compaction),
        made,
        service.contents(),
        [service.job(job.id).state for job in service.outbox],
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
    service = ContextService(
        strategy="flush", max_tokens=160, keep_recent_turns=1, extract="manual"
    )
    first, withdrawn, answer = (
        {"role": "user", "content": "q" * 200},
        {"role": "user", "content": "w" * 200},
        "a" * 40,
    )
    service.put(first)
    service.put(withdrawn)
    service.drain()
    assert service.head().window_start == 2
    service.history.withdraw(service.session(), first=2)
    service.put({"role": "assistant", "content": answer})
    service.put(withdrawn)
    service.history.withdraw(service.session(), first=service.head().seq)
    assert service.shown() == [first["content"], answer]
