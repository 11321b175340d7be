"""The stores that the suite is run on, empty for each test."""

from __future__ import annotations

import uuid
from importlib import import_module

import pytest
from palimpsest.scope import Scope, SessionScope, UserScope
from palimpsest.stores import OwnStores

from palimpsest_testing.builders import Conversation  # type: ignore[import-untyped,import-not-found,unused-ignore]
from palimpsest_testing.plugin import OPTION
from palimpsest_testing.store import MemoryStore, Store


@pytest.fixture
def own(request: pytest.FixtureRequest) -> OwnStores:
    named = request.config.getoption(OPTION)
    if not named:
        pytest.fail(f"Say what makes your stores: {OPTION} shop.stores:made")
    module, _, function = named.partition(":")
    made = getattr(import_module(module), function)()
    if not isinstance(made, OwnStores):
        pytest.fail(f"{named} returned no palimpsest.stores.OwnStores")
    return made


@pytest.fixture
def store(own: OwnStores) -> Store:
    return Store("own", own.sessions, own.jobs)


@pytest.fixture
def memories(own: OwnStores) -> MemoryStore:
    return MemoryStore("own", own.memories, own.jobs, own.expiries)


@pytest.fixture
def scope() -> SessionScope:
    return Scope(f"tenant-{uuid.uuid4().hex[:8]}").session("talk")


@pytest.fixture
def sarah(scope: SessionScope) -> UserScope:
    return scope.owner.user("sarah")


@pytest.fixture
def talk(store: Store, scope: SessionScope) -> Conversation:
    """A session that does not exist yet."""
    return Conversation(store.sessions, scope)
