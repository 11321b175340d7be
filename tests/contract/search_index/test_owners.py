import uuid

import pytest
from palimpsest.search.ports import Gone, Owner

from tests.contract.search_index.builders import EAST, SPACE, Part, Place, document, somebody

LOOKALIKES = [
    (Owner("a", "b|c"), Owner("a|b", "c")),
    (Owner("a", "b"), Owner("A", "b")),
    (Owner("a", ""), Owner("", "a")),
    (Owner("a", "*"), Owner("a", "b")),
    (Owner('a", "b', "c"), Owner("a", 'b", "c')),
    (Owner("a' OR '1'='1", "b"), Owner("a", "b")),
    (Owner("a", "b OR c"), Owner("a", "c")),
    (Owner("é", "x"), Owner("e\u0301", "x")),
]


def part_of(place: Place, owner: Owner) -> Part:
    return Part(place, place.open(SPACE).of(owner))


@pytest.mark.parametrize(("one", "other"), LOOKALIKES)
def test_owners_share_keys_and_texts_but_nothing_else(shared: Place, one: Owner, other: Owner) -> None:
    mine, theirs = part_of(shared, one), part_of(shared, other)
    same = uuid.uuid4().hex
    theirs.put(document(same, "secret garden", vector=EAST, subject="theirs"))
    assert mine.words("secret garden") == mine.near(EAST) == []
    mine.put(document(same, "secret garden", vector=EAST, subject="mine"))
    assert mine.words("secret", subject="theirs") == theirs.words("secret", subject="mine") == []
    mine.put(Gone(same, 2))
    assert (mine.index.count(), theirs.index.count()) == (0, 1)
    assert theirs.index.forget() == 1


def test_forgetting_an_owner_takes_everything_of_theirs_and_nothing_of_others(shared: Place) -> None:
    mine, theirs = part_of(shared, somebody()), part_of(shared, somebody())
    mine.put(*(document(f"d{number}", "apple", vector=EAST) for number in range(300)))
    theirs.put(document("d0", "apple", vector=EAST))
    assert mine.index.forget() == 300
    shared.settle()
    assert mine.words("apple") == mine.near(EAST) == []
    assert (mine.index.count(), mine.index.forget()) == (0, 0)
    assert theirs.words("apple") == theirs.near(EAST) == ["d0"]


def test_what_was_written_just_before_is_forgotten_too(shared: Place) -> None:
    mine = part_of(shared, somebody())
    assert mine.index.write([document("a", "apple")]) == ()
    mine.index.forget()
    shared.settle()
    assert mine.words("apple") == []


def test_a_forgotten_owner_may_come_back(shared: Place) -> None:
    mine = part_of(shared, somebody())
    mine.put(document("a", "apple", vector=EAST))
    mine.index.forget()
    mine.put(document("a", "pear", version=10, vector=EAST))
    assert (mine.words("pear"), mine.words("apple"), mine.near(EAST)) == (["a"], [], ["a"])


def test_keys_are_taken_as_they_are(part: Part) -> None:
    odd = ["session/12", "../a", "a b", "*", '"', "'; --", "%00", "ключ", "k" * 400, "a", "A"]
    part.put(*(document(key, "apple") for key in odd))
    assert part.words("apple", k=50) == sorted(odd)
    part.put(*(Gone(key, 2) for key in odd[:-1]))
    assert part.words("apple") == ["A"]
