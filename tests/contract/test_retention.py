"""A changed retention over real tables: stored with its job or not at all, and applied page by page
to what exists.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from palimpsest.clock import FakeClock, seconds
from palimpsest.conversations.payloads import RetainPayload
from palimpsest.engines.dynamodb.jobs import DynamoDbExpiries, DynamoDbJobs
from palimpsest.engines.dynamodb.lists import BUCKETS
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.table import connected
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest.errors import CommitLost
from palimpsest.jobs.events import JobNotice
from palimpsest.jobs.job import Job, on_tenant
from palimpsest.jobs.ports import Jobs
from palimpsest.jobs.steps import RestartSteps, UserSteps
from palimpsest.memory.ports import Expiries, Memories
from palimpsest.memory.removal import retention
from palimpsest.memory.removal.retention import ManageSettings, RetainPages
from palimpsest.parallel import THREADS
from palimpsest.scope import Scope, UserScope
from palimpsest.tenants.ports import Tenants
from palimpsest.tenants.settings import TenantSettings
from palimpsest_local.stores.jobs import LocalJobs
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.owners import LocalExpiries
from palimpsest_local.stores.sessions import LocalSessions
from palimpsest_local.stores.tenants import LocalTenants

from benchmarks.meter import metered
from tests.contract.builders import NOW, Conversation
from tests.contract.memory_builders import Memory, record
from tests.contract.tables import memories_table, sessions_table, tenants_table

ACME = Scope("acme")
DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Stores:
    tenants: Tenants
    sessions: LocalSessions | DynamoDbSessions
    jobs: Jobs
    memories: Memories
    expiries: Expiries


@pytest.fixture
def stores(engine: str, endpoint: str | None) -> Stores:
    if engine == "in_memory":
        within = LocalSessions()
        memories = LocalMemories(within.state)
        tenants, jobs = LocalTenants(within.state), LocalJobs(within.state)
        return Stores(tenants, within, jobs, memories, LocalExpiries(memories))
    sessions, table = sessions_table(endpoint), memories_table(endpoint)
    return Stores(
        DynamoDbTenants(tenants_table(endpoint), sessions, endpoint=endpoint),
        DynamoDbSessions(sessions, memories=table, endpoint=endpoint),
        DynamoDbJobs(sessions, endpoint=endpoint),
        DynamoDbMemories(table, sessions, endpoint=endpoint),
        DynamoDbExpiries(table, endpoint=endpoint),
    )


class Acme:
    """A tenant whose days are changed, and whose job then does all its pages."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.clock = stores, FakeClock()
        self.now = seconds(self.clock.now())
        self.manage = ManageSettings(stores.tenants, stores.jobs, self.clock)
        steps = UserSteps(stores.jobs, RestartSteps(stores.jobs, self.clock), self.clock)
        self.pages = RetainPages(
            stores.tenants, stores.sessions, stores.memories, stores.expiries, steps, self.clock
        )

    def keep(self, *, sessions: int | None = 30, memories: int | None = 365) -> Job | None:
        """The job as it is then."""
        settings = TenantSettings(retention_days=sessions, memory_days=memories)
        _, begun = self.manage.replace(ACME, settings)
        assert begun is not None
        self.pages(JobNotice("acme", begun.id, "retain"))
        return self.stores.jobs.get(ACME, begun.id)

    def expiries(self, user: UserScope) -> set[int | None]:
        """When the user's records expire, and when the sweep comes."""
        walk = self.stores.expiries.walk(user)
        found = {
            record.expires_at for record in self.stores.expiries.records(user, limit=9).records
        }
        return found | {walk.due_at if walk else None}


