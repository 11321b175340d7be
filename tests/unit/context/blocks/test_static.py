"""The static block: read by every conversation, changed by none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.context.blocks import static
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.errors import ReadOnlyBlock, Unavailable
from palimpsest.scope import Scope
from palimpsest.tenants.ports import StaticFact

from tests.unit.context.blocks.remembered import ACME, Remembered, conversation

WHEN = "2026-01-01T00:00:00.000Z"
POLICY = StaticFact("remote", "Three days a week from home.", WHEN)
ONLY_HR = StaticFact("chair", "A chair is paid for.", WHEN, agent="hr")


def stated(*facts: StaticFact) -> tuple[Remembered, StaticMemory]:
    service = Remembered()
    for version, fact in enumerate(facts):
        service.facts.put(ACME, fact, version=version)
    service.facts.calls.clear()
    return service, StaticMemory(service.facts)


def test_facts_of_the_tenant_are_for_every_agent_and_those_of_an_agent_for_that_one() -> None:
    _, memory = stated(POLICY, ONLY_HR)
    assert [item.id for item in memory.get(conversation()).items] == ["remote"]
    assert [item.id for item in memory.get(conversation(agent="hr")).items] == ["chair", "remote"]
    assert [item.id for item in memory.get(conversation(agent="it")).items] == ["remote"]


def test_facts_that_did_not_change_cost_one_small_read() -> None:
    service, memory = stated(POLICY)
    for _ in range(3):
        assert memory.get(conversation()).items
    assert service.facts.calls == {"version": 3, "all": 1}


def test_a_changed_fact_is_seen_at_once() -> None:
    service, memory = stated(POLICY)
    memory.get(conversation())
    service.facts.put(ACME, StaticFact("remote", "Four days.", WHEN), version=1)
    assert [item.text for item in memory.get(conversation()).items] == ["Four days."]
    service.facts.delete(ACME, "remote", version=2)
    assert memory.get(conversation()).items == ()


def test_a_conversation_can_not_change_what_the_tenant_states() -> None:
    _, memory = stated(POLICY)
    with pytest.raises(ReadOnlyBlock) as refused:
        memory.update(conversation(), "Everybody gets a car.")
    assert refused.value.code == "read_only_block"
    with pytest.raises(ReadOnlyBlock):
        memory.delete(conversation())
    assert [item.id for item in memory.get(conversation()).items] == ["remote"]


def test_a_store_that_fails_is_not_a_tenant_without_facts() -> None:
    service, memory = stated(POLICY)
    memory.get(conversation())
    service.facts.failing["version"] = Unavailable("down")
    with pytest.raises(Unavailable):
        memory.get(conversation())


def test_the_facts_that_were_used_last_are_cached_within_their_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenant with one fact weighs two, one with two facts three: six units hold the first and
    another, no third.
    """
    monkeypatch.setattr(static, "MOST_STATED", 6)
    service = Remembered()
    tenants = [Scope(name) for name in ("a", "b", "c")]
    for tenant, number in zip(tenants, (1, 2, 2), strict=True):
        for version in range(number):
            service.facts.put(
                tenant, StaticFact(f"fact-{version}", "It is so.", WHEN), version=version
            )
    memory = StaticMemory(service.facts)

    def reads_of(tenant: Scope) -> int:
        service.facts.calls.clear()
        session = conversation()
        assert memory.get(replace(session, scope=tenant.session("s"))).items
        return int(service.facts.calls.get("all", 0))

    a, b, c = tenants
    assert [reads_of(a), reads_of(b), reads_of(a), reads_of(b), reads_of(a)] == [1, 1, 0, 0, 0]
    assert reads_of(c) == 1  # in the place of b, which was used before a
    assert [reads_of(a), reads_of(c), reads_of(b)] == [0, 0, 1]
