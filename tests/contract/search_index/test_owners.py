import uuid

import pytest
from palimpsest.scope import UserScope
from palimpsest.search.ports import Gone

from tests.contract.search_index.builders import EAST, SPACE, Part, Place, document
from tests.doubles.owned_index import OwnedIndex

LOOKALIKES = [
    (UserScope("a", "b|c"), UserScope("a|b", "c")),
    (UserScope("a", "b"), UserScope("A", "b")),
    (UserScope("c", "d"), UserScope("d", "c")),
    (UserScope("e.f", "g"), UserScope("e", "f.g")),
    (UserScope("h:i", "j"), UserScope("h", "i:j")),
    (UserScope("k", "-l"), UserScope("k", "l")),
    (UserScope("m", "n=o"), UserScope("m=n", "o")),
    (UserScope("p", "q@r"), UserScope("p", "q+r")),
]


def part_of(place: Place, owner: UserScope) -> Part:
    return Part(place, OwnedIndex(place.open(SPACE), owner))


@pytest.mark.parametrize(("one", "other"), LOOKALIKES)
def test_owners_share_keys_and_texts_but_nothing_else(
    shared: Place, one: UserScope, other: UserScope
) -> None:
    mine, theirs = part_of(shared, one), part_of(shared, other)
    same = uuid.uuid4().hex
    theirs.put(document(same, "secret garden", vector=EAST, subject="theirs"))
    assert mine.words("secret garden") == mine.near(EAST) == []
    mine.put(document(same, "secret garden", vector=EAST, subject="mine"))
    assert mine.words("secret", subject="theirs") == theirs.words("secret", subject="mine") == []
    mine.put(Gone(same, 2))
    assert (mine.index.count(), theirs.index.count()) == (0, 1)


def test_an_owners_keys_are_listed_in_order_and_at_once(part: Part) -> None:
    index = part.index
    foreign = OwnedIndex(part.place.open(SPACE), UserScope("another", index.owner.user))
    foreign.write([document("b", "apple")])
    index.write([document(key, "apple", vector=EAST) for key in ("c", "a/10", "a", "a/9")])
    assert index.keys() == ("a", "a/10", "a/9", "c")
    assert (index.keys(limit=2), index.keys(after="a/10", limit=2), index.keys(after="c")) == (
        ("a", "a/10"), ("a/9", "c"), (),
    )  # fmt: skip
    index.write([Gone("a/10", 2), Gone("never", 2)])
    assert index.keys() == ("a", "a/9", "c")
    index.write([document("a/10", "apple", version=3)])
    assert index.keys() == ("a", "a/10", "a/9", "c")


def test_keys_are_taken_as_they_are(part: Part) -> None:
    odd = ["session/12", "../a", "a b", "*", '"', "'; --", "%00", "ключ", "k" * 400, "a", "A"]
    part.put(*(document(key, "apple") for key in odd))
    assert part.words("apple", k=50) == sorted(odd)
    part.put(*(Gone(key, 2) for key in odd[:-1]))
    assert part.words("apple") == ["A"]


def test_a_word_that_a_foreigner_writes_moves_no_score_of_mine(part: Part) -> None:
    part.put(
        document("a", "the tomato garden"),
        document("b", "a garden of ferns and a tomato"),
        document("c", "fern"),
    )
    before = part.index.by_words("tomato fern gardening", k=10)
    foreign = part_of(part.place, UserScope("another", part.index.owner.user))
    foreign.put(*(document(f"d{number}", "tomato fern " * number) for number in range(1, 40)))
    assert part.index.by_words("tomato fern gardening", k=10) == before
    assert len(before) == 3
