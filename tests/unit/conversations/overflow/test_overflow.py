"""The pipeline: an overflow is armed, folded once, and never in the way of an append or a
context.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from palimpsest.conversations.ports import Summary
from palimpsest.errors import ModelOutputInvalid, ModelUnavailable, NotFound
from palimpsest.jobs.attempts import FIRST_ATTEMPTS
from palimpsest.jobs.events import JobNotice

from tests.unit.conversations.service import ConversationService

MINUTE = 60


def full() -> ConversationService:
    """A session of 30 turns whose window has overflowed: one job waits."""
    service = ConversationService(max_tokens=600)
    service.say(30)
    return service


def test_an_overflow_is_folded_and_the_context_says_so() -> None:
    service = full()
    service.drain()
    shown = service.shown()
    head = service.app.manage.read(service.session()).head
    assert shown[0].startswith("CONVERSATION SUMMARY: up to ")
    assert head.compaction == "none"
    assert head.window_start == head.summary + 1
    assert service.history() == list(range(1, 61))


@pytest.mark.parametrize("summary_as", ["user", "system", "tool_call"])
def test_a_summary_as_long_as_it_may_be_stands_whole_in_the_context(summary_as: str) -> None:
    service = ConversationService(max_tokens=800, summary_as=summary_as)
    service.summarizer.fills_its_room = True
    service.say(30)
    service.drain()
    (compaction, *_), _ = service.app.history.compactions(
        service.session(), limit=1, newest_first=True
    )
    assert compaction.summary is not None
    assert any(compaction.summary in text for text in service.shown())


def test_every_message_is_in_the_window_or_behind_the_summary() -> None:
    service = full()
    service.drain()
    service.say(30)
    service.drain()
    folded = [seq for step in service.summarizer.read for seq in step]
    head = service.app.manage.read(service.session()).head
    assert folded == list(range(1, head.window_start))


def test_every_summary_can_be_unfolded() -> None:
    service = full()
    service.drain()
    compactions, _ = service.app.history.compactions(service.session(), limit=50)
    unfolded = []
    for compaction in compactions:
        messages, after = service.app.history.unfold(service.session(), compaction.last, limit=100)
        assert after is None
        unfolded += [message.seq for message in messages]
    assert unfolded == list(range(1, compactions[-1].last + 1))


def test_while_a_compaction_is_pending_the_context_fits_all_the_same() -> None:
    service = full()
    context = service.app.context(service.session())
    assert context.compaction == "pending"
    assert context.fitted.tokens <= 600


def test_one_job_waits_however_many_appends_follow() -> None:
    service = full()
    assert len(service.outbox) == 1
    service.say(50)
    assert len(service.outbox) == 1


def test_a_message_delivered_twice_costs_one_model_call() -> None:
    service = full()
    job = service.outbox[0]
    service.handle(job)
    first = service.app.manage.read(service.session()).head
    service.handle(job)
    assert len(service.summarizer.read) == 1
    assert service.app.manage.read(service.session()).head == first


def test_two_workers_on_one_range_commit_once() -> None:
    service = ConversationService(max_tokens=600)
    while not service.outbox:
        service.say(1)
    job = service.outbox[0]
    together = Barrier(2)
    summarize = service.summarizer.summarize

    def at_once(*asked: Any, **previous: Any) -> Summary:
        together.wait(30)
        return summarize(*asked, **previous)

    service.summarizer.summarize = at_once  # type: ignore[method-assign]
    before = service.app.manage.read(service.session()).head.version
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(service.handle, [job, job]))
    compactions, _ = service.app.history.compactions(service.session(), limit=50)
    assert len(service.summarizer.read) == 2
    assert len(compactions) == 1
    assert service.app.manage.read(service.session()).head.version == before + 1


def test_a_crash_between_model_call_and_commit_is_mended_by_the_next_delivery() -> None:
    service = full()
    job = service.outbox[0]
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == "before commit" and service.summarizer.read:
            for error in crashes:
                raise error

    service.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        service.handle(job)
    service.handle(job)
    compactions, _ = service.app.history.compactions(service.session(), limit=50)
    assert len(compactions) == 1


def test_a_crash_after_the_commit_leaves_nothing_to_do() -> None:
    service = full()
    job = service.outbox[0]

    def crash(step: str) -> None:
        if step == "after commit" and service.summarizer.read:
            raise RuntimeError("killed")

    service.sessions.state.faults = crash
    with pytest.raises(RuntimeError):
        service.handle(job)
    service.sessions.state.faults = lambda _: None
    service.handle(job)
    assert len(service.summarizer.read) == 1


def test_appends_go_on_while_the_summary_is_made() -> None:
    service = full()
    job = service.outbox[0]
    summarize = service.summarizer.summarize

    def slowly(*asked: Any, **previous: Any) -> Summary:
        service.append("meanwhile")
        return summarize(*asked, **previous)

    service.summarizer.summarize = slowly  # type: ignore[method-assign]
    service.handle(job)
    head = service.app.manage.read(service.session()).head
    assert head.summary == job.last
    assert service.shown()[-1] == "meanwhile"
    assert head.window_messages == 61 - job.last


def test_a_model_that_fails_leaves_appends_and_context_alone_and_is_armed_again() -> None:
    service = full()
    service.summarizer.failure = failure = ModelUnavailable("no answer")
    failure.spent = {"model_calls": 1, "tokens_in": 9, "tokens_out": 0, "cost_nano_usd": 3}
    service.drain()
    assert service.app.context(service.session()).compaction == "failed"
    assert service.job(service.outbox[0].id).spent == {
        name: 4 * used for name, used in failure.spent.items()
    }
    service.append("too early")
    assert len(service.outbox) == 1
    service.time.advance(2 * MINUTE)
    service.summarizer.failure = None
    service.append("now")
    service.drain()
    assert service.app.context(service.session()).compaction == "none"


def test_the_sweep_arms_a_failed_overflow_again_without_any_append() -> None:
    service = full()
    service.summarizer.failure = ModelOutputInvalid("prose")
    service.drain()
    service.summarizer.failure = None
    service.time.advance(2 * MINUTE)
    service.sweep()
    service.drain()
    assert service.app.context(service.session()).compaction == "none"
    assert service.sweep() <= 1


def test_a_job_whose_message_was_lost_is_found_by_the_sweep() -> None:
    service = full()
    service.delivered = 1  # the queue lost it
    service.time.advance(60 * MINUTE)
    service.sweep()
    assert service.app.context(service.session()).compaction == "failed"
    service.time.advance(2 * MINUTE)
    service.sweep()
    service.drain()
    assert service.app.context(service.session()).compaction == "none"


def test_a_model_down_for_an_hour_gets_one_job_an_attempt_not_one_an_append() -> None:
    service = full()
    service.summarizer.failure = ModelUnavailable("down")
    for _ in range(720):
        service.append("tick")
        service.append("tock", role="assistant")
        service.drain()
        service.time.advance(5)
    assert len(service.outbox) <= FIRST_ATTEMPTS + 9  # a minute apart, then five


def test_a_backlog_larger_than_the_models_window_is_folded_in_steps_and_nothing_is_skipped() -> (
    None
):
    service = full()
    service.summarizer.room = 100
    service.drain()
    folded = [seq for step in service.summarizer.read for seq in step]
    head = service.app.manage.read(service.session()).head
    assert len(service.summarizer.read) > 2
    assert folded == list(range(1, head.window_start))


def test_a_job_of_a_deleted_session_does_nothing() -> None:
    service = full()
    job = service.outbox[0]
    service.app.manage.delete(service.session())
    service.handle(job)
    assert service.summarizer.read == []
    with pytest.raises(NotFound):
        service.shown()


def test_a_new_configuration_ends_the_overflow_that_was_planned_under_the_old_one() -> None:
    from palimpsest.conversations.manage import SessionRequest

    service = full()
    service.app.manage.patch(
        service.session(), wanted=SessionRequest(memory={"strategy": "trim", "max_tokens": 500})
    )
    service.drain()
    assert service.summarizer.read == []
    service.append("and now")
    head = service.app.manage.read(service.session()).head
    assert head.window_messages < 60
    assert head.compaction == "none"


def test_a_failed_job_that_is_redriven_is_armed_anew() -> None:
    service = full()
    service.summarizer.failure = ModelUnavailable("down")
    service.drain()
    service.summarizer.failure = None
    service.handle(service.outbox[0])
    service.drain()
    assert service.app.context(service.session()).compaction == "none"


@pytest.mark.parametrize(("strategy", "method"), [("trim", "trim"), ("delete", "delete")])
def test_trim_and_delete_make_room_in_the_append_itself(strategy: str, method: str) -> None:
    service = ConversationService(strategy=strategy, max_tokens=600)
    service.say(40)
    compactions, _ = service.app.history.compactions(service.session(), limit=50)
    assert service.outbox == []
    assert {compaction.method for compaction in compactions} == {method}
    assert service.app.manage.read(service.session()).head.tokens <= 600
    assert service.history() == list(range(1, 81))


def test_without_a_window_the_context_is_the_newest_turn() -> None:
    service = ConversationService(strategy="none", max_tokens=600)
    service.say(100)
    assert [len(text) for text in service.shown()] == [40, 40]
    assert service.outbox == []


def test_when_nothing_can_be_evicted_the_trigger_rises_so_that_reads_stay_rare() -> None:
    service = ConversationService(max_tokens=600)
    reads = 0
    told = service.sessions.messages

    def counted(*args: object, **asked: object) -> object:
        nonlocal reads
        reads += 1
        return told(*args, **asked)  # type: ignore[arg-type]

    service.append("one question")
    service.sessions.messages = counted  # type: ignore[method-assign, assignment]
    for _ in range(200):
        service.append("a" * 40, role="assistant")
    assert service.outbox == []
    assert reads < 60
    assert service.app.context(service.session()).fitted.tokens <= 600


def test_a_job_that_nobody_knows_is_no_error() -> None:
    service = ConversationService()
    service.summarize(JobNotice("acme", "job_unknown", "summarize"))
    assert service.summarizer.read == []


@pytest.mark.parametrize(
    "memory",
    [
        {"strategy": "trim", "max_memory_tokens": 60},
        {"strategy": "delete", "count": 2},
        {"strategy": "summarize", "keep_recent_turns": 1},
    ],
)
def test_what_a_withdrawal_opened_can_be_folded_again(memory: dict[str, Any]) -> None:
    service = ConversationService(max_tokens=200, **memory)
    service.say(1)
    while not (folded := service.app.history.compactions(service.session(), limit=1)[0]):
        service.say(1, letters=100)
        service.drain()
    service.app.history.withdraw(service.session(), first=folded[0].last + 1)
    assert service.app.manage.read(service.session()).head.window_start == 1
    for _ in range(5):
        service.say(1, letters=100)
        service.drain()
    assert service.app.manage.read(service.session()).head.window_start > folded[0].last


def test_a_redaction_of_what_was_cleared_leaves_the_summary_of_what_came_later() -> None:
    service = ConversationService(max_tokens=600)
    service.say(2)
    service.app.history.empty(service.session())
    service.say(30)
    service.drain()
    summary = service.head().summary
    assert summary > 4
    service.app.redact(service.session(), 1, content="[redacted]")
    assert service.head().summary == summary
