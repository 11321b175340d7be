"""Appends: stored once, in order, whatever is retried."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from palimpsest.clock import SystemClock
from palimpsest.conversations.messages import Draft
from palimpsest.errors import CommitLost, Conflict, NotFound, TooLarge, Unavailable, Unprocessable
from palimpsest.retry import pause_after

from tests.unit.world import TENANT, World

HOUR = 3600


def test_a_retried_append_is_stored_once() -> None:
    world = World()
    first = world.append("hello", key="k1")
    again = world.append("hello", key="k1")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.messages == first.messages
    assert world.history() == [1]


@pytest.mark.parametrize("hours", [11 / 60, 23])
def test_a_retry_after_minutes_and_after_hours_is_still_one_copy(hours: float) -> None:
    world = World()
    world.append("hello", key="k1")
    world.append("another", key="k2")
    world.time.advance(hours * HOUR)
    assert world.append("hello", key="k1").replayed
    assert world.history() == [1, 2]


def test_a_key_is_forgotten_after_more_than_a_day() -> None:
    world = World()
    world.append("hello", key="k1")
    world.time.advance(26 * HOUR)
    assert not world.append("hello", key="k1").replayed
    assert world.history() == [1, 2]


def test_the_same_key_with_another_body_is_a_conflict_and_writes_nothing() -> None:
    world = World()
    world.append("hello", key="k1")
    with pytest.raises(Conflict) as refused:
        world.append("something else", key="k1")
    assert refused.value.code == "idempotency_key_reused"
    assert world.history() == [1]


def test_ids_on_all_messages_are_a_key() -> None:
    world = World()
    drafts = [
        Draft({"role": "user", "content": "hi"}, client_id="m1"),
        Draft({"role": "user", "content": "x"}, client_id="m2"),
    ]
    world.app.append(world.session(), drafts, user="sarah")
    world.append("between")
    assert world.app.append(world.session(), drafts, user="sarah").replayed
    assert world.history() == [1, 2, 3]


def test_an_exact_resend_without_a_key_is_taken_for_a_retry_for_a_minute() -> None:
    world = World()
    said = [Draft({"role": "user", "content": "yes"})]
    world.app.append(world.session(), said, user="sarah")
    assert world.app.append(world.session(), said).replayed
    world.time.advance(61)
    assert not world.app.append(world.session(), said).replayed
    assert world.history() == [1, 2]


def test_yes_may_be_said_twice_and_the_ids_differ() -> None:
    world = World()
    said = [Draft({"role": "user", "content": "yes"})]
    first = world.app.append(world.session(), said, user="sarah")
    second = world.app.append(world.session(), said, allow_repeat=True)
    assert not second.replayed
    assert first.messages[0].id != second.messages[0].id


def test_fifty_writers_lose_nothing_and_keep_their_order() -> None:
    world = World(clock=SystemClock())
    world.append("begin")

    def write(writer: int) -> None:
        for number in range(10):
            world.append(f"{writer}:{number}", key=f"{writer}-{number}")

    with ThreadPoolExecutor(50) as writers:
        list(writers.map(write, range(50)))
    page, _ = world.app.history.messages(world.session(), limit=1000)
    assert [message.seq for message in page] == list(range(1, 502))
    for writer in range(50):
        own = [text for m in page if (text := str(m.chat["content"])).startswith(f"{writer}:")]
        assert own == [f"{writer}:{number}" for number in range(10)]


def test_a_writer_whom_one_other_came_before_decides_anew_without_another_read() -> None:
    world = World()
    world.append("first")
    reads, theirs = [], [lambda: world.append("theirs", key="theirs")]
    opened = world.sessions.open

    def strike(step: str) -> None:
        if step == "before commit" and theirs:
            theirs.pop()()

    def counted(*given: Any, **named: Any) -> Any:
        reads.append(given)
        return opened(*given, **named)

    world.sessions.open = counted  # type: ignore[method-assign]
    world.sessions.state.faults = strike
    mine = world.append("mine", key="mine")
    assert (mine.messages[0].seq, world.history()) == (3, [1, 2, 3])
    assert world.append("mine", key="mine").replayed
    assert len(reads) == 1 + 1 + 1 + 1  # mine, theirs, the history, the repetition


def test_writers_of_one_process_go_one_after_another_and_never_meet() -> None:
    world = World()
    commits: list[str] = []
    world.sessions.state.faults = commits.append

    def write(writer: int) -> None:
        for number in range(5):
            world.append(f"{writer}-{number}", key=f"{writer}-{number}")

    with ThreadPoolExecutor(20) as writers:
        list(writers.map(write, range(20)))
    assert (len(world.history()), commits.count("before commit")) == (100, 100)


def test_the_pauses_grow_with_losses_and_with_the_length_of_an_attempt_up_to_a_second() -> None:
    for losses, attempt, most in ((1, 0.02, 0.08), (2, 0.02, 0.16), (1, 0.0, 0.02), (20, 0.02, 1.0)):
        pauses = [pause_after(losses, attempt=attempt) for _ in range(50)]
        assert most / 2 <= min(pauses) < max(pauses) <= most


def test_a_writer_that_never_wins_is_told_to_try_again() -> None:
    world = World()

    def beaten(step: str) -> None:
        if step == "before commit":
            raise CommitLost("another writer was first")

    world.sessions.state.faults = beaten
    with pytest.raises(Unavailable) as told:
        world.append("hello")
    assert told.value.retryable
    world.sessions.state.faults = lambda _: None
    with pytest.raises(NotFound):
        world.history()


def test_an_append_to_an_unknown_session_needs_a_user() -> None:
    with pytest.raises(NotFound):
        World().append("hello", user=None)


def test_naming_another_user_is_a_conflict() -> None:
    world = World()
    world.append("hello", user="sarah")
    with pytest.raises(Conflict) as refused:
        world.append("hello", user="tom")
    assert refused.value.code == "owner_mismatch"


def test_a_tool_message_needs_its_call() -> None:
    world = World()
    world.append("hello")
    result = Draft({"role": "tool", "content": "42", "tool_call_id": "c1"})
    with pytest.raises(Unprocessable) as refused:
        world.app.append(world.session(), [result])
    assert refused.value.errors[0].field == "messages.0.tool_call_id"
    assert world.history() == [1]


def test_parallel_calls_are_answered_one_append_at_a_time() -> None:
    world = World()
    world.append("hello")
    calls = [{"id": c, "type": "function", "function": {"name": "f", "arguments": "{}"}} for c in ("c1", "c2")]
    world.app.append(world.session(), [Draft({"role": "assistant", "tool_calls": calls})])
    for call in ("c2", "c1"):
        world.app.append(world.session(), [Draft({"role": "tool", "content": "42", "tool_call_id": call})])
    with pytest.raises(Unprocessable):
        world.app.append(world.session(), [Draft({"role": "tool", "content": "again", "tool_call_id": "c1"})])
    assert world.history() == [1, 2, 3, 4]


def test_a_message_over_the_item_limit_is_refused_before_any_write() -> None:
    world = World()
    with pytest.raises(TooLarge):
        world.append("x" * 400_000)
    with pytest.raises(NotFound):
        world.history()


def test_a_system_message_becomes_the_session_s_and_stays_in_the_history() -> None:
    world = World()
    world.append("be brief", role="system")
    world.append("be polite", role="developer")
    world.append("hello")
    assert world.shown() == ["be polite", "hello"]
    assert world.history() == [1, 2, 3]


def test_order_is_by_sequence_number_whatever_the_clients_clocks_say() -> None:
    world = World()
    for number, timestamp in enumerate(["2030-01-01T00:00:00Z", "1990-01-01T00:00:00Z"]):
        world.app.append(
            world.session(), [Draft({"role": "user", "content": str(number)}, timestamp=timestamp)], user="u"
        )
    assert world.shown() == ["0", "1"]


def test_an_append_reopens_an_ended_session() -> None:
    world = World()
    world.append("hello")
    assert world.app.manage.end(world.session()).head.status == "ended"
    assert world.append("again").head.status == "active"


def test_a_new_session_takes_its_tenants_defaults() -> None:
    world = World(strategy="trim", max_tokens=1234)
    world.append("hello")
    assert world.app.manage.read(TENANT.session("s")).head.max_tokens == 1234
