from typing import Any

import pytest
from palimpsest.memory.filters import folded, record_terms

from tests.contract.memory_builders import record
from tests.contract.search_index.builders import EAST, Part, document

FULL: dict[str, Any] = {
    "kind": "event",
    "importance": 0.7,
    "created_at": 1_000,
    "subject": folded('Sarah\'s "desk"'),
    "session": "s:1",
    "agent": "hr",
    "metadata": record_terms(
        record(
            1,
            importance=0.7,
            confidence=0.25,
            topic_key="desk",
            metadata={
                "team": "red",
                "a": "b=c",
                "q": 'it\'s "x"\\',
                "level": 3,
                "low": -2,
                "at": "2026-01-01T22:00:00Z",
                "ok": True,
                "tags": ["b", 1],
                "place": {"city": "Rome"},
            },
        )
    ),
}

SAID = ("Sarah", "Straße", "ΟΔΟΣ", "Ǆ")
ASKED = (
    ("Sarah", "sarah", "SARAH", "sArAh"),
    ("straße", "STRASSE", "Strasse"),
    ("οδος", "Οδοσ"),
    ("ǆ", "ǅ"),
)


@pytest.fixture
def filled(part: Part) -> Part:
    part.put(
        document("full", "apple", vector=EAST, **FULL),
        document("bare", "apple", vector=EAST, created_at=5_000),
    )
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
        ({"subject": 'sarah\'s "desk"'}, ["full"]),
        ({"subject": 'SARAH\'S "DESK"', "types": frozenset({"event", "fact"})}, ["full"]),
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
        (
            {
                "max_importance": 0.7,
                "min_confidence": 0.25,
                "max_confidence": 0.25,
                "topic": "desk",
            },
            ["full"],
        ),
        ({"max_importance": 0.69}, []),
        ({"min_confidence": 0.26}, []),
        ({"metadata": {"level": 3, "tags": 1}}, ["full"]),
        ({"metadata": {"level": "3"}}, []),
        ({"metadata": {"ok": True}}, ["full"]),
        ({"metadata": {"ok": "true"}}, []),
        ({"metadata": {"level": {"ne": 3}}}, ["bare"]),
        ({"metadata": {"level": {"gt": 2.5, "lt": 3.5}}}, ["full"]),
        ({"metadata": {"level": {"gt": 3}}}, []),
        ({"metadata": {"level": {"gte": 3, "lte": 3}}}, ["full"]),
        ({"metadata": {"level": {"lt": 3}}}, []),
        ({"metadata": {"low": {"lt": -1.5}}}, ["full"]),
        ({"metadata": {"low": {"gt": -1}}}, []),
        ({"metadata": {"at": {"gte": "2026-01-01", "lt": "2026-01-02T00:00:00+01:00"}}}, ["full"]),
        ({"metadata": {"at": {"gt": 0}}}, []),
        ({"metadata": {"team": {"in": ["blue", "red"]}}}, ["full"]),
        ({"metadata": {"team": {"in": ["blue", "re"]}}}, []),
        ({"metadata": {"place": {"exists": True}, "place.city": {"exists": True}}}, ["full"]),
        ({"metadata": {"place.city": "Rome", "plac": {"exists": False}}}, ["full"]),
        ({"metadata": {"place": {"exists": False}}}, ["bare"]),
    ],
)
def test_both_searches_hold_to_the_filter(
    filled: Part, where: dict[str, Any], found: list[str]
) -> None:
    assert filled.words("apple", **where) == found
    assert filled.near(EAST, **where) == found


def test_metadata_of_64_terms_and_a_very_long_one_is_kept(part: Part) -> None:
    terms = [f"key{number}=value {number}" for number in range(63)] + ["long=" + "x" * 40_000]
    part.put(document("a", "apple", metadata=terms, subject="y" * 40_000))
    assert part.words(
        "apple", metadata={f"key{number}": f"value {number}" for number in range(63)}
    ) == ["a"]


def test_a_subject_is_found_in_any_case_by_both_searches(part: Part) -> None:
    part.put(
        *(
            document(f"d{n}", "apple", vector=EAST, subject=folded(each))
            for n, each in enumerate(SAID)
        )
    )
    for number, ways in enumerate(ASKED):
        for way in ways:
            assert (
                part.words("apple", subject=way) == part.near(EAST, subject=way) == [f"d{number}"]
            ), way


def test_what_an_earlier_release_has_indexed_is_found_as_it_was_said(part: Part) -> None:
    part.put(
        *(
            document(subject, "apple", vector=EAST, subject=subject)
            for subject in ("Sarah", "sarah")
        )
    )
    assert (
        part.words("apple", subject="Sarah")
        == part.near(EAST, subject="Sarah")
        == ["Sarah", "sarah"]
    )
    assert part.words("apple", subject="SARAH") == part.near(EAST, subject="SARAH") == ["sarah"]
