from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from palimpsest.clock import SystemClock
from palimpsest.errors import CommitLost, Conflict
from palimpsest.jobs.job import Job
from palimpsest.memory.ports import ChunkLine, MemoryCommit, Pointer, Progress, Tombstone
from palimpsest.memory.preferences import AtMost
from palimpsest.memory.record import Record, Source, UserState
from palimpsest.retry import until_committed
from palimpsest.scope import Scope, UserScope
from palimpsest_testing.store import MemoryStore

from tests.contract.memory_builders import MOMENT, Memory, job, pointer, record, version

WHOLE = Record(
    id="mem_whole",
    type="instruction",
    content="Reply in German: “kurz”.",
    created_at=MOMENT,
    valid_from=MOMENT - 5,
    subject="Sarah",
    topic_key="language",
    keywords=("german", "brief"),
    queries=("Which language?",),
    importance=0.9,
    confidence=0.75,
    source=Source("talk", ("m1", "m2"), (1, 2), "auf Deutsch, bitte"),
    agent="hr",
    expires_at=1_900_000_000,
    metadata={"a": [1, {"b": None}], "c": True},
    method="model",
    prompt_hash="f" * 16,
    rank=3,
    retention=730,
    draws=("relationship:rel_1", "relationship:rel_2"),
    index_state="pending",
    version=MOMENT,
)
ENDED: dict[str, Any] = {"state": "done", "due_at": None, "result": {"received": 4}}


@pytest.fixture
def memory(memories: MemoryStore, sarah: UserScope) -> Memory:
    return Memory(memories.memories, sarah)


def test_a_record_is_read_back_whole(memory: Memory) -> None:
    memory.commit(WHOLE, record(1))
    assert memory.memories.records(memory.scope, ["mem_whole", record(1).id]) == (WHOLE, record(1))


def test_metadata_that_the_caller_changes_later_is_not_changed(memory: Memory) -> None:
    metadata = {"a": [1]}
    memory.commit(record(1, metadata=metadata))
    metadata["a"].append(2)
    (found,) = memory.memories.records(memory.scope, [record(1).id])
    assert found.metadata == {"a": [1]}


def test_records_come_in_the_order_asked_for_and_what_is_not_there_is_left_out(
    memory: Memory,
) -> None:
    memory.commit(record(1), record(2), record(3))
    assert memory.ids(record(3), record(9), record(1), record(3)) == [record(3).id, record(1).id]
    assert memory.ids() == []


def test_a_hundred_records_are_read_at_once(memory: Memory) -> None:
    many = [record(number) for number in range(100)]
    memory.commit(*many[:50])
    memory.commit(*many[50:])
    assert memory.ids(*reversed(many)) == [one.id for one in reversed(many)]


def test_a_user_who_is_not_known_is_at_zero_and_each_commit_counts(memory: Memory) -> None:
    assert memory.memories.user(memory.scope) == UserState(epoch=0, version=0)
    memory.commit(record(1))
    memory.commit(record(2))
    assert memory.memories.user(memory.scope) == UserState(epoch=0, version=2)
    memory.memories.commit(memory.scope, MemoryCommit(epoch=0, removed=(record(1),)))
    assert memory.memories.user(memory.scope) == UserState(epoch=0, version=3)


def test_progress_alone_leaves_the_version_so_that_what_was_read_still_holds(
    memory: Memory,
) -> None:
    memory.memories.commit(memory.scope, MemoryCommit(epoch=0, progress=Progress("other", 1)))
    assert memory.memories.user(memory.scope) == UserState(epoch=0, version=0)
    memory.commit(record(1))
    nothing_found = MemoryCommit(
        epoch=0, line=line(1, 2), progress=Progress("talk", 2), job=job(memory.scope)
    )
    memory.memories.commit(memory.scope, nothing_found)
    assert memory.memories.progress(memory.scope, "talk").through == 2
    assert memory.memories.user(memory.scope) == UserState(epoch=0, version=1)


