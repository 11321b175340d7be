from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import pytest
from palimpsest.conversations.ports import Sessions
from palimpsest.engines.dynamodb import jobs as on_dynamodb
from palimpsest.engines.dynamodb.jobs import DynamoDbOwners
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.memory.ports import Memories, MemoryCommit, Owners
from palimpsest.payloads import decoded, encoded
from palimpsest.scope import Scope, SessionScope, UserScope
from palimpsest.search.payloads import ReindexPayload
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.owners import LocalOwners
from palimpsest_local.stores.sessions import LocalSessions

from tests.contract.builders import Conversation
from tests.contract.memory_builders import record
from tests.contract.tables import memories_table, sessions_table


@dataclass(frozen=True)
class Stores:
    sessions: Sessions
    memories: Memories
    owners: Owners


@pytest.fixture
def stores(engine: str, endpoint: str | None, monkeypatch: pytest.MonkeyPatch) -> Stores:
    monkeypatch.setattr(on_dynamodb, "PAGE", 2)
    if engine == "in_memory":
        sessions, memories = LocalSessions(), LocalMemories()
        return Stores(sessions, memories, LocalOwners(sessions, memories))
    talk, long_term = sessions_table(endpoint), memories_table(endpoint)
    return Stores(
        DynamoDbSessions(talk, endpoint=endpoint),
        DynamoDbMemories(long_term, talk, endpoint=endpoint),
        DynamoDbOwners(talk, long_term, endpoint=endpoint),
    )


def sessions_of(stores: Stores) -> set[SessionScope]:
    """Two tenants with sessions of the same names, and users of the same name."""
    scopes = {
        Scope(tenant).session(f"s{number}") for tenant in ("acme", "other") for number in range(4)
    }
    for scope in scopes:
        Conversation(stores.sessions, scope).begin(user="sarah")
    return scopes


def users_of(stores: Stores) -> set[UserScope]:
    scopes = {
        Scope(tenant).user(user)
        for tenant in ("acme", "other")
        for user in ("david", "mei", "sarah")
    }
    for scope in scopes:
        stores.memories.commit(scope, MemoryCommit(epoch=0, new=[record(1)]))
    return scopes


def test_sessions_of_all_tenants_are_told_once(stores: Stores) -> None:
    expected = sessions_of(stores)
    found = [scope for scope, _ in stores.owners.sessions()]
    assert (len(found), set(found)) == (8, expected)


def test_users_of_all_tenants_are_told_once(stores: Stores) -> None:
    expected = users_of(stores)
    found = [scope for scope, _ in stores.owners.users()]
    assert (len(found), set(found)) == (6, expected)


@pytest.mark.parametrize("at_once", [1, 2, 3, 8])
def test_a_list_goes_on_after_any_place(stores: Stores, at_once: int) -> None:
    sessions, users = sessions_of(stores), users_of(stores)
    talked: list[SessionScope] = []
    known: list[UserScope] = []
    place = None
    while page := list(islice(stores.owners.sessions(after=place), at_once)):
        talked += [scope for scope, _ in page]
        place = page[-1][1]
    place = None
    while users_page := list(islice(stores.owners.users(after=place), at_once)):
        known += [scope for scope, _ in users_page]
        place = users_page[-1][1]
    assert (len(talked), set(talked), len(known), set(known)) == (8, sessions, 6, users)


def test_a_job_can_hold_every_place(stores: Stores) -> None:
    sessions_of(stores), users_of(stores)
    places = [place for _, place in (*stores.owners.sessions(), *stores.owners.users())]
    assert len(places) == 14
    for place in places:
        payload = ReindexPayload(phase="records", after=place)
        assert decoded("reindex", encoded("reindex", payload)) == payload


def test_it_goes_on_after_one_that_is_gone_meanwhile(stores: Stores) -> None:
    expected = sessions_of(stores)
    (gone, place), *_ = stores.owners.sessions()
    stores.sessions.remove(gone, first=1, last=9, whole=True)
    assert {scope for scope, _ in stores.owners.sessions(after=place)} == expected - {gone}


def test_where_nothing_is_stored_nobody_is_told(stores: Stores) -> None:
    assert (list(stores.owners.sessions()), list(stores.owners.users())) == ([], [])
