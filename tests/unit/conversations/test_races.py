"""Two who write at once: whoever commits second has seen the first, and nobody's message falls
between them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import permutations

import pytest
from palimpsest.errors import CommitLost
from palimpsest.scope import SessionScope

from tests.unit.conversations.service import ConversationService

DAY = 24 * 3600


def meanwhile(service: ConversationService, happens: Callable[[], object]) -> None:
    """Let it happen between the reads and the commit of whatever is done next."""
    waiting = [happens]

    def strike(step: str) -> None:
        if step == "before commit" and waiting:
            waiting.pop()()

    service.sessions.state.faults = strike


def covered(service: ConversationService, session: SessionScope) -> list[int]:
    """Every sequence number that the window holds or a compaction stands for."""
    head = service.app.manage.read(session).head
    folded = service.app.history.compactions(session, limit=1000)[0]
    held = range(head.window_start, head.seq + 1)
    return [*(seq for each in folded for seq in range(each.first, each.last + 1)), *held]


def test_writers_racing_the_summariser_lose_nothing_and_nothing_is_left_out() -> None:
    service = ConversationService(max_tokens=600)
    service.append("the first")
    stop = threading.Event()

    def summarise() -> None:
        while not stop.is_set():
            service.drain()
        service.drain()

    def write(writer: int) -> None:
        for number in range(25):
            service.append(f"{writer}-{number} {'q' * 40}", key=f"{writer}-{number}")

    worker = threading.Thread(target=summarise)
    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in (worker, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    worker.join()
    assert service.history() == list(range(1, 102))
    assert len(service.summarizer.read) > 1
    assert covered(service, service.session()) == list(range(1, 102))


def test_an_append_that_meets_a_deletion_belongs_to_the_new_life() -> None:
    service = ConversationService(max_tokens=600)
    service.say(3)
    meanwhile(service, lambda: service.app.manage.delete(service.session()))
    appended = service.append("new")
    assert appended.created
    service.drain()
    assert service.history() == [appended.messages[0].seq]
    assert service.shown() == ["new"]


def test_an_append_that_meets_the_sweep_of_an_expired_session_begins_a_new_one() -> None:
    service = ConversationService(max_tokens=600)
    service.say(3)
    service.time.advance(31 * DAY)
    meanwhile(service, service.sweep)
    appended = service.append("after a month")
    assert appended.created
    service.drain()
    assert service.shown() == ["after a month"]
    assert service.history() == [appended.messages[0].seq]


def test_a_sweep_that_meets_an_append_leaves_the_session_alone() -> None:
    service = ConversationService(max_tokens=600)
    service.say(3)
    service.time.advance(31 * DAY)
    meanwhile(service, lambda: service.append("still here"))
    service.sweep()
    service.drain()
    assert service.shown() == ["still here"]
    service.sweep()
    service.drain()
    assert service.shown() == ["still here"]


@pytest.mark.parametrize("act", ["delete", "withdraw", "empty", "drop"])
def test_a_summary_that_meets_another_who_moves_the_window_is_discarded(act: str) -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    session = service.session()
    acts: dict[str, Callable[[], object]] = {
        "delete": lambda: service.app.manage.delete(session),
        "withdraw": lambda: service.app.history.withdraw(session, first=4),
        "empty": lambda: service.app.history.empty(session),
        "drop": lambda: service.app.prune(session, strategy="fifo", max_tokens=200),
    }
    meanwhile(service, acts[act])
    job = service.outbox[0]
    service.handle(job)
    stored = service.jobs.get(session.owner, job.id)
    assert stored is not None
    assert (stored.state, stored.error) == ("done", "overtaken")
    if act == "delete":
        return
    folded = service.app.history.compactions(session, limit=50)[0]
    assert all(each.summary is None for each in folded)
    assert not any("CONVERSATION SUMMARY" in text for text in service.shown())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_jobs_that_arrive_in_any_order_end_in_the_same_state(order: tuple[int, ...]) -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    session = service.session()
    service.app.history.withdraw(session, first=51)
    service.say(5)
    summarize, withdraw, again = service.outbox
    jobs = [summarize, withdraw, again]
    assert [job.kind for job in jobs] == ["summarize", "withdraw", "summarize"]
    for which in order:
        service.handle(jobs[which])
    service.drain()
    assert service.history() == [*range(1, 51), *range(61, 71)]
    head = service.app.manage.read(session).head
    (compaction, *_) = service.app.history.compactions(session, limit=50)[0]
    read = [seq for step in service.summarizer.read for seq in step]
    assert read == [
        seq for seq in range(compaction.first, head.window_start) if seq in service.history()
    ]
    assert head.compaction == "none"
    assert service.shown()[0] == f"CONVERSATION SUMMARY: up to {read[-1]}"


def test_a_withdrawal_that_appends_overtake_again_and_again_comes_through_without_reading_anew() -> (
    None
):
    service = ConversationService()
    service.say(10)
    overtaken = 0

    def writers(step: str) -> None:
        """Before each commit of the withdrawal another writer appends, twenty times."""
        nonlocal overtaken
        if step == "before commit" and overtaken < 20:
            overtaken += 1
            service.sessions.state.faults = lambda _: None
            service.append(f"late {overtaken}")
            service.sessions.state.faults = writers

    begun = service.clock.now()
    service.sessions.state.faults = writers
    head, job_id = service.app.history.withdraw(service.session(), first=3)
    assert overtaken == 20
    assert service.clock.now() == begun  # it never had to wait
    assert job_id is not None
    assert head.withdrawn == ((3, 40),)
    assert [
        message.seq for message in service.app.history.messages(service.session(), limit=99)[0]
    ] == [1, 2]


def test_an_overflow_that_is_given_up_while_another_writes_has_failed_all_the_same() -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)

    def conflict() -> None:
        raise CommitLost("Another transaction was under way.")

    meanwhile(service, conflict)
    service.fail(service.outbox[0])
    head = service.head()
    assert (head.compaction, head.job, head.attempts) == ("failed", None, 1)
    assert service.job(service.outbox[0].id).state == "failed"


def test_a_withdrawal_that_meets_a_redaction_weighs_the_new_text() -> None:
    service = ConversationService()
    service.say(5)
    session = service.session()
    meanwhile(service, lambda: service.app.redact(session, 2, content="x" * 400))
    head, _ = service.app.history.withdraw(session, first=7)
    messages, _ = service.app.history.messages(session, limit=99)
    assert head.window_tokens == sum(message.tokens for message in messages)


def test_the_newest_message_is_known_whichever_of_two_withdrawals_is_done_first() -> None:
    service = ConversationService()
    service.say(5)
    session = service.session()
    service.app.history.withdraw(session, first=7)
    service.append("and then")
    service.app.history.withdraw(session, first=11)
    service.handle(service.outbox[-1])
    assert service.app.history.withdraw(session, first=5, if_last=6)[0].seq == 11


def test_a_context_that_meets_a_redaction_shows_what_the_old_summary_stood_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    service.drain()
    session, read = service.session(), service.sessions.compaction
    waiting = [True]

    def redacted_first(scope: SessionScope, last: int) -> object:
        if waiting and waiting.pop():
            service.app.redact(session, 2, content="[redacted]")
            service.handle(service.outbox[-1])
        return read(scope, last)

    monkeypatch.setattr(service.sessions, "compaction", redacted_first)
    context = service.app.context(session)
    assert context.summary is None or context.summary.summary is not None
    assert context.head.redactions == 1
