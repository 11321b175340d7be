"""When a user's records are due: noted by every commit, moved on by whoever walked them, one walk
at a time.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from palimpsest.clock import FakeClock
from palimpsest.engines.places import shard_of
from palimpsest.errors import CommitLost
from palimpsest.memory.expiry import Walk
from palimpsest.memory.ports import MemoryCommit, Reminder
from palimpsest.memory.record import Record
from palimpsest.memory.removal.expire import Expire
from palimpsest.memory.removal.transactions import MOST_PLACES
from palimpsest.scope import Scope, UserScope
from palimpsest_testing.store import MemoryStore

from tests.contract.builders import NOW
from tests.contract.memory_builders import Memory, pointer, record, version

TENANT = Scope("acme")


@pytest.fixture
def memory(memories: MemoryStore, sarah: UserScope) -> Memory:
    return Memory(memories.memories, sarah)


def expiring(number: int, at: int, **more: Any) -> Record:
    return record(number, expires_at=NOW + at, **more)


def due(memories: MemoryStore, at: int, *, limit: int = 25) -> list[str]:
    return [
        scope.user
        for scope, record_id in memories.expiries.due(now=NOW + at, limit=limit)
        if record_id is None
    ]


def unconfirmed(memories: MemoryStore, at: int, *, limit: int = 25) -> list[str | None]:
    return [
        name for _, name in memories.expiries.due(now=NOW + at, limit=limit) if name is not None
    ]


def test_a_record_is_looked_at_until_the_index_confirms_it(
    memories: MemoryStore, memory: Memory
) -> None:
    memory.commit(pending := record(1, index_state="pending"), record(2, index_state="done"))
    assert unconfirmed(memories, 0) == [pending.id]
    first, later = Reminder(), Reminder(due_at=NOW + 45, since=NOW)
    assert memories.expiries.reminder(memory.scope, pending.id) == first
    memories.expiries.remind(memory.scope, pending.id, before=first, to=later)
    assert (unconfirmed(memories, 44), unconfirmed(memories, 45)) == ([], [pending.id])
    with pytest.raises(CommitLost):
        memories.expiries.remind(memory.scope, pending.id, before=first, to=None)
    memory.memories.mark_indexed(memory.scope, record(1, version=7))  # another version
    assert memories.expiries.reminder(memory.scope, pending.id) == later
    memory.memories.mark_indexed(memory.scope, pending)
    assert memories.expiries.reminder(memory.scope, pending.id) is None
    with pytest.raises(CommitLost):
        memories.expiries.remind(memory.scope, pending.id, before=later, to=first)
    assert unconfirmed(memories, 10**6) == []


def test_a_record_that_changes_is_looked_at_from_the_beginning(
    memories: MemoryStore, memory: Memory
) -> None:
    memory.commit(record(1, index_state="pending"))
    first = Reminder()
    memories.expiries.remind(memory.scope, record(1).id, before=first, to=Reminder(NOW + 45, NOW))
    memory.commit(changed=(record(1, index_state="pending"),))
    assert memories.expiries.reminder(memory.scope, record(1).id) == first
    memories.expiries.remind(memory.scope, record(1).id, before=first, to=None)
    assert unconfirmed(memories, 10**6) == []
    assert memory.memories.records(memory.scope, [record(1).id]) == (
        record(1, version=record(1).version + 1),
    )


def test_what_never_expires_is_never_due(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(record(1))
    assert memories.expiries.walk(memory.scope) is None
    assert due(memories, 10**9) == []


def test_the_first_expiry_is_when_a_user_comes_due(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(expiring(1, 50), expiring(2, 40))
    memory.commit(expiring(3, 60))
    assert memories.expiries.walk(memory.scope) == Walk(0, NOW + 40, noted=NOW + 40)
    assert due(memories, 39) == []
    assert due(memories, 40) == ["sarah"]


def test_an_earlier_expiry_makes_a_user_due_earlier(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(expiring(1, 50))
    memory.commit(expiring(2, 20))
    assert memories.expiries.walk(memory.scope) == Walk(0, NOW + 20, noted=NOW + 20)
    assert due(memories, 20) == ["sarah"]
    assert len(memory.ids(record(1), record(2))) == 2


def test_a_change_is_noted_as_well(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(record(1))
    memory.commit(changed=(expiring(1, 30),))
    assert due(memories, 30) == ["sarah"]


def test_a_lost_commit_notes_nothing(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(expiring(1, 50))
    with pytest.raises(CommitLost):
        memory.commit(expiring(1, 20))
    with pytest.raises(CommitLost):
        memory.commit(expiring(2, 20), epoch=7)
    assert memories.expiries.walk(memory.scope) == Walk(0, NOW + 50, noted=NOW + 50)


def test_the_oldest_are_due_first_and_no_more_than_asked_for(memories: MemoryStore) -> None:
    users = [
        scope
        for number in range(320)
        if shard_of((scope := TENANT.user(f"user{number:03}")).partition) == "3"
    ]
    for number, scope in enumerate(reversed(users)):
        Memory(memories.memories, scope).commit(expiring(1, number))
    assert len(users) >= 3
    assert due(memories, 99, limit=2) == [users[-1].user, users[-2].user]
    assert set(due(memories, 99)) == {scope.user for scope in users}


def test_a_walk_goes_on_where_it_was_and_begins_anew(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(expiring(1, 10))
    read = Walk(0, NOW + 10, noted=NOW + 10)
    steps = [
        read.begun(),
        replace(read.begun(), after=record(1).id, earliest=NOW + 99),
        Walk(0, NOW + 99, NOW + 99, 1),
    ]
    before = read
    for step in steps:
        memories.expiries.move(memory.scope, before=before, to=step)
        assert memories.expiries.walk(memory.scope) == step
        before = step
    assert due(memories, 98) == []
    assert due(memories, 99) == ["sarah"]
    memories.expiries.move(memory.scope, before=before, to=None)
    assert memories.expiries.walk(memory.scope) is None
    assert due(memories, 10**9) == []


def test_what_is_written_during_a_walk_is_noted_and_leaves_the_user_due(
    memories: MemoryStore, memory: Memory
) -> None:
    memory.commit(expiring(1, 10))
    begun = Walk(0, NOW + 10, noted=NOW + 10).begun()
    memories.expiries.move(memory.scope, before=Walk(0, NOW + 10, noted=NOW + 10), to=begun)
    memory.commit(expiring(2, 90))
    memory.commit(expiring(3, 80))
    memory.commit(expiring(4, 95))
    assert memories.expiries.walk(memory.scope) == replace(begun, noted=NOW + 80)
    assert due(memories, 10) == ["sarah"]


@pytest.mark.parametrize(
    "other",
    [{"due_at": NOW}, {"noted": None}, {"number": 1}, {"after": "mem_1"}, {"epoch": 1}],
    ids=str,
)
def test_of_two_who_move_a_walk_one_is_lost(
    memories: MemoryStore, memory: Memory, other: dict[str, Any]
) -> None:
    memory.commit(expiring(1, 10))
    walk = Walk(0, NOW + 10, noted=NOW + 10)
    if "after" in other:
        memories.expiries.move(memory.scope, before=walk, to=walk.begun())
        walk = walk.begun()
    with pytest.raises(CommitLost):
        memories.expiries.move(memory.scope, before=replace(walk, **other), to=None)
    assert memories.expiries.walk(memory.scope) == walk


def test_nothing_is_due_of_an_erased_user_until_more_is_stored(
    memories: MemoryStore, memory: Memory
) -> None:
    memory.commit(expiring(1, 10))
    memory.erase()
    assert memories.expiries.walk(memory.scope) is None
    assert due(memories, 99) == []
    assert memories.expiries.records(memory.scope, limit=9).records == ()
    with pytest.raises(CommitLost):
        memories.expiries.move(
            memory.scope, before=Walk(0, NOW + 10, noted=NOW + 10), to=Walk(0, NOW + 5)
        )
    memory.commit(expiring(1, 70))
    assert memories.expiries.walk(memory.scope) == Walk(1, NOW + 70, noted=NOW + 70)


def test_nobody_is_nobody(memories: MemoryStore, sarah: UserScope) -> None:
    assert memories.expiries.walk(sarah) is None
    assert memories.expiries.records(sarah, limit=9).records == ()
    with pytest.raises(CommitLost):
        memories.expiries.move(sarah, before=Walk(0, NOW), to=None)
    assert memories.memories.user(sarah).version == 0


def test_records_are_walked_by_id_in_pages(memories: MemoryStore, memory: Memory) -> None:
    memory.commit(*(record(number) for number in (3, 1, 5)), version(2), version(4))
    assert [found.id for found in memories.expiries.records(memory.scope, limit=9).records] == [
        record(number).id for number in range(1, 6)
    ]
    found: list[str] = []
    after = None
    while True:
        page = memories.expiries.records(memory.scope, limit=2, after=after)
        assert len(page.records) <= 2
        found += [one.id for one in page.records]
        after = page.after
        if after is None:
            break
    assert found == [record(number).id for number in range(1, 6)]


def test_records_that_an_erasure_left_count_for_no_page(
    memories: MemoryStore, memory: Memory
) -> None:
    memory.commit(*(record(number) for number in range(4)))
    memory.erase()
    memory.commit(record(7))
    page = memories.expiries.records(memory.scope, limit=2)
    found = list(page.records)
    while page.after is not None:
        page = memories.expiries.records(memory.scope, limit=2, after=page.after)
        found += page.records
    assert found == [record(7)]


def test_times_that_a_record_was_said_are_removed_while_it_stays(memory: Memory) -> None:
    said = version(1)
    again = [replace(version(number), id=said.id) for number in (3, 5)]
    memory.supersede(said)
    memory.commit(said=again)
    commit = MemoryCommit(epoch=0, removed_places=(said, again[0]), pointers=(pointer(said, at=1),))
    assert memory.memories.room(commit) == 100 - (1 + 2 + 1)
    memory.memories.commit(memory.scope, commit)
    assert memory.memories.versions(memory.scope, "employer") == (again[1],)
    assert memory.ids(said) == [said.id]


@pytest.mark.not_in_process
def test_the_sweep_removes_what_has_expired_and_leaves_the_rest_due(
    memories: MemoryStore, memory: Memory
) -> None:
    chain = [version(number, f"works at {number}", expires_at=NOW + 10) for number in (1, 2)]
    often = [replace(version(number), id=chain[1].id) for number in range(3, MOST_PLACES + 3)]
    memory.supersede(*chain)
    for start in range(0, len(often), 40):
        memory.commit(said=often[start : start + 40])
    memory.commit(expiring(70, 10), expiring(71, 50), record(72))
    expire = Expire(
        memories.memories, memories.expiries, FakeClock(datetime.fromtimestamp(NOW + 10, UTC))
    )
    assert expire() == 5 + MOST_PLACES + 1
    assert memory.ids(*chain, *(record(number) for number in (70, 71, 72))) == [
        record(71).id,
        record(72).id,
    ]
    assert memory.memories.versions(memory.scope, "employer") == ()
    assert set(memory.memories.tombstones(memory.scope, [chain[0].id, record(70).id])) == {
        chain[0].id,
        record(70).id,
    }
    assert memory.memories.pointers(memory.scope, ["employer"])["employer"].record is None
    walk = memories.expiries.walk(memory.scope)
    assert walk is not None
    assert walk.due_at == NOW + 50
    assert expire() == 0


@pytest.mark.not_in_process
def test_of_many_writers_at_once_the_earliest_expiry_is_noted(
    memories: MemoryStore, memory: Memory
) -> None:
    def write(number: int) -> None:
        for _ in range(50):
            try:
                memory.commit(expiring(number, 100 - number), epoch=0)
            except CommitLost:
                continue
            return

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(memory.ids(*(record(number) for number in range(6)))) == 6
    assert memories.expiries.walk(memory.scope) == Walk(0, NOW + 95, noted=NOW + 95)
