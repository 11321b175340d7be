"""Appends: stored once, in order, whatever is retried."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from palimpsest.clock import SystemClock
from palimpsest.conversations.drafts import Draft
from palimpsest.errors import CommitLost, Conflict, NotFound, TooLarge, Unavailable, Unprocessable
from palimpsest.retry import pause_after

from tests.service import TENANT
from tests.unit.conversations.service import ConversationService

HOUR = 3600


def test_a_retried_append_is_stored_once() -> None:
    service = ConversationService()
    first = service.append("hello", key="k1")
    again = service.append("hello", key="k1")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.messages == first.messages
    assert service.history() == [1]


@pytest.mark.parametrize("hours", [11 / 60, 23])
def test_a_retry_after_minutes_and_after_hours_is_still_one_copy(hours: float) -> None:
    service = ConversationService()
    service.append("hello", key="k1")
    service.append("another", key="k2")
    service.time.advance(hours * HOUR)
    assert service.append("hello", key="k1").replayed
    assert service.history() == [1, 2]


def test_a_key_is_forgotten_after_more_than_a_day() -> None:
    service = ConversationService()
    service.append("hello", key="k1")
    service.time.advance(26 * HOUR)
    assert not service.append("hello", key="k1").replayed
    assert service.history() == [1, 2]


def test_the_same_key_with_another_body_is_a_conflict_and_writes_nothing() -> None:
    service = ConversationService()
    service.append("hello", key="k1")
    with pytest.raises(Conflict) as refused:
        service.append("something else", key="k1")
    assert refused.value.code == "idempotency_key_reused"
    assert service.history() == [1]


def test_ids_on_all_messages_are_a_key() -> None:
    service = ConversationService()
    drafts = [
        Draft({"role": "user", "content": "hi"}, client_id="m1"),
        Draft({"role": "user", "content": "x"}, client_id="m2"),
    ]
    service.app.append(service.session(), drafts, user="sarah")
    service.append("between")
    assert service.app.append(service.session(), drafts, user="sarah").replayed
    assert service.history() == [1, 2, 3]


def test_an_exact_resend_without_a_key_is_taken_for_a_retry_for_a_minute() -> None:
    service = ConversationService()
    said = [Draft({"role": "user", "content": "yes"})]
    service.app.append(service.session(), said, user="sarah")
    assert service.app.append(service.session(), said).replayed
    service.time.advance(61)
    assert not service.app.append(service.session(), said).replayed
    assert service.history() == [1, 2]


def test_yes_may_be_said_twice_and_the_ids_differ() -> None:
    service = ConversationService()
    said = [Draft({"role": "user", "content": "yes"})]
    first = service.app.append(service.session(), said, user="sarah")
    second = service.app.append(service.session(), said, allow_repeat=True)
    assert not second.replayed
    assert first.messages[0].id != second.messages[0].id


def test_fifty_writers_lose_nothing_and_keep_their_order() -> None:
    service = ConversationService(clock=SystemClock())
    service.append("begin")

    def write(writer: int) -> None:
        for number in range(10):
            service.append(f"{writer}:{number}", key=f"{writer}-{number}")

    with ThreadPoolExecutor(50) as writers:
        list(writers.map(write, range(50)))
    page, _ = service.app.history.messages(service.session(), limit=1000)
    assert [message.seq for message in page] == list(range(1, 502))
    for writer in range(50):
        own = [text for m in page if (text := str(m.chat["content"])).startswith(f"{writer}:")]
        assert own == [f"{writer}:{number}" for number in range(10)]


def test_a_writer_whom_one_other_came_before_decides_anew_without_another_read() -> None:
    service = ConversationService()
    service.append("first")
    reads, theirs = [], [lambda: service.append("theirs", key="theirs")]
    opened = service.sessions.open

    def strike(step: str) -> None:
        if step == "before commit" and theirs:
            theirs.pop()()

    def counted(*given: Any, **named: Any) -> Any:
        reads.append(given)
        return opened(*given, **named)

    service.sessions.open = counted  # type: ignore[method-assign]
    service.sessions.state.faults = strike
    mine = service.append("mine", key="mine")
    assert (mine.messages[0].seq, service.history()) == (3, [1, 2, 3])
    assert service.append("mine", key="mine").replayed
    assert len(reads) == 1 + 1 + 1 + 1  # mine, theirs, the history, the repetition


def test_writers_of_one_process_go_one_after_another_and_never_meet() -> None:
    service = ConversationService()
    commits: list[str] = []
    service.sessions.state.faults = commits.append

    def write(writer: int) -> None:
        for number in range(5):
            service.append(f"{writer}-{number}", key=f"{writer}-{number}")

    with ThreadPoolExecutor(20) as writers:
        list(writers.map(write, range(20)))
    assert (len(service.history()), commits.count("before commit")) == (100, 100)


def test_the_pauses_grow_with_losses_and_with_the_length_of_an_attempt_up_to_a_second() -> None:
    for losses, attempt, most in (
        (1, 0.02, 0.08),
        (2, 0.02, 0.16),
        (1, 0.0, 0.02),
        (20, 0.02, 1.0),
    ):
        pauses = [pause_after(losses, attempt=attempt) for _ in range(50)]
        assert most / 2 <= min(pauses) < max(pauses) <= most


def test_a_writer_that_never_wins_is_told_to_try_again() -> None:
    service = ConversationService()

    def beaten(step: str) -> None:
        if step == "before commit":
            raise CommitLost("another writer was first")

    service.sessions.state.faults = beaten
    with pytest.raises(Unavailable) as told:
        service.append("hello")
    assert told.value.retryable
    service.sessions.state.faults = lambda _: None
    with pytest.raises(NotFound):
        service.history()


def test_an_append_to_an_unknown_session_needs_a_user() -> None:
    with pytest.raises(NotFound):
        ConversationService().append("hello", user=None)


def test_naming_another_user_is_a_conflict() -> None:
    service = ConversationService()
    service.append("hello", user="sarah")
    with pytest.raises(Conflict) as refused:
        service.append("hello", user="tom")
    assert refused.value.code == "owner_mismatch"


def test_a_tool_message_needs_its_call() -> None:
    service = ConversationService()
    service.append("hello")
    result = Draft({"role": "tool", "content": "42", "tool_call_id": "c1"})
    with pytest.raises(Unprocessable) as refused:
        service.app.append(service.session(), [result])
    assert refused.value.errors[0].field == "messages.0.tool_call_id"
    assert service.history() == [1]


def test_parallel_calls_are_answered_one_append_at_a_time() -> None:
    service = ConversationService()
    service.append("hello")
    calls = [
        {"id": c, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for c in ("c1", "c2")
    ]
    service.app.append(service.session(), [Draft({"role": "assistant", "tool_calls": calls})])
    for call in ("c2", "c1"):
        service.app.append(
            service.session(), [Draft({"role": "tool", "content": "42", "tool_call_id": call})]
        )
    with pytest.raises(Unprocessable):
        service.app.append(
            service.session(), [Draft({"role": "tool", "content": "again", "tool_call_id": "c1"})]
        )
    assert service.history() == [1, 2, 3, 4]


def test_a_message_over_the_limit_is_refused_before_any_write() -> None:
    service = ConversationService()
    with pytest.raises(TooLarge):
        service.append("x" * 5_000_000)
    with pytest.raises(TooLarge):
        service.append("x" * 400_000, role="system")
    with pytest.raises(NotFound):
        service.history()


def test_a_system_message_becomes_the_session_s_and_stays_in_the_history() -> None:
    service = ConversationService()
    service.append("be brief", role="system")
    service.append("be polite", role="developer")
    service.append("hello")
    assert service.shown() == ["be polite", "hello"]
    assert service.history() == [1, 2, 3]


def test_order_is_by_sequence_number_whatever_the_clients_clocks_say() -> None:
    service = ConversationService()
    for number, timestamp in enumerate(["2030-01-01T00:00:00Z", "1990-01-01T00:00:00Z"]):
        service.app.append(
            service.session(),
            [Draft({"role": "user", "content": str(number)}, timestamp=timestamp)],
            user="u",
        )
    assert service.shown() == ["0", "[1990-01-01]\n1"]


def test_an_append_reopens_an_ended_session() -> None:
    service = ConversationService()
    service.append("hello")
    assert service.app.manage.end(service.session())[0].head.status == "ended"
    assert service.append("again").head.status == "active"


def test_a_new_session_takes_its_tenants_defaults() -> None:
    service = ConversationService(strategy="trim", max_tokens=1234)
    service.append("hello")
    assert service.app.manage.read(TENANT.session("s")).head.max_tokens == 1234
