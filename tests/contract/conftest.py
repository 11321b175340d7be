"""The stores that the contracts run over: in memory, on moto in process, on dynoxide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from palimpsest.engines.dynamodb.jobs import DynamoDbExpiries, DynamoDbJobs
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.owners import LocalExpiries
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalTenants
from palimpsest_testing.store import MemoryStore, Store
from xdist.scheduler import LoadFileScheduling

from tests.contract.fixtures import sarah, scope, talk
from tests.contract.memory_stores import ListStore
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.engines import loopback, opensearch
from tests.engines.npm import required

__all__ = ["sarah", "scope", "talk"]

ENGINES = ("in_memory", "moto", "dynoxide")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What moto is too slow for, or not made for, is left to the other engines."""
    left_out = [
        item for item in items if item.get_closest_marker("not_in_process") and "[moto" in item.name
    ]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    for item in items:
        if "tests/contract/" in item.nodeid:
            item.add_marker(pytest.mark.contract)


class Together(LoadFileScheduling):  # type: ignore[misc] # xdist's have no types
    """Files stay whole when several processes share the tests, and one process has those that need
    OpenSearch.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0])
        return (
            "opensearch"
            if file.parent.name == "search_index" or file.name == "test_recall.py"
            else str(file)
        )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    return Together(config, log)


@pytest.fixture
def memory_store() -> ListStore:
    return ListStore()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def endpoint(engine: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Where the engine's DynamoDB listens; None for the one in this process, and for none at
    all.
    """
    if engine == "moto":
        with mock_aws():
            yield None
    else:
        yield request.getfixturevalue("dynoxide_endpoint") if engine == "dynoxide" else None


@pytest.fixture(scope="session")
def opensearch_endpoint() -> Iterator[str]:
    """A server that this test session has to itself."""
    reason = opensearch.missing()
    if reason is not None:
        pytest.fail(reason) if required() else pytest.skip(reason)
    opensearch.install()
    with opensearch.running() as endpoint:
        yield endpoint


@pytest.fixture
def store(engine: str, endpoint: str | None) -> Store:
    if engine == "in_memory":
        sessions = LocalSessions()
        return Store(engine, sessions, LocalJobs(sessions.state))
    table = sessions_table(endpoint)
    return Store(
        engine, DynamoDbSessions(table, endpoint=endpoint), DynamoDbJobs(table, endpoint=endpoint)
    )


@pytest.fixture
def memories(engine: str, endpoint: str | None) -> MemoryStore:
    if engine == "in_memory":
        within = LocalMemories()
        return MemoryStore(engine, within, LocalJobs(within.state), LocalExpiries(within))
    jobs, table = sessions_table(endpoint), memories_table(endpoint)
    memories = DynamoDbMemories(table, jobs, endpoint=endpoint)
    expiries = DynamoDbExpiries(table, endpoint=endpoint)
    return MemoryStore(engine, memories, DynamoDbJobs(jobs, endpoint=endpoint), expiries)


@pytest.fixture
def tenants(engine: str, endpoint: str | None) -> LocalTenants | DynamoDbTenants:
    if engine == "in_memory":
        return LocalTenants()
    return DynamoDbTenants(tenants_table(endpoint), endpoint=endpoint)


@pytest.fixture
def free_port() -> int:
    return loopback.free_port()