def test_only_current_memories_count_and_a_topic_has_one_or_none(memory: Memory) -> None:
    def counted() -> int:
        return memory.memories.current(memory.scope)

    memory.commit(plain := record(1))
    memory.supersede(version(2), version(3))
    assert counted() == 2
    stored = memory.memories.pointers(memory.scope, ["employer"])["employer"]
    memory.commit(removed=(version(2),), pointers=(stored,))
    assert counted() == 2, "it was not current"
    stored = memory.memories.pointers(memory.scope, ["employer"])["employer"]
    memory.commit(removed=(version(3),), pointers=(replace(stored, record=None),))
    assert counted() == 1
    again = replace(
        memory.memories.pointers(memory.scope, ["employer"])["employer"], record=version(4).id
    )
    memory.commit(version(4), pointers=(replace(again, order=version(4).order),))
    assert counted() == 2
    topic = version(5, topic="home")
    joining = replace(plain, topic_key="home")
    memory.commit(topic, changed=(joining,), said=(joining,), pointers=(pointer(topic),), joined=1)
    assert counted() == 2, "two versions of one memory"


def test_nobody_reads_what_is_anothers(memory: Memory) -> None:
    memory.supersede(version(1))
    memory.commit(progress=Progress("talk", 4), line=ChunkLine("talk", 1, 4, 4))
    memory.memories.count_use(memory.scope, [version(1).id], now=5)
    for other in (
        Scope(memory.scope.tenant).user("sara"),
        Scope(memory.scope.tenant + "x").user("sarah"),
    ):
        theirs = Memory(memory.memories, other)
        assert theirs.ids(version(1)) == []
        assert theirs.memories.pointers(other, ["employer"]) == {}
        assert theirs.memories.versions(other, "employer") == ()
        assert theirs.memories.listed(other, limit=9).records == ()
        assert theirs.memories.progress(other, "talk") == Progress("talk")
        assert theirs.memories.lines(other, "talk", first=0, last=9) == ()
        assert theirs.memories.uses(other, [version(1).id]) == {}


def test_a_changed_record_is_replaced_under_its_version(memory: Memory) -> None:
    memory.commit(record(1, subject="Sarah", metadata={"a": 1}))
    changed = record(1, "likes coffee", index_state="done", importance=0.9)
    memory.commit(changed=(changed,))
    assert memory.memories.records(memory.scope, [changed.id]) == (replace(changed, version=2),)
    with pytest.raises(CommitLost):
        memory.commit(changed=(changed,))


def test_a_removed_record_leaves_a_mark_without_its_words(memory: Memory) -> None:
    said = version(1, source=Source("talk", ("m1",), (1,), "I work at A"))
    memory.supersede(said)
    memory.commit(removed=(said,), pointers=(replace(pointer(said, at=1), record=None),))
    assert memory.ids(said) == []
    assert memory.memories.versions(memory.scope, "employer") == ()
    assert memory.memories.tombstones(memory.scope, [said.id, "mem_other"]) == {
        said.id: Tombstone((Source("talk", ("m1",), (1,)),), version=2)
    }


def test_a_new_record_under_its_id_ends_a_mark(memory: Memory) -> None:
    memory.commit(record(1))
    memory.commit(removed=(record(1),))
    memory.commit(record(1, version=9))
    assert memory.ids(record(1)) == [record(1).id]
    assert memory.memories.tombstones(memory.scope, [record(1).id]) == {}
    memory.commit(removed=(record(1, version=9),))
    assert memory.memories.tombstones(memory.scope, [record(1).id])[record(1).id].version == 10


def test_removing_a_record_takes_its_uses_along(memory: Memory) -> None:
    memory.commit(record(1))
    memory.memories.count_use(memory.scope, [record(1).id], now=5)
    memory.commit(removed=(record(1),))
    assert memory.memories.uses(memory.scope, [record(1).id]) == {}


