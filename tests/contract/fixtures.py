"""A tenant, a user and a session that no other test has. The suite for stores of one's own has them
too.
"""

from __future__ import annotations

import uuid

import pytest
from palimpsest.scope import Scope, SessionScope, UserScope
from palimpsest_testing.store import Store

from tests.contract.builders import Conversation


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
