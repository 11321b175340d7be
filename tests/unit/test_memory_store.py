"""A store of seven methods in the place of long-term memory: the rest of `AgentMemory` works as
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from palimpsest import AgentMemory, format_as_context
from palimpsest.errors import BadRequest, Unavailable
from palimpsest.stores import StoredMemory
from palimpsest_client.errors import Invalid, MemoryNotFound

from tests.contract.memory_stores import ListStore
from tests.doubles.meanings import Meanings


def sarahs(store: ListStore, **more: Any) -> AgentMemory:
    return AgentMemory(user="sarah", memory_store=store, **more)


def contents(store: ListStore) -> list[str]:
    return sorted(memory.content for memory in store.held["sarah"].values())


def topical(content: str) -> dict[str, Any]:
    return {"type": "fact", "content": content, "topic_key": "team"}


@pytest.mark.parametrize("embedder", [None, Meanings()])
def test_what_was_extracted_is_in_the_store_and_known_after_a_restart(
    embedder: Meanings | None,
) -> None:
    store = ListStore()
    memory = sarahs(store, embedder=embedder)
    memory.append("monday", "I live in Hamburg.", "My dog is called Pixel.")
    memory.end("monday")
    assert contents(store) == ["I live in Hamburg.", "My dog is called Pixel."]
    assert {bool(one.embedding) for one in store.held["sarah"].values()} == {embedder is not None}
    again = sarahs(store, embedder=embedder)
    again.append("friday", "Hello!")
    assert "I live in Hamburg." in again.context("friday")["memory_prompt"]
    first = again.recall("Where in Hamburg does Sarah live?")["memories"][0]
    assert (first["content"], first["source"]["session_id"], first["source"]["seqs"]) == (
        "I live in Hamburg.",
        "monday",
        [1],
    )
    assert [one["content"] for one in again.search("dog", mode="keyword")] == [
        "My dog is called Pixel."
    ]


def test_a_newer_value_of_a_topic_takes_the_place_of_the_older_one_also_after_a_restart() -> None:
    store = ListStore()
    memory = sarahs(store)
    memory.remember(topical("Sarah is in Sales."))
    memory.remember(topical("Sarah is in Design."))
    assert contents(store) == ["Sarah is in Design."]
    sarahs(store).remember(topical("Sarah is in Support."))
    assert contents(store) == ["Sarah is in Support."]
    assert [one["content"] for one in sarahs(store).recall("Is Sarah in Support?")["memories"]] == [
        "Sarah is in Support."
    ]


def test_a_memory_is_deleted_by_the_id_that_recall_gives_and_may_be_said_again() -> None:
    store = ListStore()
    for memory in (sarahs(store), sarahs(store)):
        memory.remember(topical("Sarah is in Sales."), "Sarah likes tea.")
        for question in ("Is Sarah in Sales?", "Does Sarah like tea?"):
            memory.delete_memory(memory.recall(question)["memories"][0]["id"])
        assert contents(store) == []
        with pytest.raises(MemoryNotFound):
            memory.delete_memory("mem_unknown")
        memory.remember("Sarah likes tea.")
        assert contents(store) == ["Sarah likes tea."]
    late = sarahs(store)
    late.delete_memory(late.recall("Does Sarah like tea?")["memories"][0]["id"])
    assert contents(store) == []


def test_erasing_empties_the_store_for_this_user_alone() -> None:
    store = ListStore()
    sarahs(store).remember("Sarah likes tea.")
    AgentMemory(user="bob", memory_store=store).remember("Bob likes rum.")
    memory = sarahs(store)
    assert "rum" not in format_as_context(memory.recall("Who likes rum?")["memories"])
    memory.erase()
    assert (store.count("sarah"), store.count("bob")) == (0, 1)
    assert memory.recall("Does Sarah like tea?")["memories"] == []


def test_a_memory_that_has_expired_is_not_found_and_leaves_the_store() -> None:
    store = ListStore()
    sarahs(store).remember("Sarah likes tea.")
    (held,) = store.held["sarah"].values()
    store.held["sarah"][held.id] = StoredMemory(
        held.id, held.content, held.said_at, None, {**held.fields, "expires_at": 9}
    )
    assert sarahs(store).recall("Does Sarah like tea?")["memories"] == []
    assert store.count("sarah") == 0


def test_preferences_and_messages_are_found_beside_the_store() -> None:
    store = ListStore()
    memory = sarahs(store)
    memory.preferences.set("language", "German")
    memory.append("monday", "The parcel arrives on Tuesday.")
    assert contents(store) == []
    assert [one["type"] for one in memory.recall("Which language?")["memories"]] == ["preference"]
    assert [one["type"] for one in memory.recall("When does the parcel arrive?")["memories"]] == [
        "message"
    ]
    memory.append("friday", "Hello!")
    assert "German" in memory.context("friday")["memory_prompt"]


def test_vectors_of_another_model_are_not_compared() -> None:
    store = ListStore()
    sarahs(store, embedder=Meanings()).remember("Sarah likes tea.")
    (held,) = store.held["sarah"].values()
    other = {**held.fields, "embedding_model": "another"}
    store.held["sarah"][held.id] = StoredMemory(
        held.id, held.content, held.said_at, held.embedding, other
    )
    assert sarahs(store, embedder=Meanings()).search("Sarah likes tea.", mode="vector") == []


class Down(ListStore):
    is_down = False

    def save(self, user: str, memory: StoredMemory) -> None:
        if self.is_down:
            raise Unavailable("The database is away.")
        super().save(user, memory)

    def search_by_keyword(self, user: str, text: str, *, k: int) -> Sequence[StoredMemory]:
        if self.is_down:
            raise Unavailable("The database is away.")
        return super().search_by_keyword(user, text, k=k)


def test_a_store_that_is_away_is_said_and_tried_again() -> None:
    store = Down()
    memory = sarahs(store)
    store.is_down = True
    with pytest.raises(Unavailable):
        memory.remember("Sarah likes tea.")
    assert "search" in memory.recall("Does Sarah like tea?")["degraded"]
    memory.append("monday", "Hello!")
    assert memory.context("monday")["messages"]
    store.is_down = False
    memory.append("monday", "Hello again!")
    assert contents(store) == ["Sarah likes tea."]


def test_what_needs_lists_or_versions_is_refused() -> None:
    memory = sarahs(ListStore())
    (made,) = memory.remember("Sarah likes tea.")
    name = made["id"]
    for refused in (
        lambda: list(memory.memories()),
        lambda: memory.memory(name),
        lambda: memory.versions(name),
        lambda: memory.change(name, importance=1.0),
        lambda: memory.revert(name),
        lambda: memory.forget(types=["fact"]),
    ):
        with pytest.raises(Invalid) as error:
            refused()
        assert error.value.code == "not_in_memory_store"
    with pytest.raises(BadRequest):
        AgentMemory(memory_store=ListStore(), stores=object())  # type: ignore[arg-type]
