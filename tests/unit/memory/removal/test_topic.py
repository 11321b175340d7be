"""The transactions of a removal: few, each within its limit, and a topic loses its current record
in the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.ports import MemoryCommit, Pointer
from palimpsest.memory.record import Record
from palimpsest.memory.removal.transactions import MOST_PLACES, Removal, transactions
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.state import State

ROOM = LocalMemories(State()).room


def record(name: str, *, at: int = 1, topic: str | None = "employer") -> Record:
    return Record(f"mem_{name}", "fact", name, created_at=at, valid_from=at, topic_key=topic)


def pointer(current: str | None, *, version: int = 7) -> Pointer:
    return Pointer(
        "employer",
        None if current is None else f"mem_{current}",
        record(current or "gone").order,
        version,
    )


def removed(commits: Sequence[MemoryCommit]) -> list[str]:
    return [one.content for commit in commits for one in (*commit.removed_places, *commit.removed)]


def test_small_removals_share_a_transaction() -> None:
    others = [Removal([record(f"note {number}", topic=None)]) for number in range(3)]
    (commit,) = transactions(
        [Removal([record("a"), record("b", at=2)], pointer("b")), *others], epoch=3, room=ROOM
    )
    assert removed([commit]) == ["a", "b", "note 0", "note 1", "note 2"]
    assert (commit.epoch, [each.record for each in commit.pointers]) == (3, [None])


def test_what_is_too_much_for_one_transaction_goes_on_in_the_next() -> None:
    commits = list(
        transactions(
            [Removal([record(f"{number}", topic=None)]) for number in range(60)], epoch=0, room=ROOM
        )
    )
    assert removed(commits) == [str(number) for number in range(60)]
    assert [len(commit.removed) for commit in commits] == [33, 27]
    assert ROOM(commits[0]) < 3


def test_a_topic_keeps_its_pointer_while_what_goes_was_not_current() -> None:
    (commit,) = transactions([Removal([record("a")], pointer("b"))], epoch=0, room=ROOM)
    assert commit.pointers == (pointer("b"),)


def test_nothing_is_removed_by_no_transaction() -> None:
    assert list(transactions([], epoch=0, room=ROOM)) == []


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 99)), min_size=1, max_size=6),
    st.sampled_from("abc"),
)
def test_however_much_was_said_a_topic_goes_whole_and_its_current_record_last(
    runs: list[tuple[str, int]], current: str
) -> None:
    names = [name for name, times in runs for _ in range(times)]
    said = [record(name, at=at) for at, name in enumerate(names)]
    commits = list(transactions([Removal(said, pointer(current))], epoch=0, room=ROOM))
    assert sorted(removed(commits)) == sorted(names)
    assert all(ROOM(commit) >= 0 for commit in commits)
    pointers = [commit.pointers[0] for commit in commits]
    assert all(later.version == before.version + 1 for before, later in pairwise(pointers))
    assert {each.record for each in pointers[:-1]} <= {f"mem_{current}"}
    assert pointers[-1].record == (None if current in names else f"mem_{current}")
    if current in names:
        assert current in [one.content for one in commits[-1].removed]


@pytest.mark.parametrize("times", [1, MOST_PLACES, MOST_PLACES + 40, 500])
def test_a_record_is_removed_once_though_it_was_said_often(times: int) -> None:
    commits = list(
        transactions(
            [Removal([record("a", at=at) for at in range(times)], pointer("a"))], epoch=0, room=ROOM
        )
    )
    assert [bool(commit.removed) for commit in commits] == [False] * (len(commits) - 1) + [True]
    assert removed(commits) == ["a"] * times
