"""What has expired leaves by the sweep: bounded, topic by topic, and never what lives on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.clock import seconds
from palimpsest.errors import CommitLost, NotFound
from palimpsest.jobs.job import armed
from palimpsest.memory.ports import MemoryCommit
from palimpsest.memory.records import Record, Source
from palimpsest.memory.removal.expire import A_ROUND, AT_ONCE, Expire
from palimpsest.memory.removal.topic import MOST_PLACES
from palimpsest.workers.sweep import Sweep

from tests.unit.memory.memory_world import DAY, SARAH, TENANT, MemoryWorld, fact, message

YEAR = 365 * DAY


class Expiring(MemoryWorld):
    """Long-term memory with the sweep over it; `on` holds what happens just before a write of that name."""

    def __init__(self) -> None:
        self.on: dict[str, Callable[[], object]] = {}
        super().__init__(faults=self._happens)
        self.expire = Expire(self.memories, self.expiries, self.time)

    def _happens(self, step: str) -> None:
        if (happening := self.on.pop(step, None)) is not None:
            happening()

    def notes(self, count: int, *, start: int = 0) -> None:
        """So many facts without a topic."""
        for first in range(start, start + count, 30):
            some = range(first, min(first + 30, start + count))
            self.remember(SARAH, [fact(f"likes tea number {number}", topic=None) for number in some])

    def stored(self) -> list[Record]:
        return list(self.memories.listed(SARAH, limit=10_000).records)

    def erase(self) -> None:
        epoch = self.memories.user(SARAH).epoch
        job = armed(tenant="acme", kind="extract", session="s", first=epoch, last=epoch, now=0)
        self.memories.erase(SARAH, epoch=epoch, job=job)

    def due_in(self) -> int | None:
        walk = self.expiries.walk(SARAH)
        return None if walk is None else walk.due_at - seconds(self.time.now())


@pytest.fixture
def world() -> Expiring:
    return Expiring()


def test_what_has_expired_leaves_and_what_has_not_stays(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(100 * DAY)
    world.say("likes cats", topic=None)
    world.time.advance(265 * DAY)
    assert world.expire() == 2
    assert [record.content for record in world.stored()] == ["likes cats"]
    assert world.due_in() == 100 * DAY


def test_nothing_is_looked_at_before_it_is_due(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR - 1)
    assert world.expire() == 0
    assert len(world.stored()) == 1


def test_a_user_of_whom_nothing_more_can_expire_is_never_due_again(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.expire()
    assert (world.stored(), world.due_in()) == ([], None)
    world.say("likes cats", topic=None)
    assert world.due_in() == YEAR


def test_a_topics_versions_leave_together(world: Expiring) -> None:
    old = world.say("works at A").record
    world.time.advance(200 * DAY)
    world.say("works at B")
    world.time.advance(200 * DAY)
    world.expire()
    assert [line[1] for line in world.history(old)] == ["works at B", "works at A"]
    world.time.advance(165 * DAY)
    world.expire()
    assert world.stored() == []
    assert world.memories.versions(SARAH, "employer") == ()
    assert world.due_in() is None


def test_a_confirmed_fact_is_kept_with_what_it_superseded(world: Expiring) -> None:
    world.say("works at A")
    world.say("works at B")
    for _ in range(3):
        world.time.advance(300 * DAY)
        world.say("works at B")
        world.expire()
    assert len(world.stored()) == 2
    assert world.current() == ["works at B"]
    world.time.advance(YEAR)
    world.expire()
    world.expire()
    assert world.stored() == []


def test_a_confirmation_during_the_removal_wins(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["before commit memories"] = lambda: world.say("likes tea", topic=None)
    world.expire()
    assert world.current() == ["likes tea"]
    world.expire()
    assert world.current() == ["likes tea"]
    assert world.due_in() == YEAR


def test_a_new_statement_during_the_removal_of_its_topic_wins(world: Expiring) -> None:
    world.say("works at A")
    world.time.advance(YEAR)
    world.on["before commit memories"] = lambda: world.say("works at B")
    world.expire()
    world.expire()
    assert world.current() == ["works at B"]


def test_without_a_term_nothing_expires(world: Expiring) -> None:
    world.keep_for(None)
    world.say("likes tea", topic=None)
    world.time.advance(100 * YEAR)
    assert world.expire() == 0
    assert world.current() == ["likes tea"]


def test_tasks_do_not_expire_by_time(world: Expiring) -> None:
    world.say("book a table", type="task", topic=None)
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.expire()
    assert world.current() == ["book a table"]
    assert world.due_in() is None


def test_old_versions_of_a_topic_that_never_expires_leave_once_its_newest_was_deleted(world: Expiring) -> None:
    world.say("works at A")
    world.keep_for(None)
    newest = world.say("works at B").record
    world.time.advance(YEAR)
    world.expire()
    assert len(world.stored()) == 2
    world.manage.delete(SARAH, newest.id)
    world.time.advance(30 * DAY)
    world.expire()
    assert (world.stored(), world.due_in()) == ([], None)


def test_a_shorter_term_makes_what_is_said_from_then_on_leave_earlier(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.keep_for(10)
    world.say("likes cats", topic=None)
    world.time.advance(10 * DAY)
    world.expire()
    assert world.current() == ["likes tea"]
    assert world.due_in() == 355 * DAY


def test_expired_text_is_never_shown_before_the_sweep_comes(world: Expiring) -> None:
    tea = world.say("likes tea", topic=None).record
    job = world.say("works at A").record
    world.time.advance(YEAR)
    assert world.current() == []
    for record in (tea, job):
        with pytest.raises(NotFound):
            world.manage.read(SARAH, record.id)
    assert len(world.stored()) == 2


def test_what_expired_may_be_said_again_and_its_old_messages_bring_nothing_back(world: Expiring) -> None:
    world.say("likes tea", topic=None, source=message(1))
    world.say("works at A", source=message(1))
    world.time.advance(YEAR)
    world.expire()
    removed = world.memories.removed(SARAH, [fact_id(world, "likes tea")])
    assert [mark.sources for mark in removed.values()] == [(Source("talk", ("m1",), (1,)),)]
    assert world.say("works at A", source=message(9)).outcome == "created"
    assert world.say("likes tea", topic=None, source=message(9)).outcome == "created"
    assert sorted(world.current()) == ["likes tea", "works at A"]


def fact_id(world: Expiring, content: str) -> str:
    return world.remember.prepared(SARAH, [fact(content, topic=None)]).made[0].record.id


def test_an_extraction_that_was_decided_before_the_expiry_is_decided_anew(world: Expiring) -> None:
    world.say("works at A")
    world.time.advance(YEAR)
    prepared = world.remember.prepared(SARAH, [fact("works at A", source=message(9))])
    world.expire()
    with pytest.raises(CommitLost):
        world.memories.commit(SARAH, prepared.commit)
    assert world.stored() == []
    assert world.say("works at A", source=message(9)).outcome == "created"


def test_an_erasure_during_the_round_ends_it(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["before commit memories"] = world.erase
    assert world.expire() == 0
    assert world.due_in() is None
    world.say("likes tea", topic=None)
    assert world.expire() == 0
    assert world.current() == ["likes tea"]
    assert world.memories.removed(SARAH, [world.stored()[0].id]) == {}


def test_what_was_erased_before_the_walk_moves_on_stays_erased(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["after commit memories"] = world.erase
    world.expire()
    assert world.due_in() is None
    assert world.memories.user(SARAH).epoch == 1


def test_a_round_is_bounded_and_the_next_goes_on(world: Expiring) -> None:
    world.keep_for(None)
    world.notes(AT_ONCE)
    world.keep_for(1)
    world.notes(2 * AT_ONCE, start=1000)
    world.time.advance(DAY)
    rounds = [world.expire() for _ in range(4)]
    assert rounds == [AT_ONCE, AT_ONCE, AT_ONCE, 0]
    assert len(world.stored()) == AT_ONCE
    assert world.due_in() is None


def test_one_round_takes_of_all_users_together_no_more_than_its_bound(world: Expiring) -> None:
    facts = [fact(f"likes tea number {number}", topic=None) for number in range(AT_ONCE)]
    for number in range(13):
        world.remember(TENANT.user(f"user{number}"), facts)
    world.time.advance(YEAR)
    rounds = [world.expire() for _ in range(3)]
    assert rounds[0] == A_ROUND
    assert sum(rounds) == 13 * AT_ONCE
    for number in range(13):
        assert world.memories.listed(TENANT.user(f"user{number}"), limit=200).records == ()


def test_what_is_written_behind_a_walk_is_due_in_its_time(world: Expiring) -> None:
    world.keep_for(1)
    world.notes(AT_ONCE + 50)
    world.time.advance(DAY)
    world.expire()
    world.keep_for(3)
    world.notes(30, start=5000)
    world.expire()
    world.expire()
    assert len(world.stored()) == 30
    assert world.due_in() == 3 * DAY
    world.time.advance(3 * DAY)
    world.expire()
    assert world.stored() == []


def test_what_is_written_after_its_part_was_read_is_due_in_its_time(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["before commit memories"] = lambda: world.say("likes cats", topic=None)
    world.expire()
    assert world.current() == ["likes cats"]
    assert world.due_in() == YEAR


def test_the_next_expiry_of_all_parts_is_the_earliest(world: Expiring) -> None:
    now = world.now
    days = [2, 1, *[3] * AT_ONCE]
    records = [
        Record(f"mem_{n:03}", "fact", "likes tea", now, now, expires_at=now // 1000 + each * DAY)
        for n, each in enumerate(days)
    ]
    for start in range(0, len(records), 50):
        world.memories.commit(SARAH, MemoryCommit(epoch=0, new=records[start : start + 50]))
    world.time.advance(DAY)
    assert [world.expire(), world.expire(), world.expire()] == [AT_ONCE, 2, 0]
    assert len(world.stored()) == AT_ONCE + 1
    assert world.due_in() == DAY


def test_a_round_that_was_overtaken_does_not_end_the_others_walk(world: Expiring) -> None:
    def overtake() -> None:
        world.keep_for(2)
        world.notes(AT_ONCE + 50)
        world.expire()

    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["after commit memories"] = overtake
    world.expire()
    world.expire()
    assert world.due_in() == 2 * DAY


def test_of_two_rounds_at_once_one_moves_the_walk(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    world.on["before commit memories"] = world.expire
    assert world.expire() == 0
    assert (world.stored(), world.due_in()) == ([], None)


def test_a_topic_larger_than_a_transaction_leaves_whole(world: Expiring) -> None:
    for number in range(70):
        world.time.advance(1)
        world.say(f"works at {number}")
    world.time.advance(YEAR)
    world.expire()
    assert world.stored() == []
    assert world.memories.versions(SARAH, "employer") == ()
    assert world.memories.pointers(SARAH, ["employer"])["employer"].record is None


@pytest.mark.parametrize("more", [0, 1, 99])
def test_what_was_said_very_often_leaves_no_trace_in_its_topic(world: Expiring, more: int) -> None:
    for number in range(MOST_PLACES + more):
        world.time.advance(1)
        world.say("works at A", source=message(number + 1))
    assert len(world.memories.versions(SARAH, "employer")) == MOST_PLACES + more
    world.time.advance(YEAR)
    world.expire()
    assert world.stored() == []
    assert world.memories.known["acme", "sarah"].era.places == {}


def test_a_late_worker_of_an_expired_record_does_nothing(world: Expiring) -> None:
    record = world.say("likes tea", topic=None).record
    world.time.advance(YEAR)
    world.expire()
    world.memories.indexed(SARAH, record)
    late: dict[str, Any] = {"changed": (replace(record, expires_at=None),)}
    with pytest.raises(CommitLost):
        world.memories.commit(SARAH, MemoryCommit(epoch=0, **late))
    assert world.stored() == []


def test_the_sweep_takes_memories_along_if_there_are_any(world: Expiring) -> None:
    world.say("likes tea", topic=None)
    world.time.advance(YEAR)
    assert Sweep(world.sessions, world.jobs, world.time)() == 0
    assert len(world.stored()) == 1
    assert Sweep(world.sessions, world.jobs, world.time, expire=world.expire)() == 1
    assert world.stored() == []
