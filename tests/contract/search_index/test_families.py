import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest
from palimpsest.engines.opensearch.queries import index_body
from palimpsest.errors import NotFound, Unavailable
from palimpsest.models.ports import Space
from palimpsest.search.ports import Gone
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.contract.search_index.builders import (
    EAST,
    NORTH,
    OTHER_SPACE,
    SPACE,
    Part,
    Place,
    document,
    somebody,
)
from tests.contract.search_index.conftest import place_in
from tests.doubles.owned_index import OwnedIndex


def test_before_the_first_index_there_is_nothing_to_find_and_no_write_is_taken(
    empty: Place,
) -> None:
    mine = OwnedIndex(empty.open(SPACE), somebody())
    assert mine.by_words("apple", k=1) == mine.by_words("", k=1) == mine.by_vector(EAST, k=1) == ()
    assert mine.count() == 0
    with pytest.raises(Unavailable):
        mine.write([document("a")])
    assert mine.count() == 0


def test_preparing_again_or_at_once_makes_one_index(empty: Place) -> None:
    threads = [threading.Thread(target=empty.open(SPACE).prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    empty.open(SPACE).prepare()
    assert len(empty.open(SPACE).indexes()) == 1


def test_an_index_of_words_alone_takes_no_vectors(empty: Place) -> None:
    index = empty.open(None)
    index.prepare()
    mine = Part(empty, OwnedIndex(index, somebody()))
    mine.put(document("a", "apple"))
    assert mine.words("apple") == ["a"]
    with pytest.raises(ValueError, match="no vectors"):
        mine.index.by_vector(EAST, k=1)
    with pytest.raises(ValueError, match="no vectors"):
        mine.index.write([document("b", vector=EAST)])


def test_vectors_of_two_models_are_never_compared(empty: Place) -> None:
    owner = somebody()
    old, new = empty.open(SPACE), empty.open(OTHER_SPACE)
    old.prepare()
    new.prepare()
    before, after = Part(empty, OwnedIndex(old, owner)), Part(empty, OwnedIndex(new, owner))
    before.put(document("old", "apple", vector=EAST))
    after.put(document("new", "apple", vector=EAST))
    assert (before.words("apple"), after.words("apple")) == (["new", "old"], ["new", "old"])
    assert before.near(EAST) == ["old"]
    with pytest.raises(Unavailable):
        after.near(EAST)
    empty.open(OTHER_SPACE).switch()  # in another process
    assert after.near(EAST) == ["new"]
    assert before.words("apple") == ["new", "old"]
    with pytest.raises(Unavailable):
        before.near(EAST)


def test_a_new_model_is_filled_while_writes_go_on_and_then_read(empty: Place) -> None:
    owner = somebody()
    old = empty.open(SPACE)
    old.prepare()
    before = Part(empty, OwnedIndex(old, owner))
    before.put(document("a", "apple", vector=EAST), document("b", "apple", vector=EAST))

    new = empty.open(OTHER_SPACE)
    new.prepare()
    after = Part(empty, OwnedIndex(new, owner))
    before.put(Gone("b", 2), document("c", "apple", version=2, vector=EAST))
    for key, version in (
        ("a", 3),
        ("b", 1),
        ("c", 3),
    ):  # what the back-fill read, some of it too old
        after.put(document(key, "apple", version=version, vector=NORTH))
    assert before.words("apple") == ["a", "c"]

    new.switch()
    assert after.words("apple") == ["a", "c"]
    assert after.near(NORTH) == ["a", "c"]
    assert len(new.indexes()) == 1
    assert new.indexes()[0] not in old.indexes()[1:]


def test_an_index_is_rebuilt_beside_the_one_that_is_read(empty: Place) -> None:
    index = empty.open(SPACE)
    index.prepare()
    mine = Part(empty, OwnedIndex(index, somebody()))
    mine.put(document("stale", "apple"), document("kept", "apple"))
    first = index.indexes()[0]
    index.prepare(afresh=True)
    index.prepare(afresh=True)  # the same one again: a rebuild goes on after a kill
    assert index.indexes()[0] == first
    assert len(index.indexes()) == 2
    mine.put(document("kept", "apple", version=2))
    assert mine.words("apple") == ["kept", "stale"]
    index.switch()
    assert mine.words("apple") == ["kept"]
    assert len(index.indexes()) == 1
    assert first not in index.indexes()


def test_switching_again_changes_nothing(empty: Place) -> None:
    index = empty.open(SPACE)
    index.prepare()
    mine = Part(empty, OwnedIndex(index, somebody()))
    mine.put(document("a", "apple", vector=EAST))
    index.switch()
    index.switch()
    assert mine.words("apple") == mine.near(EAST) == ["a"]


def test_switching_to_a_space_without_index_is_refused_and_harmless(empty: Place) -> None:
    index = empty.open(SPACE)
    index.prepare()
    with pytest.raises(NotFound):
        empty.open(OTHER_SPACE).switch()
    assert len(index.indexes()) == 1


def test_spaces_of_one_model_differ_by_their_dimension(empty: Place) -> None:
    empty.open(SPACE).prepare()
    longer = empty.open(Space(SPACE.model, 5))
    longer.prepare()
    assert len(longer.indexes()) == 2
    with pytest.raises(Unavailable):
        longer.by_vector(somebody(), (1, 0, 0, 0, 0), k=1)


def test_a_switch_loses_no_acknowledged_write(empty: Place) -> None:
    owner = somebody()
    old, new = empty.open(SPACE), empty.open(OTHER_SPACE)
    old.prepare()
    new.prepare()
    writer, begun = OwnedIndex(old, owner), threading.Event()

    def write() -> None:
        for number in range(60):
            while writer.write([document(f"d{number}", "apple")]):
                pass
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    new.switch()
    thread.join()
    empty.settle()
    assert new.count(owner) == 60
    assert len(new.indexes()) == 1


def test_an_index_of_an_earlier_version_is_written_and_searched(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with place_in("opensearch", tmp_path, request) as place:
        index = place.open(None)
        name = f"{place.family}.words.1"
        body = index_body(None, write_alias=f"{name}.in", shards=1)
        for field in ("word_count", "part_count"):
            del body["mappings"]["properties"][field]
        place.client.indices.create(
            index=name, body={**body, "aliases": {place.family: {}, f"{name}.in": {}}}
        )
        index.prepare()
        part = Part(place, OwnedIndex(index, somebody()))
        part.put(document("a", "apple"))
        assert part.words("apple") == ["a"]


def test_a_file_of_an_earlier_version_counts_its_documents(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    index = EmbeddedIndex(file, space=None)
    index.prepare()
    mine = OwnedIndex(index, somebody())
    mine.write([document("a", "apple and pear"), document("b", "apple")])
    before = mine.by_words("apple", k=5)
    index.close()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for name in ("words_documents", "words_total", "parts_documents", "parts_total"):
            connection.execute(f"ALTER TABLE shelves DROP COLUMN {name}")
    EmbeddedIndex(file, space=None).prepare()
    assert mine.by_words("apple", k=5) == before
    index.close()


def test_a_file_that_another_process_writes_is_waited_for_when_it_gets_its_log(
    tmp_path: Path,
) -> None:
    file = tmp_path / "index.sqlite"
    writer = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    writer.execute("CREATE TABLE other (value)")
    writer.execute("BEGIN IMMEDIATE")
    ending = threading.Timer(0.2, lambda: writer.execute("COMMIT"))
    ending.start()
    index = EmbeddedIndex(file, space=SPACE)
    index.prepare()
    ending.join()
    writer.close()
    assert len(index.indexes()) == 1