def test_a_pointer_moves_under_its_version(memory: Memory) -> None:
    memory.supersede(version(1), version(2, "works at B"))
    expected = pointer(version(2), at=2)
    assert memory.memories.pointers(memory.scope, ["employer", "home"]) == {"employer": expected}
    retracted = replace(expected, record=None)
    memory.commit(pointers=(retracted,))
    assert memory.memories.pointers(memory.scope, ["employer"]) == {
        "employer": replace(retracted, version=3)
    }


def test_a_pointer_names_the_record_that_has_ended(memory: Memory) -> None:
    memory.supersede(version(1), version(2, "works at B"))
    pointers = memory.memories.pointers(memory.scope, ["employer"])
    ended = replace(pointers["employer"], record=None, ended=version(2).id)
    memory.commit(pointers=(ended,))
    (stored,) = memory.memories.pointers(memory.scope, ["employer"]).values()
    assert (stored.record, stored.last, stored.end and stored.end.at) == (
        None,
        version(2).id,
        ended.order[0],
    )
    assert memory.memories.topics(memory.scope, prefix="") == ()


def test_versions_are_a_topics_alone_in_their_order(memory: Memory) -> None:
    late = version(2, "works at B", source=Source("a", (), (7,)))
    same_time = replace(
        version(8, "works at C"), valid_from=late.valid_from, source=Source("a-b", (), (1,))
    )
    memory.commit(
        version(9), same_time, late, version(5, topic="employer_2"), version(4, source=Source())
    )
    found = memory.memories.versions(memory.scope, "employer")
    assert found == (late, same_time, version(4, source=Source()), version(9))


def test_a_record_said_again_comes_once_for_each_time(memory: Memory) -> None:
    said = version(1, keywords=("a",))
    again = version(3, said.content, id=said.id, keywords=("a",))
    memory.supersede(said, version(2, "works at B"))
    memory.commit(said=(again,))
    memory.commit(said=(again,))
    found = memory.memories.versions(memory.scope, "employer")
    assert found == (said, version(2, "works at B"), again)
    memory.commit(removed=(said, again))
    assert memory.memories.versions(memory.scope, "employer") == (version(2, "works at B"),)


def test_a_record_may_come_into_a_topic_later(memory: Memory) -> None:
    memory.commit(record(1))
    placed = record(1, topic_key="edited")
    memory.commit(changed=(placed,), said=(placed,))
    assert memory.memories.versions(memory.scope, "edited") == (replace(placed, version=2),)


def test_progress_moves_under_its_version(memory: Memory) -> None:
    assert memory.memories.progress(memory.scope, "talk") == Progress("talk")
    memory.commit(progress=Progress("talk", through=4, parked=((1, 2), (4, 4))))
    found = memory.memories.progress(memory.scope, "talk")
    assert found == Progress("talk", through=4, parked=((1, 2), (4, 4)), version=1)
    memory.commit(progress=replace(found, through=9, parked=()))
    assert memory.memories.progress(memory.scope, "talk") == Progress("talk", through=9, version=2)
    assert memory.memories.progress(memory.scope, "talk2") == Progress("talk2")


def line(first: int, last: int, **more: Any) -> ChunkLine:
    return ChunkLine("talk", first, last, **{"extracted": last - first + 1} | more)


def test_lines_are_read_by_where_they_begin(memory: Memory) -> None:
    whole = line(
        5,
        9,
        extracted=3,
        skipped={"no_fact": 1},
        parked=1,
        dropped={"no_quote": 2},
        records=("a", "b"),
        usage={"tokens_in": 900},
    )
    for one in (line(10, 12), whole, line(1, 4), replace(line(5, 6), session="talk2")):
        memory.commit(line=one)
    lines = memory.memories.lines
    assert lines(memory.scope, "talk", first=1, last=9) == (line(1, 4), whole)
    assert lines(memory.scope, "talk", first=2, last=99) == (whole, line(10, 12))
    assert lines(memory.scope, "talk", first=9, last=1) == ()


def test_a_line_takes_the_place_of_the_one_before(memory: Memory) -> None:
    memory.commit(line=line(1, 4, extracted=0, parked=4))
    memory.commit(line=line(1, 4))
    assert memory.memories.lines(memory.scope, "talk", first=1, last=1) == (line(1, 4),)


