from palimpsest.search.ports import Gone

from tests.contract.search_index.builders import EAST, NORTH, Part, document


def test_a_newer_version_replaces_everything_of_the_older(part: Part) -> None:
    part.put(document("a", "apple", vector=EAST, subject="fruit", metadata=["x=1"]))
    part.put(document("a", "pear", version=2, kind="event"))
    assert part.words("pear", types=frozenset({"event"})) == ["a"]
    assert part.words("apple") == part.near(EAST) == part.words("pear", metadata={"x": "1"}) == []
    assert part.index.count() == 1


def test_a_late_older_version_counts_as_done_and_changes_nothing(part: Part) -> None:
    part.put(document("a", "pear", version=7, vector=NORTH))
    part.put(document("a", "apple", version=6, vector=EAST))
    part.put(document("a", "apple", version=7))
    part.put(Gone("a", 5))
    assert (part.words("pear"), part.words("apple")) == (["a"], [])
    assert part.index.by_vector(NORTH, k=1)[0].score > 0.99


def test_a_write_that_comes_after_its_delete_stays_away(part: Part) -> None:
    part.put(document("a", "apple", version=1))
    part.put(Gone("a", 3))
    part.put(document("a", "apple", version=2))
    assert (part.words("apple"), part.index.count()) == ([], 0)


def test_a_delete_that_comes_before_its_write_keeps_it_away(part: Part) -> None:
    part.put(Gone("a", 3))
    part.put(document("a", "apple", version=2))
    assert part.words("apple") == []


def test_a_higher_version_comes_back_after_a_delete(part: Part) -> None:
    part.put(Gone("a", 3))
    part.put(document("a", "apple", version=4))
    assert part.words("apple") == ["a"]


def test_the_same_write_twice_is_one_document(part: Part) -> None:
    part.put(document("a", "apple"), document("a", "apple"))
    part.put(document("a", "apple"))
    assert (part.words("apple"), part.index.count()) == (["a"], 1)


def test_changes_of_one_key_in_one_call_end_at_the_highest_version(part: Part) -> None:
    part.put(document("a", "apple", version=2), Gone("a", 4), document("a", "pear", version=3))
    part.put(Gone("b", 1), document("b", "plum", version=2))
    assert (part.words("apple pear"), part.words("plum")) == ([], ["b"])


def test_no_change_is_no_work(part: Part) -> None:
    assert part.index.write([]) == ()


def test_versions_may_be_milliseconds(part: Part) -> None:
    part.put(document("a", "apple", version=1_800_000_000_123))
    part.put(document("a", "pear", version=1_800_000_000_122))
    assert part.words("apple") == ["a"]
