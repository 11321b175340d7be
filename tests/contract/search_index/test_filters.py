from typing import Any

import pytest

from tests.contract.search_index.builders import EAST, Part, document

FULL: dict[str, Any] = {
    "kind": "event", "importance": 0.7, "created_at": 1_000, "subject": "Sarah's \"desk\"", "session": "s:1",
    "agent": "hr", "metadata": ["team=red", "a=b=c", "q=it's \"x\"\\"],
}  # fmt: skip


@pytest.fixture
def filled(part: Part) -> Part:
    part.put(document("full", "apple", vector=EAST, **FULL), document("bare", "apple", vector=EAST, created_at=5_000))
    return part


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, ["bare", "full"]),
        ({"types": frozenset({"event", "message"})}, ["full"]),
        ({"types": frozenset({"instruction"})}, []),
        ({"min_importance": 0.7}, ["full"]),
        ({"min_importance": 0.0}, ["bare", "full"]),
        ({"min_importance": 0.71}, []),
        ({"created_after": 1_000}, ["bare", "full"]),
        ({"created_after": 1_001}, ["bare"]),
        ({"created_before": 1_000}, ["full"]),
        ({"created_before": 0}, []),
        ({"subject": 'Sarah\'s "desk"'}, ["full"]),
        ({"subject": "sarah"}, []),
        ({"subject": "*"}, []),
        ({"session": "s:1"}, ["full"]),
        ({"session": "s:1 OR 1=1"}, []),
        ({"agent": "hr"}, ["full"]),
        ({"agent": ""}, []),
        ({"metadata": {"team": "red"}}, ["full"]),
        ({"metadata": {"a": "b=c", "q": 'it\'s "x"\\'}}, ["full"]),
        ({"metadata": {"team": "red", "tier": "blue"}}, []),
        ({"metadata": {"team": "*"}}, []),
        ({"types": frozenset({"event"}), "agent": "hr", "created_before": 999}, []),
    ],
)
def test_both_searches_hold_to_the_filter(filled: Part, where: dict[str, Any], found: list[str]) -> None:
    assert filled.words("apple", **where) == found
    assert filled.near(EAST, **where) == found


def test_metadata_of_64_terms_and_a_very_long_one_is_kept(part: Part) -> None:
    terms = [f"key{number}=value {number}" for number in range(63)] + ["long=" + "x" * 40_000]
    part.put(document("a", "apple", metadata=terms, subject="y" * 40_000))
    assert part.words("apple", metadata={f"key{number}": f"value {number}" for number in range(63)}) == ["a"]