def test_a_commit_puts_a_job_and_finishes_another(memories: MemoryStore, memory: Memory) -> None:
    first, second = (
        job(memory.scope),
        job(memory.scope, id="job_2", epoch=1, parent="job_1", kind="extract"),
    )
    memory.commit(job=first)
    memory.commit(finished=replace(first, **ENDED), job=second)
    read: Callable[[Job], Job | None] = lambda of: memories.jobs.get(Scope(of.tenant), of.id)  # noqa: E731
    assert read(first) == replace(first, **ENDED)
    assert read(second) == second


LOST: dict[str, Callable[[Memory], dict[str, Any]]] = {
    "another epoch": lambda memory: {"epoch": 1},
    "a record that is there": lambda memory: {"new": (record(9), record(1))},
    "a change of an older version": lambda memory: {"changed": (record(1, version=7),)},
    "a change of what is gone": lambda memory: {"changed": (record(5),)},
    "a removal of an older version": lambda memory: {"removed": (record(1, version=7),)},
    "a removal of what is gone": lambda memory: {"removed": (record(5),)},
    "a pointer that has moved": lambda memory: {"pointers": (pointer(version(2), at=7),)},
    "a pointer that is there": lambda memory: {"pointers": (pointer(version(2)),)},
    "a pointer that is not there": lambda memory: {
        "pointers": (Pointer("home", None, record(1).order, 1),)
    },
    "progress that has moved": lambda memory: {"progress": Progress("talk", 9, version=7)},
    "progress that is there": lambda memory: {"progress": Progress("talk", 9)},
    "progress that is not there": lambda memory: {"progress": Progress("other", 9, version=1)},
    "a job that is there": lambda memory: {"job": job(memory.scope)},
    "a job that is not there": lambda memory: {
        "finished": job(memory.scope, id="job_other", **ENDED)
    },
    "a job that has ended": lambda memory: {"finished": job(memory.scope, id="job_ended", **ENDED)},
}


@pytest.mark.parametrize("why", LOST)
def test_a_lost_commit_leaves_nothing_behind(
    memories: MemoryStore, memory: Memory, why: str
) -> None:
    memory.commit(record(1), job=job(memory.scope), progress=Progress("talk", 4))
    memory.supersede(version(2))
    memory.commit(job=job(memory.scope, id="job_ended"))
    memory.commit(finished=job(memory.scope, id="job_ended", **ENDED))
    before = memory.memories.user(memory.scope)
    whole = {
        "new": (record(8), version(7)), "line": line(1, 4), "job": job(memory.scope, id="job_new"),
        "pointers": (pointer(version(7, topic="food")),),
    }  # fmt: skip
    with pytest.raises(CommitLost):
        memory.commit(**whole | LOST[why](memory))
    assert memory.memories.user(memory.scope) == before
    assert memory.ids(record(1), record(7), record(8), record(9)) == [record(1).id]
    assert memory.memories.versions(memory.scope, "employer") == (version(2),)
    assert set(memory.memories.pointers(memory.scope, ["employer", "food", "home"])) == {"employer"}
    assert memory.memories.lines(memory.scope, "talk", first=0, last=9) == ()
    assert memory.memories.progress(memory.scope, "talk").through == 4
    assert memories.jobs.get(Scope(memory.scope.tenant), "job_new") is None


def test_the_largest_commit_is_kept_and_one_more_is_refused(memory: Memory) -> None:
    many = tuple(version(number, topic=f"t{number}") for number in range(33))
    whole = MemoryCommit(epoch=0, new=many, pointers=tuple(map(pointer, many)))
    assert memory.memories.room(whole) == 0
    assert memory.memories.room(replace(whole, line=line(1, 2))) == -1
    with pytest.raises(ValueError, match="101"):
        memory.memories.commit(memory.scope, replace(whole, line=line(1, 2)))
    memory.memories.commit(memory.scope, whole)
    assert len(memory.ids(*many)) == 33


