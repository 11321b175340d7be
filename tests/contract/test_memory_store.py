"""What every `MemoryStore` promises: what is saved is found by words and by vector, each user's
apart.
"""

from __future__ import annotations

import pytest
from palimpsest.stores import MemoryStore, StoredMemory

SARAH, BOB = "sarah", "bob"
FIELDS = {
    "type": "fact",
    "source": {"seqs": [1, 2], "quote": "I live in Rome </x> 日本"},
    "share": 0.5,
    "none": None,
}
ROME = StoredMemory("mem_1", "Sarah lives in Rome.", 1_000, (1.0, 0.0), FIELDS)
TEA = StoredMemory("mem_2", "Sarah drinks green tea in Rome.", 2_000, (0.6, 0.8))
RACE = StoredMemory("mem_3", "Sarah ran a race.", 3_000)


@pytest.fixture
def filled(memory_store: MemoryStore) -> MemoryStore:
    memory_store.save(SARAH, ROME)
    memory_store.save_all(SARAH, [TEA, RACE])
    return memory_store


def by_keyword(store: MemoryStore, text: str, *, user: str = SARAH, k: int = 10) -> list[str]:
    return [memory.id for memory in store.search_by_keyword(user, text, k=k)]


def by_vector(store: MemoryStore, *vector: float, user: str = SARAH, k: int = 10) -> list[str]:
    return [memory.id for memory, _ in store.search_by_vector(user, vector, k=k)]


def test_a_user_of_whom_nothing_was_saved_has_no_memories(memory_store: MemoryStore) -> None:
    assert (
        memory_store.count(SARAH),
        memory_store.delete_all(SARAH),
        memory_store.delete(SARAH, "x"),
    ) == (0, 0, False)
    assert (
        by_keyword(memory_store, "Rome"),
        by_keyword(memory_store, ""),
        by_vector(memory_store, 1.0, 0.0),
    ) == ([], [], [])


def test_a_memory_comes_back_as_it_was_saved(filled: MemoryStore) -> None:
    (found,) = (memory for memory in filled.search_by_keyword(SARAH, "lives", k=1))
    assert (found.id, found.content, found.said_at, dict(found.fields)) == (
        "mem_1",
        ROME.content,
        1_000,
        FIELDS,
    )
    assert list(found.embedding or ()) == pytest.approx([1.0, 0.0])
    (race,) = filled.search_by_keyword(SARAH, "race", k=1)
    assert race.embedding is None


def test_the_best_match_of_words_comes_first_and_what_has_no_word_is_left_out(
    filled: MemoryStore,
) -> None:
    assert by_keyword(filled, "green tea in ROME") == ["mem_2", "mem_1"]
    assert by_keyword(filled, "green tea in rome", k=1) == ["mem_2"]
    assert by_keyword(filled, "violin") == []


def test_an_empty_text_gives_what_was_said_last(filled: MemoryStore) -> None:
    assert by_keyword(filled, "") == ["mem_3", "mem_2", "mem_1"]
    assert by_keyword(filled, "", k=2) == ["mem_3", "mem_2"]


@pytest.mark.parametrize(
    "text", ["Rome' OR '1'='1", 'Rome" AND (', "Rome; DROP TABLE memories; --", "Rome*:~\\"]
)
def test_a_text_is_no_query_language(filled: MemoryStore, text: str) -> None:
    assert set(by_keyword(filled, text)) <= {"mem_1", "mem_2"}
    assert by_keyword(filled, "xyz* OR lives") in ([], ["mem_1"])
    assert filled.count(SARAH) == 3


def test_the_nearest_vector_comes_first_with_its_cosine(filled: MemoryStore) -> None:
    found = filled.search_by_vector(SARAH, (0.0, 2.0), k=10)
    assert [memory.id for memory, _ in found] == ["mem_2", "mem_1"]
    assert [score for _, score in found] == pytest.approx([0.8, 0.0], abs=1e-3)
    assert by_vector(filled, 1.0, 0.1, k=1) == ["mem_1"]
    assert by_vector(filled, 1.0, 0.0, 0.0) == []


def test_the_same_id_replaces_unless_what_is_there_was_said_later(filled: MemoryStore) -> None:
    filled.save(SARAH, StoredMemory("mem_1", "Sarah lives in Paris.", 5_000, (0.0, 1.0)))
    filled.save_all(SARAH, [StoredMemory("mem_1", "Sarah lives in Oslo.", 4_000, (1.0, 0.0))])
    assert by_keyword(filled, "lives") == ["mem_1"]
    assert [memory.content for memory in filled.search_by_keyword(SARAH, "lives", k=9)] == [
        "Sarah lives in Paris."
    ]
    assert by_keyword(filled, "Oslo") == []
    assert by_vector(filled, 0.0, 1.0, k=1) == ["mem_1"]
    filled.save(SARAH, RACE)
    assert filled.count(SARAH) == 3


def test_a_deleted_memory_is_found_by_nothing(filled: MemoryStore) -> None:
    assert (filled.delete(SARAH, "mem_1"), filled.delete(SARAH, "mem_1")) == (True, False)
    assert (by_keyword(filled, "lives"), by_vector(filled, 1.0, 0.0), filled.count(SARAH)) == (
        [],
        ["mem_2"],
        2,
    )
    assert (filled.delete_all(SARAH), filled.count(SARAH)) == (2, 0)
    assert by_keyword(filled, "") == []


def test_users_are_apart_though_they_use_the_same_ids(filled: MemoryStore) -> None:
    filled.save(BOB, StoredMemory("mem_1", "Bob lives in Lima.", 1_000, (1.0, 0.0)))
    assert [memory.content for memory in filled.search_by_keyword(BOB, "lives Rome", k=9)] == [
        "Bob lives in Lima."
    ]
    assert by_vector(filled, 1.0, 0.0, user=BOB) == ["mem_1"]
    assert filled.delete(BOB, "mem_2") is False
    assert (filled.delete_all(BOB), filled.count(BOB), filled.count(SARAH)) == (1, 0, 3)
