from __future__ import annotations

import base64
import json
from dataclasses import replace
from functools import partial

import pytest
from palimpsest.engines.dynamodb.sessions.commits import Update
from palimpsest.engines.dynamodb.sessions.items import OWNER, SETTINGS
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.table import Table
from palimpsest.errors import BadRequest
from palimpsest.scope import Scope, SessionScope
from palimpsest_testing.store import Store

from tests.contract.builders import NOW, Conversation, settings
from tests.contract.tables import sessions_table

DAYS = {"a1": "2026-01-01", "a2": "2026-01-02", "a3": "2026-01-03"}


@pytest.fixture
def tenant(store: Store, scope: SessionScope) -> Scope:
    """Three sessions of `ana`, one of `an`, one of another tenant's `ana`."""
    for session, day in DAYS.items():
        _begin(store, scope.owner.session(session), user="ana", day=day)
    _begin(store, scope.owner.session("b1"), user="an", day="2026-01-09")
    _begin(store, Scope(scope.tenant + "x").session("c1"), user="ana", day="2026-01-09")
    return scope.owner


def _begin(store: Store, scope: SessionScope, *, user: str, day: str) -> None:
    told = settings(user=user, created_at=f"{day}T00:00:00.000Z")
    talk = Conversation(store.sessions, scope)
    head = talk.begin(user=user, created_at=told.created_at)
    assert head.seq == 0


def test_a_users_sessions_are_listed_by_creation(store: Store, tenant: Scope) -> None:
    assert store.sessions.listed(tenant, user="ana", limit=9).sessions == ("a3", "a2", "a1")
    assert store.sessions.listed(tenant, user="ana", limit=9, newest_first=False).sessions == (
        "a1",
        "a2",
        "a3",
    )


def test_one_users_list_holds_nobody_elses_sessions(store: Store, tenant: Scope) -> None:
    assert store.sessions.listed(tenant, user="an", limit=9).sessions == ("b1",)
    assert store.sessions.listed(tenant, user="a", limit=9).sessions == ()
    assert store.sessions.listed(Scope("nobody"), user=None, limit=9).sessions == ()


def test_a_tenants_sessions_are_listed_by_creation(store: Store, tenant: Scope) -> None:
    assert store.sessions.listed(tenant, user=None, limit=9, newest_first=False).sessions == (
        "a1",
        "a2",
        "a3",
        "b1",
    )
    assert store.sessions.listed(tenant, user=None, limit=9).sessions == ("b1", "a3", "a2", "a1")


@pytest.mark.parametrize("user", ["ana", None])
def test_a_list_is_limited_to_the_times_that_are_asked_for(
    store: Store, tenant: Scope, user: str | None
) -> None:
    second, third = "2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"
    listed = partial(store.sessions.listed, tenant, user=user, limit=9, newest_first=False)
    assert listed(since=second, until=third).sessions == ("a2", "a3")
    assert listed(since=second, until=second).sessions == ("a2",)
    assert listed(until="2026-01-01T23:59:59.999Z").sessions == ("a1",)
    page = store.sessions.listed(tenant, user=user, since=second, until=third, limit=1)
    rest = store.sessions.listed(
        tenant, user=user, since=second, until=third, limit=9, after=page.after
    )
    assert (page.sessions, rest.sessions) == (("a3",), ("a2",))


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize(("user", "count"), [("ana", 3), (None, 4)])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_join_to_the_whole_list(
    store: Store, tenant: Scope, user: str | None, count: int, limit: int, *, newest_first: bool
) -> None:
    found: list[str] = []
    after = None
    for _ in range(-(-count // limit)):
        page = store.sessions.listed(
            tenant, user=user, limit=limit, after=after, newest_first=newest_first
        )
        assert len(page.sessions) <= limit
        found += page.sessions
        after = page.after
    whole = store.sessions.listed(tenant, user=user, limit=9, newest_first=newest_first)
    assert (tuple(found), after) == (whole.sessions, None)
    assert len(found) == count


def test_a_list_that_ends_with_its_page_has_no_next(store: Store, tenant: Scope) -> None:
    assert store.sessions.listed(tenant, user="ana", limit=3).after is None


@pytest.mark.parametrize(("most", "count"), [(1, 1), (4, 4), (9, 4)])
def test_a_tenants_sessions_are_counted_up_to_a_number(
    store: Store, tenant: Scope, most: int, count: int
) -> None:
    assert store.sessions.count(tenant, most=most) == count
    assert store.sessions.count(Scope(tenant.tenant + "-nobody"), most=most) == 0


def test_a_cursor_does_not_open_another_list(store: Store, tenant: Scope) -> None:
    after = store.sessions.listed(tenant, user="ana", limit=1).after
    for other, user in ((Scope(tenant.tenant + "x"), "ana"), (tenant, "an"), (tenant, None)):
        with pytest.raises(BadRequest) as refused:
            store.sessions.listed(other, user=user, limit=1, after=after)
        assert refused.value.code == "invalid_cursor"


def _forged(*parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    "after",
    [
        "", "x", "%%%", "é", "\x00", "bnVsbA", "W10", "MQ", "A" * 5000, "[" * 5000,
        _forged("TENANT", "ana"), _forged("TENANT", "ana", 7), _forged("TENANT", "ana", "an#2026#a1"),
        _forged("TENANT", "ana", "ana#a1"), _forged("TENANT", "ana", "ana#1#a#1"),
        _forged("TENANT", "ana", "ana#1#../x"), _forged("TENANT", "ana", "ana#1#.."),
        _forged("TENANT", ["ana"], "ana#2026#a1"),
        _forged("TENANT", "ana", ["ana#2026#a1"]), _forged({"a": 1}, "ana", ""),
    ],
)  # fmt: skip
def test_a_cursor_that_was_not_handed_out_is_refused(
    store: Store, tenant: Scope, after: str
) -> None:
    for candidate in (
        after,
        after.replace("TENANT", tenant.tenant),
        _of_tenant(after, tenant.tenant),
    ):
        with pytest.raises(BadRequest) as refused:
            store.sessions.listed(tenant, user="ana", limit=1, after=candidate)
        assert refused.value.code == "invalid_cursor"


def _of_tenant(after: str, tenant: str) -> str:
    """A forged cursor that names the caller's own tenant."""
    try:
        text = base64.urlsafe_b64decode(after).decode()
    except ValueError:
        return after
    return base64.urlsafe_b64encode(text.replace("TENANT", tenant).encode()).decode()


def test_a_session_of_a_version_that_knew_fewer_lists_is_listed_once_the_sweep_has_looked_at_it(
    dynoxide_endpoint: str, scope: SessionScope
) -> None:
    name = sessions_table(dynoxide_endpoint)
    store, table = (
        DynamoDbSessions(name, endpoint=dynoxide_endpoint),
        Table(name, endpoint=dynoxide_endpoint),
    )
    Conversation(store, scope).begin()
    older = Update()
    older.put(OWNER, None)
    older.put("created", None)
    table.call("UpdateItem", **older.arguments(name, scope.partition, SETTINGS))
    assert store.listed(scope.owner, user=None, limit=9).sessions == ()
    stored = store.open(scope, settings=True).settings
    assert stored is not None
    store.reschedule(scope, stored, due_at=NOW + 50)
    assert store.listed(scope.owner, user=None, limit=9).sessions == (scope.session,)
    assert store.open(scope, settings=True).settings == replace(stored, due_at=NOW + 50)