def test_items_are_counted_as_they_are_written(memory: Memory) -> None:
    memory.supersede(version(1), version(2))
    commit = MemoryCommit(
        epoch=0,
        new=(version(3), record(4)),
        changed=(version(2),),
        said=(version(5, id=version(2).id),),
        removed=(version(1),),
        pointers=(pointer(version(5), at=2),),
        line=line(1, 2),
        progress=Progress("talk", 2),
        job=job(memory.scope),
    )
    assert memory.memories.room(commit) == 100 - (1 + 3 + 1 + 1 + 4 + 1 + 3)
    memory.memories.commit(memory.scope, commit)


@pytest.mark.not_in_process
def test_of_many_writers_at_once_one_puts_the_record(memories: MemoryStore, memory: Memory) -> None:
    outcomes: list[str] = []

    def write() -> None:
        try:
            memory.commit(record(1))
            outcomes.append("kept")
        except CommitLost:
            outcomes.append("lost")

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(outcomes) == ["kept", *["lost"] * 7]
    assert memory.memories.user(memory.scope).version == 1


@pytest.mark.not_in_process
def test_many_writers_at_once_do_not_pass_the_limit_of_a_kind_of_topic(
    memories: MemoryStore, memory: Memory
) -> None:
    """Every writer counts before any has written: the first commit makes the others count again."""
    limit = AtMost(memory.memories, "entity:", 5, "entities")
    counted = threading.Barrier(8)

    def write(number: int) -> str:
        one = version(number, topic=f"entity:{number}", type="entity")
        asked = MemoryCommit(epoch=0, new=(one,), pointers=(pointer(one),))
        first = [counted]

        def attempt() -> None:
            guarded = limit.guarded(memory.scope, asked)
            while first:
                first.pop().wait(timeout=30)
            memory.memories.commit(memory.scope, guarded)

        try:
            until_committed(attempt, clock=SystemClock())
        except Conflict as refused:
            return refused.code
        return "stored"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(write, range(8)))
    assert sorted(outcomes) == ["stored"] * 5 + ["too_many_entities"] * 3
    assert len(memory.memories.topics(memory.scope, prefix="entity:")) == 5


def test_indexing_is_noted_for_the_version_that_was_indexed(memory: Memory) -> None:
    memory.commit(record(1))
    memory.memories.mark_indexed(memory.scope, record(1, version=7))
    memory.memories.mark_indexed(memory.scope, record(5))
    assert memory.memories.records(memory.scope, [record(1).id, record(5).id]) == (record(1),)
    memory.memories.mark_indexed(memory.scope, record(1))
    assert memory.memories.records(memory.scope, [record(1).id]) == (record(1, index_state="done"),)
    memory.commit(changed=(record(1, index_state="pending"),))
    memory.memories.mark_indexed(memory.scope, record(1))
    assert memory.memories.records(memory.scope, [record(1).id]) == (record(1, version=2),)


def test_uses_are_counted_beside_the_record(memory: Memory) -> None:
    memory.commit(record(1), record(2))
    before = memory.memories.user(memory.scope)
    memory.memories.count_use(memory.scope, [record(1).id], now=5)
    memory.memories.count_use(memory.scope, [record(2).id, record(1).id, record(1).id], now=8)
    ids = [record(number).id for number in (1, 2, 3)]
    assert memory.memories.uses(memory.scope, ids) == {ids[0]: (2, 8), ids[1]: (1, 8)}
    assert memory.memories.records(memory.scope, ids) == (record(1), record(2))
    assert memory.memories.user(memory.scope) == before


@pytest.mark.parametrize("data", [None, False, 0, "", {}, [], {"a": {}, "b": [None]}])
def test_data_comes_back_as_it_was_stored(
    memories: MemoryStore, sarah: UserScope, data: object
) -> None:
    Memory(memories.memories, sarah).commit(record(1, data=data))
    (found,) = memories.memories.records(sarah, [record(1).id])
    assert repr(found.data) == repr(data)
