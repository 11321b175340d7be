from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from palimpsest.engines.dynamodb.memories import store as on_dynamodb
from palimpsest.errors import BadRequest
from palimpsest.memory.record import GRAPH, RecordType
from palimpsest.scope import Scope, UserScope
from palimpsest_local.stores import memories as on_shelves
from palimpsest_testing.store import MemoryStore

from tests.contract.memory_builders import Memory, record, version

TYPES: tuple[RecordType, ...] = ("fact", "event", "task")


@pytest.fixture
def memory(memories: MemoryStore, sarah: UserScope) -> Memory:
    """Seven records, of three types in turn, two of one millisecond; another user's beside them."""
    memory = Memory(memories.memories, sarah)
    kept = [record(number, type=TYPES[number % 3]) for number in range(1, 7)]
    memory.commit(*reversed(kept), record(7, created_at=kept[-1].created_at))
    Memory(memories.memories, sarah.owner.user("sara")).commit(record(3), record(9))
    return memory


def listed(
    memory: Memory, *types: RecordType, limit: int = 99, newest_first: bool = True
) -> list[int]:
    """Every page of the list, as the records' numbers."""
    found: list[int] = []
    after = None
    while True:
        page = memory.memories.listed(
            memory.scope,
            types=frozenset(types),
            limit=limit,
            after=after,
            newest_first=newest_first,
        )
        assert len(page.records) <= limit
        found += [int(one.id[4:], 16) for one in page.records]
        after = page.after
        if after is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_join_to_the_whole_list_by_creation(memory: Memory, limit: int) -> None:
    assert listed(memory, limit=limit) == [7, 6, 5, 4, 3, 2, 1]
    assert listed(memory, limit=limit, newest_first=False) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_a_list_may_be_of_some_types_alone(memory: Memory, limit: int) -> None:
    assert listed(memory, "task", limit=limit) == [5, 2]
    assert listed(memory, "task", "event", limit=limit, newest_first=False) == [1, 2, 4, 5]
    assert listed(memory, "instruction", limit=limit) == []


def test_a_list_that_ends_with_its_page_has_no_next(memory: Memory) -> None:
    assert memory.memories.listed(memory.scope, limit=7).after is None
    assert memory.memories.listed(memory.scope, limit=6).after is not None


def test_what_is_removed_while_pages_are_read_is_missing_and_nothing_else(memory: Memory) -> None:
    page = memory.memories.listed(memory.scope, limit=2)
    memory.commit(removed=(record(6, type="fact"), record(5, type="task")))
    rest = memory.memories.listed(memory.scope, limit=9, after=page.after)
    assert [one.id for one in rest.records] == [record(number).id for number in (4, 3, 2, 1)]


