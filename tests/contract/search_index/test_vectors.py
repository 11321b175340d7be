import math
import sys
from pathlib import Path

import pytest
from palimpsest.scope import UserScope
from palimpsest.search.ports import Gone
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.contract.search_index.builders import (
    EAST,
    NEARLY_EAST,
    NORTH,
    SPACE,
    UP,
    Part,
    document,
    keys,
    somebody,
)
from tests.doubles.owned_index import OwnedIndex


def test_the_nearest_comes_first_with_its_cosine(part: Part) -> None:
    part.put(
        document("n", vector=NORTH), document("e", vector=EAST), document("ne", vector=NEARLY_EAST)
    )
    hits = part.index.by_vector((2, 0, 0, 0), k=2)
    assert keys(hits) == ["e", "ne"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.9 / math.hypot(0.9, 0.1)], abs=1e-4)


def test_an_opposite_vector_scores_minus_one(part: Part) -> None:
    part.put(document("e", vector=EAST))
    assert part.index.by_vector((-1, 0, 0, 0), k=1)[0].score == pytest.approx(-1, abs=1e-4)


def test_the_filter_holds_while_searching_and_not_afterwards(part: Part) -> None:
    near = [document(f"near{number}", vector=EAST, session="here") for number in range(120)]
    part.put(*near, document("far", vector=(0.1, 1, 1, 1), session="there"))
    assert part.near(EAST, k=2, session="there") == ["far"]


def test_foreigners_that_are_nearer_push_nothing_out(part: Part) -> None:
    part.put(document("mine", vector=NORTH), document("mine too", vector=UP))
    for number in range(10):
        foreign = OwnedIndex(part.place.open(SPACE), somebody(f"foreigner{number}"))
        Part(part.place, foreign).put(*(document(f"d{each}", vector=EAST) for each in range(20)))
    assert sorted(part.near(EAST, k=5)) == ["mine", "mine too"]


def test_equally_near_ones_come_in_order_of_their_keys(part: Part) -> None:
    part.put(*(document(f"d{number}", vector=EAST) for number in (3, 1, 2)))
    assert part.near(EAST, k=2) == ["d1", "d2"]


def test_a_document_without_vector_is_not_near_anything(part: Part) -> None:
    part.put(document("words only"), document("both", vector=UP))
    assert part.near(EAST) == ["both"]


def test_a_vector_of_another_length_is_an_error_and_nothing_is_written(part: Part) -> None:
    with pytest.raises(ValueError, match="4 numbers"):
        part.index.write([document("good", vector=EAST), document("bad", vector=(1, 0, 0))])
    with pytest.raises(ValueError, match="4 numbers"):
        part.index.by_vector((1, 0, 0, 0, 0), k=1)
    part.place.settle()
    assert part.index.count() == 0


@pytest.mark.parametrize("vector", [(0, 0, 0, 0), (math.nan, 0, 0, 0), (math.inf, 0, 0, 0)])
def test_a_vector_without_direction_is_an_error(part: Part, vector: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="finite and not zero"):
        part.index.write([document("a", vector=vector)])
    with pytest.raises(ValueError, match="finite and not zero"):
        part.index.by_vector(vector, k=1)


def test_the_embedded_index_finds_the_same_without_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = EmbeddedIndex(tmp_path / "index.sqlite", space=SPACE)
    index.prepare()
    mine = OwnedIndex(index, somebody())
    mine.write(
        [
            document("n", vector=NORTH),
            document("e", vector=EAST),
            document("ne", vector=NEARLY_EAST),
        ]
    )
    fast = mine.by_vector(EAST, k=3)
    monkeypatch.setitem(sys.modules, "numpy", None)
    plain = EmbeddedIndex(tmp_path / "index.sqlite", space=SPACE)
    slow = plain.by_vector(UserScope("acme", mine.owner.user), EAST, k=3)
    assert keys(slow) == keys(fast) == ["e", "ne", "n"]
    assert [hit.score for hit in slow] == pytest.approx([hit.score for hit in fast], abs=1e-6)
    index.close()
    plain.close()


def test_an_owners_vectors_are_read_again_after_any_process_wrote(tmp_path: Path) -> None:
    one, other = (EmbeddedIndex(tmp_path / "index.sqlite", space=SPACE) for _ in range(2))
    one.prepare()
    owner = somebody()
    one.write(owner, [document("a", vector=EAST)])
    assert keys(one.by_vector(owner, EAST, k=5)) == ["a"]
    other.write(owner, [document("b", vector=EAST), Gone("a", 2)])
    assert keys(one.by_vector(owner, EAST, k=5)) == ["b"]
    other.write(owner, [Gone("b", 2)])
    assert one.by_vector(owner, EAST, k=5) == ()
    one.close()
    other.close()
