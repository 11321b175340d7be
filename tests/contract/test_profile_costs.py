"""What a profile costs on DynamoDB, in its units: bounded, however much is known of the user."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.clock import FakeClock, milliseconds
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.memory.ports import MemoryCommit, Pointer
from palimpsest.memory.statements import Statement, drafted
from palimpsest.profile.read import ReadProfile
from palimpsest.scope import Scope, UserScope

from tests.contract.tables import memories_table, sessions_table
from tests.contract.test_dynamodb_units import Meter
from tests.doubles.tokens import LetterCounter

AT_ONCE = 20
SARAH = Scope("acme").user("sarah")


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def memories(dynoxide_endpoint: str, meter: Meter) -> DynamoDbMemories:
    tables = memories_table(dynoxide_endpoint), sessions_table(dynoxide_endpoint)
    return DynamoDbMemories(*tables, endpoint=dynoxide_endpoint, meter=meter)


def lived(memories: DynamoDbMemories, number: int, *, now: int, scope: UserScope = SARAH) -> None:
    """As many topics, and as many facts without a topic; the name first of all."""
    for start in range(0, number, AT_ONCE):
        commit: dict[str, Any] = {"new": [], "pointers": []}
        for each in range(start, min(start + AT_ONCE, number)):
            topic = f"thing_{each:05d}" if each else "name"
            at = now - number + each
            for key in (topic, None):
                statement = Statement("fact", f"This is about {topic} {key}.", topic=key)
                record = drafted(
                    statement, tenant=scope.tenant, user=scope.user, now=at, lifetime=None
                )
                commit["new"].append(record)
            pointed = commit["new"][-2]
            commit["pointers"].append(Pointer(topic, pointed.id, pointed.order))
        memories.commit(scope, MemoryCommit(epoch=0, **commit))


@pytest.mark.parametrize(("number", "most"), [(30, 80), (1_500, 1_000)])
def test_a_profile_reads_a_bounded_part_and_one_unit_if_nothing_changed(
    memories: DynamoDbMemories, meter: Meter, number: int, most: int
) -> None:
    clock = FakeClock()
    lived(memories, number, now=milliseconds(clock.now()))
    read = ReadProfile(memories, LetterCounter(), clock)
    meter.read()
    found = read(SARAH)
    calls = meter.read()
    assert sum(units for _, units in calls) <= most, calls
    assert len(calls) <= 30
    assert found.sections[0].lines[0].topic_key == "name"
    read(SARAH)  # the list that was read first may have lagged
    meter.read()
    assert read(SARAH) == found
    assert [units for _, units in meter.read()] == [1.0]
