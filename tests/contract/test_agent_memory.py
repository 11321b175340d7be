"""The façade over wired use cases: the same on every engine, and the work waits for whoever drains
the queues.
"""

from __future__ import annotations

import pytest
from palimpsest import AgentMemory
from palimpsest.clock import SystemClock
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs, DynamoDbKeyedCalls
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.memories.vectors import DynamoDbVectors
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.tenants import DynamoDbStaticFacts, DynamoDbTenants
from palimpsest.engines.dynamodb.usages import DynamoDbUsages
from palimpsest.scope import Scope
from palimpsest.search.absent import AbsentIndex
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service
from palimpsest.tenants.settings import TenantSettings
from palimpsest.wiring.models import token_counter
from palimpsest.wiring.stores import graph_engine
from palimpsest_local.stores.jobs import LocalJobs, LocalKeyedCalls
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalStaticFacts, LocalTenants, LocalUsages
from palimpsest_local.stores.vectors import LocalBlobs, LocalVectors

from tests.contract.tables import memories_table, sessions_table, tenants_table

SETTINGS = TenantSettings(memory={"blocks": [{"type": "static"}, {"type": "extractive"}]})


@pytest.fixture
def stores(engine: str, endpoint: str | None) -> Stores:
    if engine == "in_memory":
        within = LocalSessions()
        jobs, memories = LocalJobs(within.state), LocalMemories(within.state)
        calls = LocalKeyedCalls(within.state)
        return Stores(
            sessions=within,
            jobs=jobs,
            calls=calls,
            tenants=LocalTenants(),
            blobs=LocalBlobs(),
            usages=LocalUsages(within.state),
            memories=memories,
            facts=LocalStaticFacts(),
            index=AbsentIndex,
            vectors=lambda: LocalVectors(memories),
            graphs=graph_engine,
        )
    sessions, table, tenants = (
        sessions_table(endpoint),
        memories_table(endpoint),
        tenants_table(endpoint),
    )
    return Stores(
        sessions=DynamoDbSessions(sessions, memories=table, endpoint=endpoint),
        jobs=DynamoDbJobs(sessions, endpoint=endpoint),
        calls=DynamoDbKeyedCalls(sessions, endpoint=endpoint),
        memories=DynamoDbMemories(table, sessions, endpoint=endpoint),
        tenants=DynamoDbTenants(tenants, endpoint=endpoint),
        blobs=LocalBlobs(),
        usages=DynamoDbUsages(sessions, endpoint=endpoint),
        facts=DynamoDbStaticFacts(tenants, endpoint=endpoint),
        index=AbsentIndex,
        vectors=lambda: DynamoDbVectors(table, endpoint=endpoint),
        graphs=graph_engine,
    )


@pytest.fixture
def memory(stores: Stores) -> AgentMemory:
    stores.tenants.replace_settings(Scope("acme"), SETTINGS)
    service = Service(stores, Models(), token_counter(), SystemClock())
    service.facts.put(Scope("acme"), "remote", content="Up to 3 days a week from home.")
    return AgentMemory.of(service, tenant="acme", user="sarah", agent="hr")


def test_what_is_said_and_remembered_is_in_the_next_context(memory: AgentMemory) -> None:
    memory.append("monday", "Hello!", {"role": "assistant", "content": "Hello Sarah!"}, key="k")
    assert memory.append(
        "monday", "Hello!", {"role": "assistant", "content": "Hello Sarah!"}, key="k"
    )["replayed"]
    memory.remember("Sarah works in Marketing.")
    context = memory.context("monday", "Where do I work?")
    said = ["Hello!", "Hello Sarah!", "Where do I work?"]
    assert [message["content"] for message in context["messages"]] == [
        context["memory_prompt"],
        *said,
    ]
    assert "3 days a week" in context["memory_prompt"]
    assert "Sarah works in Marketing." in context["memory_prompt"]
    recalled = memory.recall("Where does Sarah work?")
    assert recalled["memories"][0]["content"] == "Sarah works in Marketing."
    assert recalled["degraded"] == ["reranker", "search", "vector"]


def test_the_work_that_a_call_causes_waits_as_a_job(memory: AgentMemory, stores: Stores) -> None:
    done = memory.ingest(["I work in Marketing."], session="monday")
    job = stores.jobs.get(Scope("acme"), done.id or "")
    assert job is not None
    assert (job.kind, job.state, job.user) == ("extract", "pending", "sarah")
    assert memory.end("monday")["status"] == "ended"
