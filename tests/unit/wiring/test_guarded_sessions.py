"""No function behind the front door reads sessions without the guard against those of erased
users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any

import pytest
from palimpsest.conversations.append import Append
from palimpsest.memory.removal.epochs import EpochGuard
from palimpsest.scope import Scope
from palimpsest_local.in_process import InProcess, in_process
from palimpsest_local.stores.sessions import LocalSessions


def stores_within(thing: Any) -> Iterator[type]:
    """The kind of each store of sessions that can be reached from there, not looking behind a
    guard.
    """
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, (EpochGuard, LocalSessions)):
            yield type(found)
        else:
            waiting += parts_of(found)


def parts_of(thing: Any) -> list[Any]:
    if is_dataclass(thing):
        return [getattr(thing, field.name) for field in fields(thing)]
    match thing:
        case Mapping():
            return list(thing.values())
        case tuple() | list():
            return list(thing)
        case FunctionType():
            return [cell.cell_contents for cell in thing.__closure__ or ()]
        case partial():
            return [thing.func, *thing.args, *thing.keywords.values()]
    return list(vars(thing).values()) if type(thing).__module__.startswith("palimpsest.") else []


@pytest.fixture(scope="module")
def service() -> InProcess:
    return in_process(Scope("acme"), memory={})


def test_every_use_case_has_the_guarded_store(service: InProcess) -> None:
    use_cases = service.service
    found = {
        name: set(stores_within(getattr(use_cases, name)))
        for name in dir(use_cases)
        if not name.startswith("_")
    }
    with_sessions = {name for name, stores in found.items() if stores}
    assert {"append", "context", "prune", "manage", "recall", "ingest"} < with_sessions
    assert all(found[name] == {EpochGuard} for name in with_sessions), found


def test_a_use_case_without_the_guard_would_be_seen() -> None:
    bare: Any = object()
    assert set(stores_within(Append(LocalSessions(), bare, bare, bare, bare))) == {LocalSessions}


def test_stores_guard_whatever_they_are_made_of_once(service: InProcess) -> None:
    stores = replace(service.service.stores, sessions=LocalSessions())
    assert isinstance(stores.sessions, EpochGuard)
    assert replace(stores).sessions is stores.sessions
