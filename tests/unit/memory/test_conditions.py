"""Conditions on metadata: the tables, search indexes and jobs that forget decide them alike."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from palimpsest.memory.conditions import place
from palimpsest.memory.filters import MemoryFilter, StoredFilter, _digest, folded, record_terms
from palimpsest.memory.record import Record
from palimpsest.memory.removal.payloads import ForgetPayload

from tests.service import DAVID, SARAH

METADATA = {
    "team": "red",
    "level": 3,
    "share": 0.5,
    "low": -2,
    "ok": True,
    "none": None,
    "tags": ["a", 1],
    "empty": {},
    "at": "2026-01-02",
    "place": {"city": "Rome", "hall": {"floor": 2}},
}
SCALARS = some.one_of(
    some.sampled_from(["a", "b", "1", "true", "2026-01-01", "2026-01-02T00:00:00Z", ""]),
    some.integers(-3, 3),
    some.floats(-2, 2),
    some.booleans(),
    some.sampled_from([10**30, -(10**400), 1e308]),
)
VALUES = some.recursive(
    some.one_of(SCALARS, some.none()),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3), some.dictionaries(some.sampled_from("abc"), inner)
    ),
    max_leaves=6,
)
COMPARED = SCALARS.filter(lambda value: place(value) is not None)
CONDITIONS = some.one_of(
    SCALARS,
    some.fixed_dictionaries(
        {},
        optional={
            "eq": SCALARS,
            "ne": SCALARS,
            "in": some.lists(SCALARS, min_size=1, max_size=3),
            "exists": some.booleans(),
            "gt": COMPARED,
            "gte": COMPARED,
            "lt": COMPARED,
            "lte": COMPARED,
        },
    ).filter(bool),
)


def a_record(metadata: dict[str, Any]) -> Record:
    return Record("mem_1", "fact", "likes tea", created_at=1, valid_from=1, metadata=metadata)


def decided(metadata: dict[str, Any], wanted: dict[str, Any]) -> set[bool]:
    """What the table, an index and a stored job each say."""
    where, record = MemoryFilter(metadata=wanted), a_record(metadata)
    stored = StoredFilter.of_payload(SARAH, StoredFilter.of(SARAH, where).payload())
    terms = record_terms(record)
    return {
        where.matches(record),
        all(test.passes(terms) for test in where.tests),
        stored.matches(record),
    }


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"team": "red", "level": 3.0}, True),
        ({"level": "3"}, False),
        ({"ok": 1}, False),
        ({"tags": "a"}, True),
        ({"tags": {"ne": "a"}}, False),
        ({"other": {"ne": "a"}}, True),
        ({"place.hall.floor": {"gte": 2, "lt": 3}}, True),
        ({"place.hall.floor": {"gt": 2}}, False),
        ({"low": {"lt": -1}}, True),
        ({"team": {"gt": 0}}, False),
        ({"at": {"gt": "2026-01-01T23:59:59+00:00"}}, True),
        ({"at": {"lte": "2026-01-02T01:00:00+02:00"}}, False),
        ({"at": {"gt": 0}}, False),
        ({"level": {"in": ["3", 4]}}, False),
        ({"level": {"in": [3, 4]}}, True),
        (
            {"place": {"exists": True}, "place.hall": {"exists": True}, "empty": {"exists": True}},
            True,
        ),
        ({"none": {"exists": True}}, True),
        ({"plac": {"exists": True}}, False),
        ({"place.city": {"exists": False}}, False),
        ({"level": {"gte": 3, "ne": 3}}, False),
    ],
)
def test_a_condition_holds_or_not_wherever_it_is_decided(
    wanted: dict[str, Any],
    holds: bool,  # noqa: FBT001
) -> None:  # noqa: FBT001, RUF100
    assert decided(METADATA, wanted) == {holds}


@given(
    some.dictionaries(some.sampled_from("abc"), VALUES, max_size=3),
    CONDITIONS,
    some.sampled_from(["a", "a.b", "c"]),
)
def test_everybody_decides_every_condition_alike(
    metadata: dict[str, Any], wanted: Any, path: str
) -> None:
    assert len(decided(metadata, {path: wanted})) == 1


@given(some.none() | some.text(max_size=5), some.text(min_size=1, max_size=5))
def test_a_subject_is_one_in_any_case_wherever_it_is_decided(said: str | None, other: str) -> None:
    record = replace(a_record({}), subject=said)
    for asked in (other, (said or other).upper(), (said or other).lower()):
        where = MemoryFilter(subject=asked)
        stored = StoredFilter.of_payload(SARAH, StoredFilter.of(SARAH, where).payload())
        holds = said is not None and said.casefold() == asked.casefold()
        assert {where.matches(record), stored.matches(record), folded(said) in where.subjects} == {
            holds
        }


def test_a_job_of_an_earlier_release_still_forgets_the_subject_that_was_named() -> None:
    earlier = ForgetPayload(subject=_digest(SARAH, "subject", "Sarah"))
    stored = StoredFilter.of_payload(SARAH, earlier)
    assert stored.matches(replace(a_record({}), subject="Sarah"))
    assert not stored.matches(replace(a_record({}), subject="Tom"))


@given(some.floats(allow_nan=False), some.floats(allow_nan=False))
def test_numbers_sort_as_their_places_do(one: float, other: float) -> None:
    assert ((place(one) or "") < (place(other) or "")) == (one < other)
    assert place(math.copysign(0.0, -1)) == place(0)


def test_a_job_holds_no_text_of_a_condition_and_two_users_have_no_digest_in_common() -> None:
    where = MemoryFilter(
        topic="employer", metadata={"salary": {"gte": 4111}, "team": {"in": ["red", "blue"]}}
    )
    mine, theirs = (StoredFilter.of(owner, where).payload() for owner in (SARAH, DAVID))
    for text in ("employer", "salary", "team", "red", "blue"):
        assert text not in repr(mine)
    parts = [
        {part for condition in each.conditions for part in condition.split(":") if len(part) == 32}
        for each in (mine, theirs)
    ]
    assert parts[0].isdisjoint(parts[1])
    assert mine.topic != theirs.topic
