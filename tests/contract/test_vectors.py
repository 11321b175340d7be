"""The contract of the store of vectors, over every adapter."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.memories.vectors import DynamoDbVectors
from palimpsest.errors import CommitLost
from palimpsest.memory.ports import Memories
from palimpsest.scope import UserScope
from palimpsest.vectors.ports import Namespace, StoredVector, VectorStore
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.vectors import LocalVectors

from tests.contract.memory_builders import Memory, record
from tests.contract.tables import memories_table, sessions_table

PHOTOS = Namespace("photos", 2, count=2)
EAST = StoredVector("east", array("f", [1.0, 0.1]), {"at": {"floor": 1}, "no": {}}, "to the east")
NORTH = StoredVector("north", array("f", [0.0, 1.0]))


@pytest.fixture
def stores(engine: str, endpoint: str | None) -> tuple[Memories, VectorStore]:
    if engine == "in_memory":
        memories = LocalMemories()
        return memories, LocalVectors(memories)
    table = memories_table(endpoint)
    return DynamoDbMemories(table, sessions_table(endpoint), endpoint=endpoint), DynamoDbVectors(
        table, endpoint=endpoint
    )


def kept(store: VectorStore, scope: UserScope, name: str = "photos") -> list[StoredVector]:
    found = store.namespace(scope, name)
    return (
        [
            replace(vector, values=array("f", vector.values))
            for vector in store.vectors(scope, found)
        ]
        if found
        else []
    )


def test_vectors_come_back_as_they_were_put_by_id(
    stores: tuple[Memories, VectorStore], sarah: UserScope
) -> None:
    memories, store = stores
    store.commit(sarah, PHOTOS, put=[NORTH, EAST])
    store.commit(sarah, replace(PHOTOS, name="photos.old", model="m"), put=[NORTH])
    assert store.namespace(sarah, "photos") == replace(PHOTOS, version=1)
    assert kept(store, sarah) == [EAST, NORTH]
    assert store.existing(sarah, PHOTOS, ["east", "west"]) == {"east"}
    assert [namespace.name for namespace in store.namespaces(sarah)] == ["photos", "photos.old"]
    assert memories.users(sarah.tenant, limit=9)[0] == ("sarah",)
    assert store.namespaces(sarah.owner.user("sara")) == ()


def test_of_two_writers_one_wins_and_nothing_of_the_other_is_there(
    stores: tuple[Memories, VectorStore], sarah: UserScope
) -> None:
    _, store = stores
    store.commit(sarah, PHOTOS, put=[NORTH])
    for late in (PHOTOS, replace(PHOTOS, version=2), replace(PHOTOS, version=1, epoch=1)):
        with pytest.raises(CommitLost):
            store.commit(sarah, late, put=[EAST])
    assert kept(store, sarah) == [NORTH]
    store.commit(sarah, replace(PHOTOS, version=1), put=[EAST], removed=["north"])
    assert kept(store, sarah) == [EAST]


def test_another_generation_sees_nothing_of_the_one_before_which_is_cleared(
    stores: tuple[Memories, VectorStore], sarah: UserScope
) -> None:
    _, store = stores
    store.commit(sarah, PHOTOS, put=[NORTH, EAST])
    second = replace(PHOTOS, version=1, generation=2, count=1, dimension=1)
    store.commit(sarah, second, put=[replace(NORTH, values=array("f", [1.0]))])
    assert [list(one.values) for one in kept(store, sarah)] == [[1.0]]
    store.clear(sarah, second)
    assert list(store.vectors(sarah, PHOTOS)) == []
    assert len(kept(store, sarah)) == 1


def test_what_an_erasure_takes_is_gone_at_once_and_wiped(
    stores: tuple[Memories, VectorStore], sarah: UserScope
) -> None:
    memories, store = stores
    store.commit(sarah, PHOTOS, put=[NORTH, EAST])
    Memory(memories, sarah).commit(record(1))
    Memory(memories, sarah).erase()
    assert (store.namespace(sarah, "photos"), store.namespaces(sarah)) == (None, ())
    again = replace(PHOTOS, epoch=1, count=1)
    store.commit(sarah, again, put=[NORTH])
    assert kept(store, sarah) == [NORTH]
    assert (
        memories.wipe(sarah, below_epoch=1) == 2
    )  # the record and one vector; the rest was written anew
    assert kept(store, sarah) == [NORTH]
