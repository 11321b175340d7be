from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.engines.dynamodb.jobs import DynamoDbKeyedCalls
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.errors import CommitLost
from palimpsest.idempotency import KeyedCall, KeyedCalls
from palimpsest.memory.ports import Memories, MemoryCommit
from palimpsest.scope import UserScope
from palimpsest_local.stores.jobs import LocalKeyedCalls
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_testing.store import Store

from tests.contract.builders import NOW, Conversation
from tests.contract.memory_builders import record
from tests.contract.tables import memories_table

CALL = KeyedCall("acme", "a" * 32, "b" * 32, NOW + 100)


@pytest.fixture
def calls(store: Store, endpoint: str | None) -> KeyedCalls:
    if isinstance(store.sessions, LocalSessions):
        return LocalKeyedCalls(store.sessions.state)
    return DynamoDbKeyedCalls(store.sessions._table.name, endpoint=endpoint)  # type: ignore[attr-defined]


@pytest.fixture
def remembered(store: Store, endpoint: str | None) -> Memories:
    """Long-term memory beside the store of sessions."""
    if isinstance(store.sessions, LocalSessions):
        return LocalMemories(store.sessions.state)
    jobs: str = store.sessions._table.name  # type: ignore[attr-defined]
    return DynamoDbMemories(memories_table(endpoint), jobs, endpoint=endpoint)


def test_a_call_is_read_as_it_was_put_in_its_tenant_alone(calls: KeyedCalls) -> None:
    assert calls.get(CALL) is None
    made = [["id", "created"], 1, None, "\x00 é"]
    calls.put(replace(CALL, made=made))
    assert calls.get(CALL) == replace(CALL, made=made, version=1)
    assert calls.get(replace(CALL, tenant="other")) is None
    assert calls.get(replace(CALL, name="c" * 32)) is None


def test_of_two_who_read_the_same_one_puts(calls: KeyedCalls) -> None:
    calls.put(CALL)
    with pytest.raises(CommitLost):
        calls.put(CALL)
    calls.put(replace(CALL, made="first", version=1))
    with pytest.raises(CommitLost):
        calls.put(replace(CALL, made="second", version=1))
    assert calls.get(CALL) == replace(CALL, made="first", version=2)


def test_a_commit_stores_its_call_or_is_lost_with_it(
    store: Store, calls: KeyedCalls, talk: Conversation
) -> None:
    talk.begin()
    talk.append(call=replace(CALL, made="talk"))
    assert calls.get(CALL) == replace(CALL, made="talk", version=1)
    with pytest.raises(CommitLost):
        talk.append(call=CALL)
    head = store.sessions.open(talk.scope).head
    assert head is not None
    assert head.seq == 1


def test_a_commit_to_memory_stores_its_call_or_is_lost_with_it(
    calls: KeyedCalls, remembered: Memories, sarah: UserScope
) -> None:
    remembered.commit(
        sarah, MemoryCommit(epoch=0, new=(record(1),), call=replace(CALL, made=["r1"]))
    )
    assert calls.get(CALL) == replace(CALL, made=["r1"], version=1)
    with pytest.raises(CommitLost):
        remembered.commit(sarah, MemoryCommit(epoch=0, new=(record(2),), call=CALL))
    assert [found.id for found in remembered.listed(sarah, limit=9).records] == [record(1).id]
