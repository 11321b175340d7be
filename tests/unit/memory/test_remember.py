from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.clock import SystemClock
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.memory.manage import Change
from palimpsest.memory.records import Record
from palimpsest.memory.statements import Remembered, Statement

from tests.contract.memory_builders import job
from tests.unit.memory.memory_world import DAY, SARAH, TENANT, MemoryWorld, fact, message


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


def outcomes(made: tuple[Remembered, ...]) -> list[str]:
    return [one.outcome for one in made]


def stored(world: MemoryWorld) -> list[Record]:
    return list(world.memories.listed(SARAH, limit=999).records)


# What is stored


def test_a_statement_is_stored_with_all_it_says(world: MemoryWorld) -> None:
    said = fact(
        "works at A", subject="Sarah", keywords=("job",), queries=("Where?",), importance=0.8, confidence=0.7,
        source=message(3), agent="hr", metadata={"a": 1}, valid_from=world.now - 5, method="model", prompt_hash="f" * 8,
    )  # fmt: skip
    (one,) = world.remember(SARAH, [said])
    (record,) = world.memories.records(SARAH, [one.record.id])
    assert record == one.record
    assert (record.topic_key, record.source, record.valid_from, record.created_at) == (
        "employer", message(3), world.now - 5, world.now,
    )  # fmt: skip
    for name in (
        "content",
        "subject",
        "keywords",
        "queries",
        "importance",
        "confidence",
        "agent",
        "metadata",
        "method",
    ):
        assert getattr(record, name) == getattr(said, name)


def test_a_batch_has_an_outcome_for_each_in_order(world: MemoryWorld) -> None:
    world.say("works at A")
    batch = [
        fact("Works at A."), fact("works at B"), fact("likes tea", topic=None), fact("likes tea", topic=None),
        Statement("event", "moved house"),
    ]  # fmt: skip
    assert outcomes(world.remember(SARAH, batch)) == ["unchanged", "superseded", "created", "unchanged", "created"]
    assert sorted(world.current()) == ["likes tea", "moved house", "works at B"]


def test_the_same_batch_twice_changes_nothing(world: MemoryWorld) -> None:
    batch = [
        fact("works at A", source=message(1), valid_from=10), fact("works at B", source=message(2), valid_from=20),
        fact("likes tea", topic=None, source=message(1), valid_from=10),
        Statement("event", "ran 5 km", valid_from=10),
    ]  # fmt: skip
    first = world.remember(SARAH, batch)
    version = world.memories.user(SARAH).version
    world.time.advance(60)
    again = world.remember(SARAH, batch)
    assert outcomes(again) == ["unchanged"] * 4
    assert [one.record.id for one in again] == [one.record.id for one in first]
    assert (len(stored(world)), world.memories.user(SARAH).version) == (4, version)


def test_thirty_statements_that_each_supersede_are_all_kept(world: MemoryWorld) -> None:
    for company in ("A", "B"):
        world.remember(SARAH, [fact(f"{company} {number}", topic=f"topic {number}") for number in range(30)])
    assert sorted(world.current()) == sorted(f"B {number}" for number in range(30))
    made = world.remember(SARAH, [fact(f"C {number}", topic=f"topic {number}") for number in range(30)])
    assert [one.displaced.content for one in made if one.displaced] == [f"B {number}" for number in range(30)]


def test_what_is_displaced_is_told_to_the_index(world: MemoryWorld) -> None:
    first = world.say("works at A").record
    world.memories.indexed(SARAH, first)
    world.say("works at B")
    (displaced,) = world.memories.records(SARAH, [first.id])
    assert (displaced.index_state, displaced.version) == ("pending", first.version + 1)


# Works at A, later at B: only the newest is current, whatever happens on the way


def test_a_fact_that_is_corrected_twice_is_current_once(world: MemoryWorld) -> None:
    for company in ("A", "B", "C"):
        one = world.say(f"works at {company}")
        world.time.advance(DAY)
    assert world.current() == ["works at C"]
    assert world.history(one.record) == [(3, "works at C", True), (2, "works at B", False), (1, "works at A", False)]


def test_a_fact_that_is_reworded_is_the_same_record() -> None:
    world = MemoryWorld(near=lambda one, other: one.content.split()[-1] == other.content.split()[-1])
    first = world.say("works at B")
    assert world.say("is employed by B") == Remembered(first.record, "unchanged")
    assert world.current() == ["works at B"]


def test_a_return_to_an_earlier_value_is_a_version_of_its_own(world: MemoryWorld) -> None:
    for company in ("A", "B", "A"):
        one = world.say(f"works at {company}")
    assert one.outcome == "superseded"
    assert world.history(one.record) == [(3, "works at A", True), (2, "works at B", False), (1, "works at A", False)]


