"""What a call on a user's memory costs, in DynamoDB's units as the engine counts them, and what is
over its limits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.table import key
from palimpsest.errors import TooLarge
from palimpsest.memory.ports import ChunkLine, Progress
from palimpsest.scope import Scope, UserScope

from tests.contract.memory_builders import Memory, job, pointer, record, version
from tests.contract.tables import memories_table, sessions_table
from tests.contract.test_dynamodb_units import INDEX, Meter

LISTED = 2.0
"""What the list of a user's records, and that of records which the search index has not confirmed,
cost more for each new one.
"""


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def memory(dynoxide_endpoint: str, meter: Meter) -> Memory:
    """A user who has a fact, with a topic and a use."""
    table, jobs = memories_table(dynoxide_endpoint), sessions_table(dynoxide_endpoint)
    memories = DynamoDbMemories(table, jobs, endpoint=dynoxide_endpoint, meter=meter)
    memory = Memory(memories, Scope("acme").user("3b241101-e2bb-4255-8caf-4136c566a962"))
    memory.supersede(version(1, "works at A" * 20))
    memory.memories.count_use(memory.scope, [version(1).id], now=5)
    meter.read()
    return memory


def test_a_plain_record_costs_four_units_and_its_place_in_the_list(
    memory: Memory, meter: Meter
) -> None:
    memory.commit(record(2, "x" * 500), epoch=0)
    assert meter.read() == [("TransactWriteItems", 4.0 + LISTED)]


def test_a_version_costs_four_units_more_and_two_for_what_it_displaces(
    memory: Memory, meter: Meter
) -> None:
    newer = version(2, "works at B" * 20)
    memory.commit(newer, changed=(version(1),), pointers=(pointer(newer, at=1),), epoch=0)
    assert meter.read() == [("TransactWriteItems", 10.0 + LISTED)]


def test_what_is_said_again_costs_its_place_and_the_pointer(memory: Memory, meter: Meter) -> None:
    again = version(2, id=version(1).id)
    memory.commit(said=(again,), pointers=(pointer(again, at=1),), epoch=0)
    assert meter.read() == [("TransactWriteItems", 6.0)]


def test_a_chunk_costs_two_units_for_each_of_its_parts(memory: Memory, meter: Meter) -> None:
    facts = tuple(record(number, "x" * 300) for number in range(2, 12))
    memory.commit(
        *facts,
        line=ChunkLine("talk", 1, 9, 9),
        progress=Progress("talk", 9),
        job=job(memory.scope),
        epoch=0,
    )
    assert meter.read() == [("TransactWriteItems", 2.0 * (1 + 10 + 3) + 10 * LISTED + 2 * INDEX)]


def test_reads_are_one_call_with_a_unit_for_the_user(memory: Memory, meter: Meter) -> None:
    memories, scope = memory.memories, memory.scope
    memories.user(scope)
    memories.records(scope, [version(1).id])
    memories.pointers(scope, ["employer", "home"])
    memories.progress(scope, "talk")
    memories.uses(scope, [version(1).id])
    calls = meter.read()
    assert [operation for operation, _ in calls] == ["GetItem", *["BatchGetItem"] * 4]
    assert max(units for _, units in calls) <= 3.0


def test_a_page_is_one_query_and_one_read_of_its_records(memory: Memory, meter: Meter) -> None:
    for start in range(2, 62, 30):
        memory.commit(*(record(number) for number in range(start, start + 30)))
    meter.read()
    assert len(memory.memories.listed(memory.scope, limit=50).records) == 50
    assert [operation for operation, _ in meter.read()] == ["Query", "BatchGetItem"]


def test_counting_a_use_costs_one_unit(memory: Memory, meter: Meter) -> None:
    memory.memories.count_use(memory.scope, [version(1).id], now=6)
    assert [call for call in meter.read() if call[0] != "GetItem"] == [("UpdateItem", 1.0)]


def test_a_use_that_is_counted_after_a_read_costs_nothing_else(
    memory: Memory, meter: Meter
) -> None:
    memory.memories.records(memory.scope, [version(1).id])
    meter.read()
    memory.memories.count_use(memory.scope, [version(1).id], now=6)
    assert meter.read() == [("UpdateItem", 1.0)]
    assert memory.memories.uses(memory.scope, [version(1).id]) == {version(1).id: (2, 6)}


@pytest.mark.parametrize("is_wiped", [True, False])
def test_uses_are_counted_for_whoever_was_erased_by_another_process(
    dynoxide_endpoint: str, *, is_wiped: bool
) -> None:
    tables = memories_table(dynoxide_endpoint), sessions_table(dynoxide_endpoint)
    memory, other = (
        Memory(DynamoDbMemories(*tables, endpoint=dynoxide_endpoint), Scope("acme").user("sarah"))
        for _ in range(2)
    )
    memory.commit(record(1))
    memory.memories.count_use(memory.scope, [version(1).id], now=5)
    other.erase()
    if is_wiped:
        other.memories.wipe(memory.scope, below_epoch=1)
    memory.memories.count_use(memory.scope, [version(1).id], now=6)
    assert memory.memories.uses(memory.scope, [version(1).id]) == (
        {version(1).id: (1, 6)} if is_wiped else {}
    )
    memory.memories.count_use(memory.scope, [version(1).id], now=7)
    assert memory.memories.uses(memory.scope, [version(1).id]) == {version(1).id: (1 + is_wiped, 7)}


def test_what_is_over_the_engines_limits_is_too_large_and_leaves_nothing(memory: Memory) -> None:
    large = record(2, metadata={"a": "x" * 420_000})
    with pytest.raises(TooLarge):
        memory.commit(
            large,
            removed=(version(1),),
            pointers=(replace(pointer(version(1), at=1), record=None),),
        )
    assert memory.ids(large, version(1)) == [version(1).id]


def test_memories_of_before_they_were_counted_are_counted_once(
    memory: Memory, meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories, scope = memory.memories, memory.scope
    assert isinstance(memories, DynamoDbMemories)
    memory.commit(*(record(number) for number in range(2, 12)), epoch=0)
    older = version(12)
    memory.commit(older, pointers=(pointer(older, at=1),), epoch=0)
    forget_counts(memories, scope)
    memory.commit(removed=(record(2),), epoch=0)  # counted from zero on: -1
    meter.read()

    count = memories._current

    def meanwhile(*given: Any) -> int:
        memory.commit(record(13), epoch=0)
        return count(*given)

    monkeypatch.setattr(memories, "_current", meanwhile)
    assert memories.current(scope) == 11  # and that is not stored: a commit came in between
    monkeypatch.undo()
    assert [memories.current(scope), memories.current(scope)] == [11, 11]
    meter.read()
    assert memories.current(scope) == 11
    assert [operation for operation, _ in meter.read()] == ["GetItem"]
    memory.commit(removed=(record(3), record(4)), epoch=0)
    assert memories.current(scope) == 9
    forget_counts(memories, scope)
    assert memories.current(scope) == 9
    memory.erase()
    meter.read()
    assert memories.current(scope) == 0
    assert [operation for operation, _ in meter.read()] == ["GetItem"]


def forget_counts(memories: DynamoDbMemories, scope: UserScope) -> None:
    """The user's item as it was before memories were counted."""
    table = memories._table
    table.call(
        "UpdateItem",
        TableName=table.name,
        Key=key(scope.partition, "user"),
        UpdateExpression="REMOVE #current, uncounted",
        ExpressionAttributeNames={"#current": "current"},
    )
