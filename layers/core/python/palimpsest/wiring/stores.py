"""Builds each store once, from the names of its tables and buckets."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from palimpsest.conversations.ports import Blobs
from palimpsest.idempotency import KeyedCalls
from palimpsest.jobs.ports import Jobs, Shares
from palimpsest.memory.ports import Expiries, Memories, Owners
from palimpsest.tenants.ports import StaticFacts, Tenants
from palimpsest.usage import Usages
from palimpsest.vectors.ports import VectorStore

if TYPE_CHECKING:
    from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
    from palimpsest.graph.ports import GraphEngine


@cache
def tenant_store(table: str, jobs_table: str = "") -> Tenants:
    from palimpsest.engines.dynamodb.tenants import DynamoDbTenants

    tenants = DynamoDbTenants(table, jobs_table)
    tenants.warm()
    return tenants


@cache
def fact_store(tenants_table: str) -> StaticFacts:
    from palimpsest.engines.dynamodb.tenants import DynamoDbStaticFacts

    return DynamoDbStaticFacts(tenants_table)


@cache
def session_store(table: str, memories: str | None = None) -> tuple[DynamoDbSessions, Jobs]:
    """Return the store of sessions, and the store of jobs in the same table. With `memories` (the
    memories table), a new session belongs to its user's present epoch.
    """
    from palimpsest.engines.dynamodb.jobs import DynamoDbJobs
    from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions

    sessions = DynamoDbSessions(table, memories=memories)
    sessions.warm()
    return sessions, DynamoDbJobs(table)


@cache
def share_store(sessions_table: str) -> Shares:
    from palimpsest.engines.dynamodb.shares import DynamoDbShares

    return DynamoDbShares(sessions_table)


@cache
def keyed_calls(sessions_table: str) -> KeyedCalls:
    from palimpsest.engines.dynamodb.jobs import DynamoDbKeyedCalls

    return DynamoDbKeyedCalls(sessions_table)


@cache
def usage_store(sessions_table: str) -> Usages:
    from palimpsest.engines.dynamodb.usages import DynamoDbUsages

    return DynamoDbUsages(sessions_table)


@cache
def memory_store(table: str, jobs_table: str) -> Memories:
    from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories

    memories = DynamoDbMemories(table, jobs_table)
    memories.warm()
    return memories


@cache
def blob_store(bucket: str) -> Blobs:
    from palimpsest.engines.aws.blobs import S3Blobs

    return S3Blobs(bucket)


@cache
def vector_store(memories_table: str) -> VectorStore:
    from palimpsest.engines.dynamodb.memories.vectors import DynamoDbVectors

    return DynamoDbVectors(memories_table)


@cache
def graph_engine() -> GraphEngine:
    """Return the engine for Cypher over users' graphs, from the layer `graph`. The engine's library
    is loaded only in the process that runs the queries.
    """
    made: GraphEngine = import_module("palimpsest_graph.ladybug.graphs").LadybugGraphs()
    return made


@cache
def expiry_store(memories_table: str) -> Expiries:
    from palimpsest.engines.dynamodb.jobs import DynamoDbExpiries

    return DynamoDbExpiries(memories_table)


@cache
def owners(sessions_table: str, memories_table: str) -> Owners:
    from palimpsest.engines.dynamodb.jobs import DynamoDbOwners

    return DynamoDbOwners(sessions_table, memories_table)