def test_what_was_said_earlier_and_arrives_late_goes_behind(world: MemoryWorld) -> None:
    newest = world.say("works at B", valid_from=20, source=message(2))
    late = world.say("works at A", valid_from=10, source=message(1))
    assert late.outcome == "created"
    assert world.current() == ["works at B"]
    assert world.history(newest.record) == [(2, "works at B", True), (1, "works at A", False)]


def test_a_value_that_was_said_again_before_a_late_correction_is_still_the_newest(world: MemoryWorld) -> None:
    world.say("works at A", valid_from=10)
    world.say("works at A", valid_from=30)
    late = world.say("works at B", valid_from=20)
    assert world.current() == ["works at A"]
    assert world.history(late.record) == [(3, "works at A", True), (2, "works at B", False), (1, "works at A", False)]


def test_messages_that_share_one_time_are_told_apart_by_their_numbers(world: MemoryWorld) -> None:
    told = [fact(f"works at {c}", valid_from=10, source=message(seq)) for seq, c in enumerate("ABA", 1)]
    made = [world.remember(SARAH, [statement])[0] for statement in told]
    assert [one.outcome for one in made] == ["created", "superseded", "superseded"]
    assert world.current() == ["works at A"]
    assert [content for _, content, _ in world.history(made[1].record)] == ["works at A", "works at B", "works at A"]
    assert outcomes(world.remember(SARAH, told)) == ["unchanged"] * 3
    assert world.current() == ["works at A"]


def test_a_record_that_is_current_again_is_told_to_the_index(world: MemoryWorld) -> None:
    for seq, company in enumerate("ABA", 1):
        one = world.say(f"works at {company}", valid_from=10, source=message(seq))
        for record in world.memories.records(SARAH, [one.record.id]):
            assert record.index_state == "pending"
            world.memories.indexed(SARAH, record)


facts = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 3), st.sampled_from("ABC")), min_size=1, max_size=7,
    unique_by=lambda fact: fact[:2],
)  # fmt: skip


@given(st.data(), facts)
def test_any_order_and_any_batches_give_the_same_chain(data: st.DataObject, told: list[tuple[int, int, str]]) -> None:
    statements = [fact(f"works at {company}", valid_from=at, source=message(seq)) for at, seq, company in told]
    statements.sort(key=lambda statement: (statement.valid_from or 0, statement.source.seqs))
    in_order, shuffled = MemoryWorld(), MemoryWorld()
    in_order.remember(SARAH, statements)
    left = list(data.draw(st.permutations(statements)))
    while left:
        size = data.draw(st.integers(1, len(left)))
        shuffled.remember(SARAH, left[:size])
        left = left[size:]
    assert shuffled.current() == in_order.current() == [statements[-1].content]
    assert _chain(shuffled) == _chain(in_order)


def _chain(world: MemoryWorld) -> list[tuple[int, str, int, int | None]]:
    pointer = world.memories.pointers(SARAH, ["employer"])["employer"]
    chain = world.manage.history(SARAH, str(pointer.record))
    return [(v.number, v.record.content, v.record.valid_from, v.valid_to) for v in chain]


# Time


def test_a_clients_clock_a_year_ahead_does_not_hold_a_topic(world: MemoryWorld) -> None:
    ahead = world.say("works at A", valid_from=world.now + 365 * DAY * 1000)
    assert ahead.record.valid_from == world.now
    world.time.advance(1)
    assert world.say("works at B").outcome == "superseded"
    assert world.current() == ["works at B"]


def test_what_arrives_in_the_same_millisecond_still_comes_after(world: MemoryWorld) -> None:
    for company in ("A", "B", "A", "C"):
        world.say(f"works at {company}")
    assert world.current() == ["works at C"]
    world.remember(SARAH, [fact("works at D"), fact("works at E")])
    assert world.current() == ["works at E"]


# Many at once


class Together:
    """Lets no commit through before so many writers have decided on theirs."""

    def __init__(self, writers: int) -> None:
        self._barrier = threading.Barrier(writers, timeout=10)
        self._seen = threading.local()

    def __call__(self, step: str) -> None:
        if step == "before commit memories" and not getattr(self._seen, "once", False):
            self._seen.once = True
            self._barrier.wait()


@pytest.mark.parametrize("dated", [True, False])
def test_eight_identical_saves_at_once_make_one_record_a_fact(*, dated: bool) -> None:
    world = MemoryWorld(faults=Together(8), clock=SystemClock())
    more: dict[str, Any] = {"valid_from": 10, "source": message(1)} if dated else {}
    batch = [fact("works at A", **more), fact("likes tea", topic=None, **more), Statement("task", "call Bob", **more)]
    with ThreadPoolExecutor(8) as writers:
        made = list(writers.map(lambda _: world.remember(SARAH, batch), range(8)))
    assert sorted(record.content for record in stored(world)) == ["call Bob", "likes tea", "works at A"]
    assert sorted(outcomes(one)[0] for one in made) == ["created", *["unchanged"] * 7]
    assert len({one[1].record.id for one in made}) == 1


