from __future__ import annotations

import pytest
from palimpsest.engines.dynamodb.tenants import DynamoDbStaticFacts, DynamoDbTenants
from palimpsest.errors import CommitLost
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact, StaticFacts
from palimpsest.tenants.settings import TenantSettings
from palimpsest_local.stores.tenants import LocalStaticFacts

from tests.contract.tables import tenants_table

ACME, OTHER = Scope("acme"), Scope("acm")
WHEN = "2026-01-15T09:00:00.000Z"
POLICY = StaticFact("remote", "Three days a week from home. \x00 é 日本", WHEN)
ALLOWANCE = StaticFact("chair", "A chair is paid for, up to $300.", WHEN, agent="hr")


@pytest.fixture
def facts(engine: str, endpoint: str | None) -> StaticFacts:
    if engine == "in_memory":
        return LocalStaticFacts()
    return DynamoDbStaticFacts(tenants_table(endpoint), endpoint=endpoint)


def test_a_tenant_that_stated_nothing_has_no_facts(facts: StaticFacts) -> None:
    assert (facts.version(ACME), facts.all(ACME)) == (0, ())


def test_facts_come_back_as_they_were_put_by_id(facts: StaticFacts) -> None:
    facts.put(ACME, POLICY, version=0)
    facts.put(ACME, ALLOWANCE, version=1)
    assert facts.all(ACME) == (ALLOWANCE, POLICY)
    assert facts.version(ACME) == 2


def test_a_fact_that_is_no_text_comes_back_as_the_json_that_it_was(facts: StaticFacts) -> None:
    table = StaticFact("table", {"days": [3, 4.5], "car": None, "is_free": True}, WHEN)
    facts.put(ACME, table, version=0)
    assert facts.get(ACME, "table") == table
    facts.put(ACME, StaticFact("table", "No table.", WHEN), version=1)
    assert [fact.content for fact in facts.all(ACME)] == ["No table."]


def test_one_fact_is_read_by_its_id(facts: StaticFacts) -> None:
    facts.put(ACME, POLICY, version=0)
    assert facts.get(ACME, "remote") == POLICY
    assert (facts.get(ACME, "chair"), facts.get(OTHER, "remote")) == (None, None)


def test_a_fact_is_replaced_whole(facts: StaticFacts) -> None:
    facts.put(ACME, ALLOWANCE, version=0)
    newer = StaticFact("chair", "No chairs any more.", "2026-02-01T00:00:00.000Z")
    facts.put(ACME, newer, version=1)
    assert facts.all(ACME) == (newer,)


def test_a_deleted_fact_is_gone_and_deleting_counts_as_a_change(facts: StaticFacts) -> None:
    facts.put(ACME, POLICY, version=0)
    facts.delete(ACME, POLICY.id, version=1)
    facts.delete(ACME, "never-there", version=2)
    assert (facts.version(ACME), facts.all(ACME)) == (3, ())


@pytest.mark.parametrize("version", [0, 2])
def test_who_read_another_version_changes_nothing(facts: StaticFacts, version: int) -> None:
    facts.put(ACME, POLICY, version=0)
    with pytest.raises(CommitLost):
        facts.put(ACME, ALLOWANCE, version=version)
    with pytest.raises(CommitLost):
        facts.delete(ACME, POLICY.id, version=version)
    assert (facts.version(ACME), facts.all(ACME)) == (1, (POLICY,))


def test_facts_are_their_tenants_alone(facts: StaticFacts) -> None:
    facts.put(ACME, POLICY, version=0)
    facts.put(OTHER, ALLOWANCE, version=0)
    assert (facts.all(ACME), facts.all(OTHER)) == ((POLICY,), (ALLOWANCE,))


@pytest.mark.not_in_process
def test_two_hundred_long_facts_are_read_whole(facts: StaticFacts) -> None:
    made = [StaticFact(f"f{number:03d}", "é" * 4_000, WHEN) for number in range(200)]
    for version, fact in enumerate(made):
        facts.put(ACME, fact, version=version)
    assert facts.all(ACME) == tuple(made)


def test_facts_and_defaults_of_a_tenant_lie_beside_each_other(
    engine: str, endpoint: str | None
) -> None:
    if engine == "in_memory":
        pytest.skip("these are of two stores there")
    table = tenants_table(endpoint)
    facts, tenants = (
        DynamoDbStaticFacts(table, endpoint=endpoint),
        DynamoDbTenants(table, endpoint=endpoint),
    )
    tenants.replace_settings(ACME, TenantSettings(retention_days=7))
    facts.put(ACME, POLICY, version=0)
    assert tenants.settings(ACME).retention_days == 7
    assert facts.all(ACME) == (POLICY,)
