from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest.errors import CommitLost
from palimpsest.scope import Scope
from palimpsest.tenants.keys import ApiKey
from palimpsest.tenants.settings import TenantLimits, TenantSettings
from palimpsest_local.stores.tenants import LocalTenants

from tests.contract.tables import tenants_table

Tenants = LocalTenants | DynamoDbTenants
KEY = ApiKey(
    id="ab" * 32,
    tenant="acme",
    scopes=frozenset({"read", "write"}),
    expires_at=1_900_000_000,
    revoked=False,
    label="the app",
    created_at="2026-01-01T00:00:00.000Z",
)


def test_a_key_is_found_by_its_hash(tenants: Tenants) -> None:
    tenants.add(KEY)
    assert tenants.api_key(KEY.id) == KEY
    assert tenants.api_key("cd" * 32) is None


@pytest.mark.parametrize(
    "key",
    [
        ApiKey("ef" * 32, "acme", frozenset()),
        ApiKey("ef" * 32, "a", frozenset({"admin"}), revoked=True),
    ],
)
def test_a_key_without_expiry_or_rights_is_kept_as_it_is(tenants: Tenants, key: ApiKey) -> None:
    tenants.add(key)
    assert tenants.api_key(key.id) == key


def test_a_key_is_not_overwritten(tenants: Tenants) -> None:
    tenants.add(KEY)
    with pytest.raises(CommitLost):
        tenants.add(ApiKey(KEY.id, "intruder", frozenset({"admin"})))
    assert tenants.api_key(KEY.id) == KEY


def test_a_tenant_that_said_nothing_has_the_built_in_settings(tenants: Tenants) -> None:
    assert tenants.settings(Scope("acme")) == TenantSettings()


@pytest.mark.parametrize(("days", "models"), [(7, ("small", "large")), (0, ()), (None, None)])
def test_settings_are_replaced_whole(
    tenants: Tenants, days: int | None, models: tuple[str, ...] | None
) -> None:
    tenants.replace_settings(
        Scope("acme"),
        TenantSettings(
            memory={"strategy": "trim", "model": None}, retention_days=1, models=("other",)
        ),
    )
    told = TenantSettings(
        memory={"trigger_ratio": 0.7, "summary_prompt": "é\x00"},
        retention_days=days,
        memory_days=days,
        models=models,
        limits=TenantLimits(sessions=days, model_cost_usd=0.5),
        answer_floor=None if days is None else days / 8,
        keep_model_calls=days is not None,
    )
    tenants.replace_settings(Scope("acme"), told)
    assert tenants.settings(Scope("acme")) == told
    assert tenants.settings(Scope("acm")) == TenantSettings()


@pytest.fixture
def earlier(
    engine: str, endpoint: str | None
) -> Callable[[str, str, dict[str, Any]], DynamoDbTenants]:
    """A store over a table in which the release before has put an item."""
    if engine == "in_memory":
        pytest.skip("nothing is there when a process begins")
    table = tenants_table(endpoint)

    def put(partition: str, sort: str, attributes: dict[str, Any]) -> DynamoDbTenants:
        item = {"pk": {"S": partition}, "sk": {"S": sort}, **attributes}
        boto3.client("dynamodb", endpoint_url=endpoint).put_item(TableName=table, Item=item)
        return DynamoDbTenants(table, endpoint=endpoint)

    return put


def test_a_key_that_an_earlier_release_stored_is_read(
    earlier: Callable[[str, str, dict[str, Any]], DynamoDbTenants],
) -> None:
    tenants = earlier(
        "key#ab",
        "key",
        {"type": {"S": "key"}, "tenant": {"S": "acme"}, "scopes": {"L": [{"S": "read"}]}},
    )
    assert tenants.api_key("ab") == ApiKey("ab", "acme", frozenset({"read"}))


def test_settings_that_an_earlier_release_stored_are_read(
    earlier: Callable[[str, str, dict[str, Any]], DynamoDbTenants],
) -> None:
    tenants = earlier(
        "tenant#acme",
        "defaults",
        {"memory": {"S": '{"strategy":"trim"}'}, "retention_days": {"N": "7"}},
    )
    assert tenants.settings(Scope("acme")) == TenantSettings(
        memory={"strategy": "trim"}, retention_days=7
    )
    tenants = earlier(
        "tenant#acme", "defaults", {"memory": {"S": "{}"}, "memory_days": {"NULL": True}}
    )
    assert tenants.settings(Scope("acme")) == TenantSettings(retention_days=None, memory_days=None)


def test_settings_are_stored_with_the_change_that_they_follow_or_not_at_all(
    tenants: Tenants,
) -> None:
    first, second = (
        TenantSettings(change="1" * 32),
        TenantSettings(change="2" * 32, memory_days=None),
    )
    tenants.replace_settings(Scope("acme"), first, before=TenantSettings())
    tenants.replace_settings(Scope("acme"), second, before=first)
    for stale in (TenantSettings(), first):
        with pytest.raises(CommitLost):
            tenants.replace_settings(Scope("acme"), TenantSettings(retention_days=1), before=stale)
    assert tenants.settings(Scope("acme")) == second


def test_a_tenants_log_key_is_made_once(tenants: LocalTenants | DynamoDbTenants) -> None:
    one, other = tenants.log_key(Scope("acme")), tenants.log_key(Scope("other"))
    assert (len(one) >= 32, one != other) == (True, True)
    assert tenants.log_key(Scope("acme")) == one