def test_of_different_values_said_at_once_the_newest_is_current() -> None:
    world = MemoryWorld(faults=Together(6), clock=SystemClock())
    with ThreadPoolExecutor(6) as writers:
        made = list(writers.map(lambda at: world.say(f"works at {at}", valid_from=at), range(6)))
    assert world.current() == ["works at 5"]
    assert [content for _, content, _ in world.history(made[0].record)] == [f"works at {at}" for at in range(5, -1, -1)]


def test_a_writer_who_never_gets_through_is_told_to_try_again() -> None:
    def crowd(step: str) -> None:
        if step == "before commit memories":
            raise CommitLost("Another writer was first.")

    world = MemoryWorld(faults=crowd)
    with pytest.raises(Unavailable):
        world.say("works at A")
    assert stored(world) == []


# Edits and deletions in between


def test_after_a_deletion_the_topic_can_be_spoken_of_again(world: MemoryWorld) -> None:
    first = world.say("works at A", source=message(1))
    world.manage.delete(SARAH, first.record.id)
    again = world.say("works at A", source=message(2))
    assert again.outcome == "created"
    assert world.current() == ["works at A"]


def test_an_extraction_repeated_after_a_deletion_brings_nothing_back(world: MemoryWorld) -> None:
    said = fact("works at A", valid_from=10, source=message(1))
    one = world.remember(SARAH, [said])[0]
    world.manage.delete(SARAH, one.record.id)
    assert set(world.memories.removed(SARAH, [one.record.id])) == {one.record.id}
    world.remember(SARAH, [fact("is employed by A", valid_from=10, source=message(1))])
    assert world.current() == []


def test_old_words_said_again_after_an_edit_are_a_return(world: MemoryWorld) -> None:
    first = world.say("likes tea", topic=None).record
    world.memories.indexed(SARAH, first)
    newer = world.manage.patch(SARAH, first.id, Change(content="likes coffee"))
    again = world.say("likes tea", topic=None)
    assert (again.outcome, again.displaced and again.displaced.id) == ("superseded", newer.id)
    assert world.current() == ["likes tea"]


def test_the_message_that_was_edited_is_not_taken_for_a_return(world: MemoryWorld) -> None:
    said = fact("likes tea", topic=None, valid_from=10, source=message(1))
    first = world.remember(SARAH, [said])[0].record
    world.manage.patch(SARAH, first.id, Change(content="likes coffee"))
    assert outcomes(world.remember(SARAH, [said])) == ["unchanged"]
    assert world.current() == ["likes coffee"]


# Retention


def test_facts_are_kept_for_the_tenants_days_after_they_were_last_said(world: MemoryWorld) -> None:
    world.keep_for(100)
    world.say("works at A")
    world.say("likes tea", topic=None)
    world.time.advance(60 * DAY)
    assert world.say("works at A").outcome == "unchanged"
    assert world.say("likes tea", topic=None).outcome == "unchanged"
    world.time.advance(99 * DAY)
    assert sorted(world.current()) == ["likes tea", "works at A"]
    world.time.advance(DAY)
    assert world.current() == []


def test_what_was_said_again_is_told_to_the_index(world: MemoryWorld) -> None:
    first = world.say("works at A").record
    world.memories.indexed(SARAH, first)
    world.time.advance(60 * DAY)
    world.say("works at A")
    (record,) = world.memories.records(SARAH, [first.id])
    assert (record.index_state, record.expires_at) == ("pending", world.now // 1000 + 365 * DAY)


def test_a_superseded_version_is_not_kept_by_its_old_message(world: MemoryWorld) -> None:
    said = fact("works at A", valid_from=10, source=message(1))
    world.remember(SARAH, [said])
    world.say("works at B")
    world.time.advance(60 * DAY)
    version = world.memories.user(SARAH).version
    world.remember(SARAH, [said])
    assert world.memories.user(SARAH).version == version


def test_without_a_term_nothing_expires(world: MemoryWorld) -> None:
    world.keep_for(None)
    one = world.say("works at A")
    assert one.record.expires_at is None


# Erasure


def test_what_was_decided_before_an_erasure_is_decided_anew_after_it(world: MemoryWorld) -> None:
    world.say("works at A")
    prepared = world.remember.prepared(SARAH, [fact("works at B")])
    world.memories.erase(SARAH, epoch=0, job=job(SARAH))
    with pytest.raises(CommitLost):
        world.memories.commit(SARAH, prepared.commit)
    assert world.current() == []
    assert world.say("works at C").outcome == "created"
    assert world.current() == ["works at C"]


def test_another_users_memory_is_another(world: MemoryWorld) -> None:
    one = world.say("works at A")
    (theirs,) = world.remember(TENANT.user("ana"), [fact("works at A")])
    assert theirs.outcome == "created"
    assert theirs.record.id != one.record.id
