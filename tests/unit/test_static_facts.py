"""Static facts: few and short, named by the tenant, changed by nobody else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from palimpsest.clock import FakeClock, SystemClock
from palimpsest.errors import BadRequest, Conflict, NotFound, TooLarge, Unprocessable
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact
from palimpsest.tenants.static_facts import LONGEST_FACT, MOST_FACTS, ManageStaticFacts
from palimpsest_local.stores.tenants import LocalStaticFacts

ACME, OTHER = Scope("acme"), Scope("other")


def managing() -> ManageStaticFacts:
    return ManageStaticFacts(LocalStaticFacts(), FakeClock())


def test_a_fact_is_put_read_replaced_and_deleted() -> None:
    manage = managing()
    assert manage.put(ACME, "remote", content="Three days from home.", agent="hr") is True
    fact = manage.read(ACME, "remote")
    assert fact == StaticFact(
        "remote", "Three days from home.", "2026-01-01T00:00:00.000Z", agent="hr"
    )
    assert manage.put(ACME, "remote", content="Four days.") is False
    assert [(each.content, each.agent) for each in manage.listed(ACME)] == [("Four days.", None)]
    manage.delete(ACME, "remote")
    assert manage.listed(ACME) == ()


def test_facts_are_the_tenants_alone() -> None:
    manage = managing()
    manage.put(ACME, "remote", content="Three days.")
    assert manage.listed(OTHER) == ()
    with pytest.raises(NotFound) as unknown:
        manage.delete(OTHER, "remote")
    assert unknown.value.code == "fact_not_found"


@pytest.mark.parametrize("name", ["", "..", "a#b", "a/b", "é", "x" * 129])
def test_an_id_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadRequest):
        managing().put(ACME, name, content="A policy")
    with pytest.raises(BadRequest):
        managing().put(ACME, "p", content="A policy", agent=name)


def test_a_fact_says_something_and_not_too_much() -> None:
    manage = managing()
    manage.put(ACME, "long", content="x" * LONGEST_FACT)
    with pytest.raises(TooLarge) as long:
        manage.put(ACME, "longer", content="x" * (LONGEST_FACT + 1))
    assert long.value.code == "fact_too_large"
    with pytest.raises(Unprocessable):
        manage.put(ACME, "empty", content=" \n")


def test_a_tenant_has_two_hundred_facts_at_most() -> None:
    manage = managing()
    for number in range(MOST_FACTS):
        manage.put(ACME, f"f{number}", content="A policy")
    with pytest.raises(Conflict) as full:
        manage.put(ACME, "one-more", content="A policy")
    assert full.value.code == "too_many_facts"
    manage.put(ACME, "f7", content="A newer policy")
    manage.delete(ACME, "f0")
    manage.put(ACME, "one-more", content="A policy")
    assert len(manage.listed(ACME)) == MOST_FACTS


def test_writers_at_once_lose_nothing_and_pass_no_limit() -> None:
    manage = ManageStaticFacts(LocalStaticFacts(), SystemClock())
    for number in range(MOST_FACTS - 5):
        manage.put(ACME, f"f{number}", content="A policy")

    def put(number: int) -> bool:
        try:
            return manage.put(ACME, f"n{number}", content="A policy")
        except Conflict:
            return False

    with ThreadPoolExecutor(8) as writers:
        assert sum(writers.map(put, range(8))) == 5
    assert len(manage.listed(ACME)) == MOST_FACTS
