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
from palimpsest.memory.record import Record, Source
from palimpsest.memory.removal.expire import A_ROUND, AT_ONCE, Expire
from palimpsest.memory.removal.transactions import MOST_PLACES

from tests.service import DAY, SARAH, TENANT
from tests.unit.memory.service import MemoryService, fact, message

YEAR = 365 * DAY


class Expiring(MemoryService):
    """Long-term memory with the sweep over it; `on` holds what happens just before a write of that
    name.
    """

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
            self.remember(
                SARAH, [fact(f"likes tea number {number}", topic=None) for number in some]
            )

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
def service() -> Expiring:
    return Expiring()


def test_what_has_expired_leaves_and_what_has_not_stays(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(100 * DAY)
    service.say("likes cats", topic=None)
    service.time.advance(265 * DAY)
    assert service.expire() == 2
    assert [record.content for record in service.stored()] == ["likes cats"]
    assert service.due_in() == 100 * DAY


def test_nothing_is_looked_at_before_it_is_due(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR - 1)
    assert service.expire() == 0
    assert len(service.stored()) == 1


def test_a_user_of_whom_nothing_more_can_expire_is_never_due_again(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.expire()
    assert (service.stored(), service.due_in()) == ([], None)
    service.say("likes cats", topic=None)
    assert service.due_in() == YEAR


def test_a_topics_versions_leave_together(service: Expiring) -> None:
    old = service.say("works at A").record
    service.time.advance(200 * DAY)
    service.say("works at B")
    service.time.advance(200 * DAY)
    service.expire()
    assert [line[1] for line in service.history(old)] == ["works at B", "works at A"]
    service.time.advance(165 * DAY)
    service.expire()
    assert service.stored() == []
    assert service.memories.versions(SARAH, "employer") == ()
    assert service.due_in() is None


def test_a_confirmed_fact_is_kept_with_what_it_superseded(service: Expiring) -> None:
    service.say("works at A")
    service.say("works at B")
    for _ in range(3):
        service.time.advance(300 * DAY)
        service.say("works at B")
        service.expire()
    assert len(service.stored()) == 2
    assert service.current() == ["works at B"]
    service.time.advance(YEAR)
    service.expire()
    service.expire()
    assert service.stored() == []


def test_a_confirmation_during_the_removal_wins(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["before commit memories"] = lambda: service.say("likes tea", topic=None)
    service.expire()
    assert service.current() == ["likes tea"]
    service.expire()
    assert service.current() == ["likes tea"]
    assert service.due_in() == YEAR


def test_a_new_statement_during_the_removal_of_its_topic_wins(service: Expiring) -> None:
    service.say("works at A")
    service.time.advance(YEAR)
    service.on["before commit memories"] = lambda: service.say("works at B")
    service.expire()
    service.expire()
    assert service.current() == ["works at B"]


def test_without_a_term_nothing_expires(service: Expiring) -> None:
    service.keep_for(None)
    service.say("likes tea", topic=None)
    service.time.advance(100 * YEAR)
    assert service.expire() == 0
    assert service.current() == ["likes tea"]


def test_tasks_do_not_expire_by_time(service: Expiring) -> None:
    service.say("book a table", type="task", topic=None)
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.expire()
    assert service.current() == ["book a table"]
    assert service.due_in() is None


def test_old_versions_of_a_topic_that_never_expires_leave_once_its_newest_was_deleted(
    service: Expiring,
) -> None:
    service.say("works at A")
    service.keep_for(None)
    newest = service.say("works at B").record
    service.time.advance(YEAR)
    service.expire()
    assert len(service.stored()) == 2
    service.manage.delete(SARAH, newest.id)
    service.time.advance(30 * DAY)
    service.expire()
    assert (service.stored(), service.due_in()) == ([], None)


def test_a_shorter_term_makes_what_is_said_from_then_on_leave_earlier(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.keep_for(10)
    service.say("likes cats", topic=None)
    service.time.advance(10 * DAY)
    service.expire()
    assert service.current() == ["likes tea"]
    assert service.due_in() == 355 * DAY


def test_expired_text_is_never_shown_before_the_sweep_comes(service: Expiring) -> None:
    tea = service.say("likes tea", topic=None).record
    job = service.say("works at A").record
    service.time.advance(YEAR)
    assert service.current() == []
    for record in (tea, job):
        with pytest.raises(NotFound):
            service.manage.read(SARAH, record.id)
    assert len(service.stored()) == 2


def test_what_expired_may_be_said_again_and_its_old_messages_bring_nothing_back(
    service: Expiring,
) -> None:
    service.say("likes tea", topic=None, source=message(1))
    service.say("works at A", source=message(1))
    service.time.advance(YEAR)
    service.expire()
    removed = service.memories.tombstones(SARAH, [fact_id(service, "likes tea")])
    assert [mark.sources for mark in removed.values()] == [(Source("talk", ("m1",), (1,)),)]
    assert service.say("works at A", source=message(9)).outcome == "created"
    assert service.say("likes tea", topic=None, source=message(9)).outcome == "created"
    assert sorted(service.current()) == ["likes tea", "works at A"]


def fact_id(service: Expiring, content: str) -> str:
    return service.remember.prepared(SARAH, [fact(content, topic=None)]).made[0].record.id


def test_an_extraction_that_was_decided_before_the_expiry_is_decided_anew(
    service: Expiring,
) -> None:
    service.say("works at A")
    service.time.advance(YEAR)
    prepared = service.remember.prepared(SARAH, [fact("works at A", source=message(9))])
    service.expire()
    with pytest.raises(CommitLost):
        service.memories.commit(SARAH, prepared.commit)
    assert service.stored() == []
    assert service.say("works at A", source=message(9)).outcome == "created"


def test_an_erasure_during_the_round_ends_it(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["before commit memories"] = service.erase
    assert service.expire() == 0
    assert service.due_in() is None
    service.say("likes tea", topic=None)
    assert service.expire() == 0
    assert service.current() == ["likes tea"]
    assert service.memories.tombstones(SARAH, [service.stored()[0].id]) == {}


def test_what_was_erased_before_the_walk_moves_on_stays_erased(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["after commit memories"] = service.erase
    service.expire()
    assert service.due_in() is None
    assert service.memories.user(SARAH).epoch == 1


def test_a_round_is_bounded_and_the_next_goes_on(service: Expiring) -> None:
    service.keep_for(None)
    service.notes(AT_ONCE)
    service.keep_for(1)
    service.notes(2 * AT_ONCE, start=1000)
    service.time.advance(DAY)
    rounds = [service.expire() for _ in range(4)]
    assert rounds == [AT_ONCE, AT_ONCE, AT_ONCE, 0]
    assert len(service.stored()) == AT_ONCE
    assert service.due_in() is None


def test_one_round_takes_of_all_users_together_no_more_than_its_bound(service: Expiring) -> None:
    facts = [fact(f"likes tea number {number}", topic=None) for number in range(AT_ONCE)]
    for number in range(13):
        service.remember(TENANT.user(f"user{number}"), facts)
    service.time.advance(YEAR)
    rounds = [service.expire() for _ in range(3)]
    assert rounds[0] == A_ROUND
    assert sum(rounds) == 13 * AT_ONCE
    for number in range(13):
        assert service.memories.listed(TENANT.user(f"user{number}"), limit=200).records == ()


def test_what_is_written_behind_a_walk_is_due_in_its_time(service: Expiring) -> None:
    service.keep_for(1)
    service.notes(AT_ONCE + 50)
    service.time.advance(DAY)
    service.expire()
    service.keep_for(3)
    service.notes(30, start=5000)
    service.expire()
    service.expire()
    assert len(service.stored()) == 30
    assert service.due_in() == 3 * DAY
    service.time.advance(3 * DAY)
    service.expire()
    assert service.stored() == []


def test_what_is_written_after_its_part_was_read_is_due_in_its_time(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["before commit memories"] = lambda: service.say("likes cats", topic=None)
    service.expire()
    assert service.current() == ["likes cats"]
    assert service.due_in() == YEAR


def test_the_next_expiry_of_all_parts_is_the_earliest(service: Expiring) -> None:
    now = service.now
    days = [2, 1, *[3] * AT_ONCE]
    records = [
        Record(f"mem_{n:03}", "fact", "likes tea", now, now, expires_at=now // 1000 + each * DAY)
        for n, each in enumerate(days)
    ]
    for start in range(0, len(records), 50):
        service.memories.commit(SARAH, MemoryCommit(epoch=0, new=records[start : start + 50]))
    service.time.advance(DAY)
    assert [service.expire(), service.expire(), service.expire()] == [AT_ONCE, 2, 0]
    assert len(service.stored()) == AT_ONCE + 1
    assert service.due_in() == DAY


def test_a_round_that_was_overtaken_does_not_end_the_others_walk(service: Expiring) -> None:
    def overtake() -> None:
        service.keep_for(2)
        service.notes(AT_ONCE + 50)
        service.expire()

    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["after commit memories"] = overtake
    service.expire()
    service.expire()
    assert service.due_in() == 2 * DAY


def test_of_two_rounds_at_once_one_moves_the_walk(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    service.on["before commit memories"] = service.expire
    assert service.expire() == 0
    assert (service.stored(), service.due_in()) == ([], None)


def test_a_topic_larger_than_a_transaction_leaves_whole(service: Expiring) -> None:
    for number in range(70):
        service.time.advance(1)
        service.say(f"works at {number}")
    service.time.advance(YEAR)
    service.expire()
    assert service.stored() == []
    assert service.memories.versions(SARAH, "employer") == ()
    assert service.memories.pointers(SARAH, ["employer"])["employer"].record is None


@pytest.mark.parametrize("more", [0, 1, 99])
def test_what_was_said_very_often_leaves_no_trace_in_its_topic(
    service: Expiring, more: int
) -> None:
    for number in range(MOST_PLACES + more):
        service.time.advance(1)
        service.say("works at A", source=message(number + 1))
    assert len(service.memories.versions(SARAH, "employer")) == MOST_PLACES + more
    service.time.advance(YEAR)
    service.expire()
    assert service.stored() == []
    assert service.memories.known["acme", "sarah"].era.places == {}


def test_a_late_worker_of_an_expired_record_does_nothing(service: Expiring) -> None:
    record = service.say("likes tea", topic=None).record
    service.time.advance(YEAR)
    service.expire()
    service.memories.mark_indexed(SARAH, record)
    late: dict[str, Any] = {"changed": (replace(record, expires_at=None),)}
    with pytest.raises(CommitLost):
        service.memories.commit(SARAH, MemoryCommit(epoch=0, **late))
    assert service.stored() == []


def test_the_sweep_takes_memories_along(service: Expiring) -> None:
    service.say("likes tea", topic=None)
    service.time.advance(YEAR)
    assert len(service.stored()) == 1
    assert service.sweep_all() == 2  # what reminds of its index, and the walk through what expires
    assert service.stored() == []
