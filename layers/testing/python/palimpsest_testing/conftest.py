"""The stores that the suite is run on, empty for each test."""

from __future__ import annotations

from importlib import import_module

import pytest
from palimpsest.stores import MemoryStore as MemoriesAlone
from palimpsest.stores import OwnStores

from palimpsest_testing.fixtures import sarah, scope, talk  # type: ignore[import-untyped,import-not-found,unused-ignore]
from palimpsest_testing.plugin import MEMORY_STORE, OPTION
from palimpsest_testing.store import MemoryStore, Store

__all__ = ["sarah", "scope", "talk"]


@pytest.fixture
def own(request: pytest.FixtureRequest) -> OwnStores:
    named = request.config.getoption(OPTION)
    if not named:
        pytest.fail(f"Say what makes your stores: {OPTION} shop.stores:made")
    made = _made_by(named)
    if not isinstance(made, OwnStores):
        pytest.fail(f"{named} returned no palimpsest.stores.OwnStores")
    return made


def _made_by(named: str) -> object:
    module, _, function = named.partition(":")
    return getattr(import_module(module), function)()


@pytest.fixture
def memory_store(request: pytest.FixtureRequest) -> MemoriesAlone:
    made: MemoriesAlone = _made_by(request.config.getoption(MEMORY_STORE))  # type: ignore[assignment]
    return made


@pytest.fixture
def store(own: OwnStores) -> Store:
    return Store("own", own.sessions, own.jobs)


@pytest.fixture
def memories(own: OwnStores) -> MemoryStore:
    return MemoryStore("own", own.memories, own.jobs, own.expiries)
