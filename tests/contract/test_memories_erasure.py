"""A user's epoch: what was erased is not there from the next call on, and late writers are lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.errors import CommitLost
from palimpsest.memory.ports import ChunkLine, MemoryCommit, Progress
from palimpsest.memory.record import UserState
from palimpsest.scope import Scope, UserScope
from palimpsest_testing.store import MemoryStore

from tests.contract.memory_builders import Memory, job, pointer, record, version


@pytest.fixture
def memory(memories: MemoryStore, sarah: UserScope) -> Memory:
    """Something of every kind."""
    memory = Memory(memories.memories, sarah)
    memory.commit(
        record(1), record(9), progress=Progress("talk", 4), line=ChunkLine("talk", 1, 4, 4)
    )
    memory.supersede(version(2), version(3))
    memory.commit(removed=(record(9),))
    memory.memories.count_use(sarah, [record(1).id], now=5)
    return memory


def is_empty(memory: Memory) -> bool:
    scope, memories = memory.scope, memory.memories
    return not any(
        (
            memory.ids(record(1), version(2), version(3)),
            memories.tombstones(scope, [record(9).id]),
            memories.pointers(scope, ["employer"]),
            memories.versions(scope, "employer"),
            memories.listed(scope, limit=9).records,
            memories.progress(scope, "talk").version,
            memories.lines(scope, "talk", first=0, last=9),
            memories.uses(scope, [record(1).id]),
        )
    )


def test_what_was_erased_is_invisible_at_once(memories: MemoryStore, memory: Memory) -> None:
    version_before = memory.memories.user(memory.scope).version
    assert not is_empty(memory)
    memory.erase()
    assert is_empty(memory)
    assert memory.memories.user(memory.scope) == UserState(epoch=1, version=version_before + 1)
    assert memories.jobs.get(Scope(memory.scope.tenant), "job_erase_0") == job(
        memory.scope, id="job_erase_0"
    )


def test_erasing_nobody_counts_as_well(memories: MemoryStore, sarah: UserScope) -> None:
    memory = Memory(memories.memories, sarah)
    memory.erase()
    memory.erase()
    assert memory.memories.user(sarah) == UserState(epoch=2, version=2)


def test_of_two_erasures_at_one_epoch_one_is_lost(memories: MemoryStore, memory: Memory) -> None:
    memory.erase()
    with pytest.raises(CommitLost):
        memory.memories.erase(memory.scope, epoch=0, job=job(memory.scope, id="job_second"))
    assert memory.memories.user(memory.scope).epoch == 1
    assert memories.jobs.get(Scope(memory.scope.tenant), "job_second") is None


def test_an_erasure_whose_job_exists_is_lost(memory: Memory) -> None:
    memory.commit(job=job(memory.scope, id="job_erase_0"))
    with pytest.raises(CommitLost):
        memory.erase()
    assert not is_empty(memory)


def test_late_writers_of_an_erased_epoch_are_lost(memory: Memory) -> None:
    memory.erase()
    late = {"new": (record(5),)}, {"changed": (record(1),)}, {"line": ChunkLine("talk", 5, 9, 5)}
    for parts in late:
        with pytest.raises(CommitLost):
            memory.memories.commit(memory.scope, MemoryCommit(epoch=0, **parts))
    assert is_empty(memory)
    assert memory.ids(record(5)) == []


def test_the_same_may_be_stored_again_before_the_old_is_wiped(memory: Memory) -> None:
    memory.erase()
    memory.commit(
        record(1, "likes tea again"), progress=Progress("talk", 2), line=ChunkLine("talk", 1, 2, 2)
    )
    memory.supersede(version(3))
    memory.memories.count_use(memory.scope, [record(1).id], now=6)
    memory.memories.wipe(memory.scope, below_epoch=1)
    assert memory.memories.records(memory.scope, [record(1).id]) == (record(1, "likes tea again"),)
    assert memory.memories.progress(memory.scope, "talk") == Progress("talk", 2, version=1)
    assert memory.memories.lines(memory.scope, "talk", first=0, last=9) == (
        ChunkLine("talk", 1, 2, 2),
    )
    assert memory.memories.pointers(memory.scope, ["employer"]) == {
        "employer": pointer(version(3), at=1)
    }
    assert memory.memories.versions(memory.scope, "employer") == (version(3),)
    assert memory.memories.uses(memory.scope, [record(1).id]) == {record(1).id: (1, 6)}
    assert [one.id for one in memory.memories.listed(memory.scope, limit=9).records] == [
        version(3).id,
        record(1).id,
    ]


def test_wiping_takes_what_is_older_and_counts_it(memory: Memory) -> None:
    assert memory.memories.wipe(memory.scope, below_epoch=0) == 0
    memory.erase()
    memory.commit(record(1), record(5))
    held = 3 + 1 + 2 + 1 + 1 + 1 + 1  # records, pointer, places, uses, mark, progress, line
    assert memory.memories.wipe(memory.scope, below_epoch=1) == held - 1
    assert memory.memories.wipe(memory.scope, below_epoch=1) == 0
    assert memory.ids(record(1), record(5)) == [record(1).id, record(5).id]
    assert memory.memories.user(memory.scope).epoch == 1


@pytest.mark.not_in_process
def test_many_items_are_wiped_page_by_page(memories: MemoryStore, sarah: UserScope) -> None:
    memory = Memory(memories.memories, sarah)
    for start in range(0, 150, 50):
        memory.commit(*(record(number) for number in range(start, start + 50)))
    other = Memory(memories.memories, replace(sarah, user="sara"))
    other.commit(record(1))
    memory.erase()
    assert memory.memories.wipe(sarah, below_epoch=1) == 150
    assert memory.memories.listed(sarah, limit=9).records == ()
    assert other.ids(record(1)) == [record(1).id]