def test_one_call_looks_at_so_many_records_and_no_more(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (on_dynamodb, on_shelves):
        monkeypatch.setattr(module, "EXAMINED", 2)
    page = memory.memories.listed(memory.scope, types=frozenset({"instruction"}), limit=1)
    assert (page.records, page.after is None) == ((), False)
    assert listed(memory, "task", limit=1) == [5, 2]


def test_a_cursor_opens_no_other_list(memory: Memory) -> None:
    after = memory.memories.listed(memory.scope, limit=1).after
    users = memory.memories.users(memory.scope.tenant, limit=1)[1]
    for other in (memory.scope.owner.user("sara"), Scope(memory.scope.tenant + "x").user("sarah")):
        _refuses(memory, other, after)
    _refuses(memory, memory.scope, users)
    with pytest.raises(BadRequest) as refused:
        memory.memories.users(memory.scope.tenant, limit=1, after=after)
    assert refused.value.code == "invalid_cursor"


def _forged(*parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    "listed", ["", "x", "1#a", "1" * 15, "1" * 15 + "#", "1" * 15 + "#a#b", 7, ["1"], "\x00"]
)
def test_a_cursor_that_was_not_handed_out_is_refused(memory: Memory, listed: object) -> None:
    _refuses(memory, memory.scope, _forged(memory.scope.tenant, memory.scope.user, listed))
    for after in ("", "%%%", "é", "bnVsbA"):
        _refuses(memory, memory.scope, after)
    with pytest.raises(BadRequest):
        memory.memories.users(
            memory.scope.tenant, limit=1, after=_forged(memory.scope.tenant, None, f"#{listed}")
        )


def _refuses(memory: Memory, scope: UserScope, after: str | None) -> None:
    assert after is not None
    with pytest.raises(BadRequest) as refused:
        memory.memories.listed(scope, limit=1, after=after)
    assert refused.value.code == "invalid_cursor"


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_the_users_of_a_tenant_are_listed_by_id(memory: Memory, limit: int) -> None:
    for user in ("zoe", "ana@x.org"):
        Memory(memory.memories, memory.scope.owner.user(user)).commit(record(1))
    Memory(memory.memories, Scope(memory.scope.tenant + "x").user("eve")).commit(record(1))
    found: list[str] = []
    after = None
    while True:
        users, after = memory.memories.users(memory.scope.tenant, limit=limit, after=after)
        assert len(users) <= limit
        found += users
        if after is None:
            break
    assert found == ["ana@x.org", "sara", "sarah", "zoe"]


def test_a_user_who_was_erased_is_listed_again_after_the_next_commit(memory: Memory) -> None:
    memory.erase()
    assert memory.memories.users(memory.scope.tenant, limit=9) == (("sara",), None)
    memory.commit(record(1))
    assert memory.memories.users(memory.scope.tenant, limit=9) == (("sara", "sarah"), None)


def test_topics_are_listed_by_prefix_while_a_record_is_current(
    memories: MemoryStore, sarah: UserScope
) -> None:
    memory, other = (
        Memory(memories.memories, sarah),
        Memory(memories.memories, sarah.owner.user("sara")),
    )
    kept = [
        version(number, topic=f"preference:{key}") for number, key in enumerate(("b", "B", "a"), 1)
    ]
    for one in (*kept, version(4, topic="preferences")):
        memory.supersede(one)
    other.supersede(version(5, topic="preference:c"))
    retracted = memories.memories.pointers(sarah, ["preference:b"])["preference:b"]
    memory.commit(removed=kept[:1], pointers=(replace(retracted, record=None),))
    found = memories.memories.topics(sarah, prefix="preference:")
    assert [(one.topic_key, one.record) for one in found] == [
        ("preference:B", kept[1].id), ("preference:a", kept[2].id)
    ]  # fmt: skip
    memory.erase()
    assert memories.memories.topics(sarah, prefix="") == ()


@pytest.mark.parametrize("limit", [1, 2, 4, 9])
def test_topics_are_read_page_by_page_by_key(
    memories: MemoryStore, sarah: UserScope, limit: int
) -> None:
    memory = Memory(memories.memories, sarah)
    other = Memory(memories.memories, sarah.owner.user("sara"))
    kept = [version(number, topic=key) for number, key in enumerate(("b", "B", "a_\u00e9", "a"), 1)]
    for one in kept:
        memory.supersede(one)
    other.supersede(version(5, topic="c"))
    retracted = memories.memories.pointers(sarah, ["b"])["b"]
    memory.commit(removed=kept[:1], pointers=(replace(retracted, record=None),))
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page, after = memories.memories.topics_after(sarah, after, limit=limit)
        assert len(page) <= limit
        found += [pointer.topic_key for pointer in page]
    assert found == ["B", "a", "a_\u00e9"]
    page, after = memories.memories.topics_after(sarah, "a", limit=9)
    assert ([pointer.record for pointer in page], after) == ([kept[2].id], None)
    memory.erase()
    assert memories.memories.topics_after(sarah, "", limit=9) == ((), None)


def test_the_graph_has_a_list_of_its_own(memories: MemoryStore, sarah: UserScope) -> None:
    memory = Memory(memories.memories, sarah)
    topics: tuple[tuple[str, RecordType], ...] = (
        ("drink", "fact"),
        ("entity:a", "entity"),
        ("relationship:r", "relationship"),
        ("entity:b", "entity"),
    )
    fact, *things = (
        replace(version(number, topic=topic), type=kind)
        for number, (topic, kind) in enumerate(topics, 1)
    )
    for one in (fact, *things):
        memory.supersede(one)
    of = memories.memories.listed
    assert [one.id for one in of(sarah, limit=9).records] == [fact.id]
    first = of(sarah, types=GRAPH, limit=2)
    rest = of(sarah, types=GRAPH, limit=2, after=first.after)
    assert [one.id for one in (*first.records, *rest.records)] == [
        thing.id for thing in reversed(things)
    ]
    assert [one.id for one in of(sarah, types=frozenset({"entity"}), limit=9).records] == [
        things[2].id,
        things[0].id,
    ]