@pytest.fixture
def acme(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Acme:
    monkeypatch.setattr(retention, "PAGE", 2)
    return Acme(stores)


def job(change: str) -> Job:
    return on_tenant(
        ACME, kind="retain", user=None, key=change, payload=RetainPayload(change=change), now=NOW
    )


def test_settings_and_the_job_of_their_change_are_stored_together_or_not_at_all(
    stores: Stores,
) -> None:
    one, two = (
        TenantSettings(retention_days=1, change="1" * 32),
        TenantSettings(retention_days=2, change="2" * 32),
    )
    stores.tenants.replace_settings(ACME, one, before=TenantSettings(), job=job("1" * 32))
    for before in (TenantSettings(), replace(one, change="3" * 32)):
        with pytest.raises(CommitLost):
            stores.tenants.replace_settings(ACME, two, before=before, job=job("2" * 32))
        with pytest.raises(CommitLost):
            stores.tenants.replace_settings(ACME, two, before=before)
    assert stores.tenants.settings(ACME) == one
    assert stores.jobs.get(ACME, job("1" * 32).id) == job("1" * 32)
    assert stores.jobs.get(ACME, job("2" * 32).id) is None
    stores.tenants.replace_settings(ACME, replace(one, retention_days=9), before=one)
    assert stores.tenants.settings(ACME).retention_days == 9


def test_every_page_of_sessions_gets_its_expiry_and_comes_due(stores: Stores, acme: Acme) -> None:
    talks = [Conversation(stores.sessions, ACME.session(f"s{number}")) for number in range(3)]
    for talk in talks:
        talk.begin(due_at=None)
    done = acme.keep(sessions=9)
    assert done is not None
    assert (done.state, done.result) == ("done", {"sessions": 3, "memories": 0})
    for talk in talks:
        opened = stores.sessions.open(talk.scope, settings=True)
        assert opened.head is not None
        assert opened.settings is not None
        assert (
            opened.head.expires_at == opened.settings.due_at == opened.head.updated_second + 9 * DAY
        )


def test_every_page_of_memories_gets_its_expiry_and_comes_due(stores: Stores, acme: Acme) -> None:
    users = [ACME.user(name) for name in ("david", "emil", "sarah")]
    other = Scope("other").user("sarah")
    said = [
        record(number, confirmed_at=acme.now, expires_at=acme.now + 365 * DAY)
        for number in range(1, 6)
    ]
    for user in (*users, other):
        Memory(stores.memories, user).commit(*said)
    done = acme.keep(memories=7)
    assert done is not None
    assert (done.state, done.result) == ("done", {"sessions": 0, "memories": 15})
    assert [acme.expiries(user) for user in users] == [{acme.now + 7 * DAY}] * 3
    assert acme.expiries(other) == {acme.now + 365 * DAY}
    assert acme.keep(memories=7) == done


def test_a_change_reaches_100_000_sessions_within_the_hour(dynoxide_endpoint: str) -> None:
    """By count: what each session and each page asks of the tables, at 20 ms a request, eight
    sessions at a time.
    """
    table, memories = sessions_table(dynoxide_endpoint), memories_table(dynoxide_endpoint)
    within: dict[str, Any] = {"endpoint": dynoxide_endpoint}
    stores = Stores(
        DynamoDbTenants(tenants_table(dynoxide_endpoint), table, **within),
        DynamoDbSessions(table, memories=memories, **within),
        DynamoDbJobs(table, **within),
        DynamoDbMemories(memories, table, **within),
        DynamoDbExpiries(memories, **within),
    )
    sessions, pages = 2 * retention.PAGE, 2
    for number in range(sessions):
        Conversation(stores.sessions, ACME.session(f"s{number}")).begin(due_at=None)
    acme = Acme(stores)
    with metered(connected(None, dynoxide_endpoint)) as meter:
        done = acme.keep(sessions=9)
        spent = Counter(meter.read().operations)
    assert done is not None
    assert done.result == {"sessions": sessions, "memories": 0}
    assert spent["TransactWriteItems"] <= sessions + 3  # one for each, and those of the job itself
    a_session = 3  # its head and settings, the tenant's days, one transaction
    beside = spent.total() - a_session * sessions
    assert beside <= pages * (BUCKETS + 2) + BUCKETS + 20
    rounds = 100_000 * a_session / THREADS + 100_000 / retention.PAGE * (2 + 2)
    assert rounds * 0.02 < 3600
