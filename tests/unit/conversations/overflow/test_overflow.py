"""The pipeline: an overflow is armed, folded once, and never in the way of an append or a context."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable, NotFound
from palimpsest.jobs.ports import JobNotice

from tests.unit.world import World

MINUTE = 60


def full() -> World:
    """A session of 30 turns whose window has overflowed: one job waits."""
    world = World(max_tokens=600)
    world.say(30)
    return world


def test_an_overflow_is_folded_and_the_context_says_so() -> None:
    world = full()
    world.drain()
    shown = world.shown()
    head = world.app.manage.read(world.session()).head
    assert shown[0].startswith("CONVERSATION SUMMARY: up to ")
    assert head.compaction == "none"
    assert head.window_start == head.summary + 1
    assert world.history() == list(range(1, 61))


@pytest.mark.parametrize("summary_as", ["user", "system", "tool_call"])
def test_a_summary_as_long_as_it_may_be_stands_whole_in_the_context(summary_as: str) -> None:
    world = World(max_tokens=800, summary_as=summary_as)
    world.summarizer.fills_its_room = True
    world.say(30)
    world.drain()
    (compaction, *_), _ = world.app.history.compactions(world.session(), limit=1, newest_first=True)
    assert compaction.summary is not None
    assert any(compaction.summary in text for text in world.shown())


def test_every_message_is_in_the_window_or_behind_the_summary() -> None:
    world = full()
    world.drain()
    world.say(30)
    world.drain()
    folded = [seq for step in world.summarizer.read for seq in step]
    head = world.app.manage.read(world.session()).head
    assert folded == list(range(1, head.window_start))


def test_every_summary_can_be_unfolded() -> None:
    world = full()
    world.drain()
    compactions, _ = world.app.history.compactions(world.session(), limit=50)
    unfolded = []
    for compaction in compactions:
        messages, after = world.app.history.unfold(world.session(), compaction.last, limit=100)
        assert after is None
        unfolded += [message.seq for message in messages]
    assert unfolded == list(range(1, compactions[-1].last + 1))


def test_while_a_compaction_is_pending_the_context_fits_all_the_same() -> None:
    world = full()
    context = world.app.context(world.session())
    assert context.compaction == "pending"
    assert context.fitted.tokens <= 600


def test_one_job_waits_however_many_appends_follow() -> None:
    world = full()
    assert len(world.outbox) == 1
    world.say(50)
    assert len(world.outbox) == 1


def test_a_message_delivered_twice_costs_one_model_call() -> None:
    world = full()
    job = world.outbox[0]
    world.handle(job)
    first = world.app.manage.read(world.session()).head
    world.handle(job)
    assert len(world.summarizer.read) == 1
    assert world.app.manage.read(world.session()).head == first


def test_two_workers_on_one_range_commit_once() -> None:
    world = World(max_tokens=600)
    while not world.outbox:
        world.say(1)
    job = world.outbox[0]
    together = Barrier(2)
    told = world.summarizer.summarize

    def at_once(**asked: object) -> object:
        together.wait(5)
        return told(**asked)  # type: ignore[arg-type]

    world.summarizer.summarize = at_once  # type: ignore[method-assign, assignment]
    before = world.app.manage.read(world.session()).head.version
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(world.handle, [job, job]))
    compactions, _ = world.app.history.compactions(world.session(), limit=50)
    assert len(world.summarizer.read) == 2
    assert len(compactions) == 1
    assert world.app.manage.read(world.session()).head.version == before + 1


def test_a_crash_between_model_call_and_commit_is_mended_by_the_next_delivery() -> None:
    world = full()
    job = world.outbox[0]
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == "before commit" and world.summarizer.read:
            for error in crashes:
                raise error

    world.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        world.handle(job)
    world.handle(job)
    compactions, _ = world.app.history.compactions(world.session(), limit=50)
    assert len(compactions) == 1


def test_a_crash_after_the_commit_leaves_nothing_to_do() -> None:
    world = full()
    job = world.outbox[0]

    def crash(step: str) -> None:
        if step == "after commit" and world.summarizer.read:
            raise RuntimeError("killed")

    world.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        world.handle(job)
    world.sessions.state.faults = lambda _: None
    world.handle(job)
    assert len(world.summarizer.read) == 1


def test_appends_go_on_while_the_summary_is_made() -> None:
    world = full()
    job = world.outbox[0]
    told = world.summarizer.summarize

    def slowly(**asked: object) -> object:
        world.append("meanwhile")
        return told(**asked)  # type: ignore[arg-type]

    world.summarizer.summarize = slowly  # type: ignore[method-assign, assignment]
    world.handle(job)
    head = world.app.manage.read(world.session()).head
    assert head.summary == job.last
    assert world.shown()[-1] == "meanwhile"
    assert head.window_messages == 61 - job.last


def test_a_model_that_fails_leaves_appends_and_context_alone_and_is_armed_again() -> None:
    world = full()
    world.summarizer.failure = ModelUnavailable("no answer")
    world.drain()
    assert world.app.context(world.session()).compaction == "failed"
    world.append("too early")
    assert len(world.outbox) == 1
    world.time.advance(2 * MINUTE)
    world.summarizer.failure = None
    world.append("now")
    world.drain()
    assert world.app.context(world.session()).compaction == "none"


def test_the_sweep_arms_a_failed_overflow_again_without_any_append() -> None:
    world = full()
    world.summarizer.failure = ModelOutputInvalid("prose")
    world.drain()
    world.summarizer.failure = None
    world.time.advance(2 * MINUTE)
    world.sweep()
    world.drain()
    assert world.app.context(world.session()).compaction == "none"
    assert world.sweep() <= 1


def test_a_job_whose_message_was_lost_is_found_by_the_sweep() -> None:
    world = full()
    world.delivered = 1  # the queue lost it
    world.time.advance(60 * MINUTE)
    world.sweep()
    assert world.app.context(world.session()).compaction == "failed"
    world.time.advance(2 * MINUTE)
    world.sweep()
    world.drain()
    assert world.app.context(world.session()).compaction == "none"


def test_a_model_down_for_an_hour_gets_one_job_an_attempt_not_one_an_append() -> None:
    world = full()
    world.summarizer.failure = ModelUnavailable("down")
    for _ in range(3600):
        world.append("tick")
        world.append("tock", role="assistant")
        world.drain()
        world.time.advance(1)
    assert len(world.outbox) <= 7  # 1, 2, 4, 8, 16, 32 minutes apart


def test_a_backlog_larger_than_the_models_window_is_folded_in_steps_and_nothing_is_skipped() -> None:
    world = full()
    world.summarizer.room = 100
    world.drain()
    folded = [seq for step in world.summarizer.read for seq in step]
    head = world.app.manage.read(world.session()).head
    assert len(world.summarizer.read) > 2
    assert folded == list(range(1, head.window_start))


def test_a_job_of_a_deleted_session_does_nothing() -> None:
    world = full()
    job = world.outbox[0]
    world.app.manage.delete(world.session())
    world.handle(job)
    assert world.summarizer.read == []
    with pytest.raises(NotFound):
        world.shown()


def test_a_new_configuration_ends_the_overflow_that_was_planned_under_the_old_one() -> None:
    from palimpsest.conversations.manage import Wanted

    world = full()
    world.app.manage.patch(world.session(), wanted=Wanted(memory={"strategy": "trim", "max_tokens": 500}))
    world.drain()
    assert world.summarizer.read == []
    world.append("and now")
    head = world.app.manage.read(world.session()).head
    assert head.window_messages < 60
    assert head.compaction == "none"


def test_a_failed_job_that_is_redriven_is_armed_anew() -> None:
    world = full()
    world.summarizer.failure = ModelUnavailable("down")
    world.drain()
    world.summarizer.failure = None
    world.handle(world.outbox[0])
    world.drain()
    assert world.app.context(world.session()).compaction == "none"


@pytest.mark.parametrize(("strategy", "method"), [("trim", "trim"), ("delete", "delete")])
def test_trim_and_delete_make_room_in_the_append_itself(strategy: str, method: str) -> None:
    world = World(strategy=strategy, max_tokens=600)
    world.say(40)
    compactions, _ = world.app.history.compactions(world.session(), limit=50)
    assert world.outbox == []
    assert {compaction.method for compaction in compactions} == {method}
    assert world.app.manage.read(world.session()).head.tokens <= 600
    assert world.history() == list(range(1, 81))


def test_without_a_window_the_context_is_the_newest_turn() -> None:
    world = World(strategy="none", max_tokens=600)
    world.say(100)
    assert [len(text) for text in world.shown()] == [40, 40]
    assert world.outbox == []


def test_when_nothing_can_be_evicted_the_trigger_rises_so_that_reads_stay_rare() -> None:
    world = World(max_tokens=600)
    reads = 0
    told = world.sessions.messages

    def counted(*args: object, **asked: object) -> object:
        nonlocal reads
        reads += 1
        return told(*args, **asked)  # type: ignore[arg-type]

    world.append("one question")
    world.sessions.messages = counted  # type: ignore[method-assign, assignment]
    for _ in range(200):
        world.append("a" * 40, role="assistant")
    assert world.outbox == []
    assert reads < 60
    assert world.app.context(world.session()).fitted.tokens <= 600


def test_a_job_that_nobody_knows_is_no_error() -> None:
    world = World()
    world.summarize(JobNotice("acme", "job_unknown", "summarize"))
    assert world.summarizer.read == []


@pytest.mark.parametrize(
    "memory",
    [
        {"strategy": "trim", "max_memory_tokens": 60},
        {"strategy": "delete", "count": 2},
        {"strategy": "summarize", "keep_recent_turns": 1},
    ],
)
def test_what_a_withdrawal_opened_can_be_folded_again(memory: dict[str, Any]) -> None:
    world = World(max_tokens=200, **memory)
    world.say(1)
    while not (folded := world.app.history.compactions(world.session(), limit=1)[0]):
        world.say(1, letters=100)
        world.drain()
    world.app.history.withdraw(world.session(), first=folded[0].last + 1)
    assert world.app.manage.read(world.session()).head.window_start == 1
    for _ in range(5):
        world.say(1, letters=100)
        world.drain()
    assert world.app.manage.read(world.session()).head.window_start > folded[0].last
