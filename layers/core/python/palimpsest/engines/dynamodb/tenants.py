"""The tenants on DynamoDB, as declared models: API keys by their SHA-256, a tenant's settings, and
static facts.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from typing import Any, TypeVar, cast

from palimpsest_tables.model import TableModel, bound
from palimpsest_tables.tenants import (
    FACTS,
    FACTS_VERSION,
    LOG_KEY,
    SETTINGS,
    ApiKeyItem,
    FactItem,
    FactsVersionItem,
    LogKeyItem,
    SettingsItem,
    key_place,
    tenant_place,
    whole,
)
from pynamodb.exceptions import DoesNotExist
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action as Change
from pynamodb.transactions import TransactWrite

from palimpsest.engines.dynamodb.memories.commits import job_put
from palimpsest.engines.dynamodb.table import OneTable
from palimpsest.errors import CommitLost
from palimpsest.jobs.job import Job
from palimpsest.scope import Scope
from palimpsest.tenants.keys import ApiKey
from palimpsest.tenants.ports import StaticFact
from palimpsest.tenants.settings import SecretsRule, TenantLimits, TenantSettings

M = TypeVar("M", bound=TableModel)


class _Models(OneTable):
    """A store of models in one table. Reads are strongly consistent. Errors are the library's."""

    def _bound(self, model: type[M]) -> type[M]:
        return bound(model, self._table.name, self._call)

    def _call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            self._table.transact(arguments["TransactItems"])
            return {}
        return self._table.call(operation, **arguments)

    @staticmethod
    def _found(model: type[M], place: tuple[str, str]) -> M | None:
        try:
            return model.get(*place, consistent_read=True)
        except DoesNotExist:
            return None


class DynamoDbTenants(_Models):
    """Implements `Tenants` over the table of tenants. `jobs_table` is only needed to store a job
    together with the settings.
    """

    def __init__(self, table: str, jobs_table: str = "", **where: Any) -> None:
        super().__init__(table, **where)
        self._jobs_table = jobs_table

    @cached_property
    def _keys(self) -> type[ApiKeyItem]:
        return self._bound(ApiKeyItem)

    @cached_property
    def _settings(self) -> type[SettingsItem]:
        return self._bound(SettingsItem)

    @cached_property
    def _log_keys(self) -> type[LogKeyItem]:
        return self._bound(LogKeyItem)

    def api_key(self, key_id: str) -> ApiKey | None:
        item = self._found(self._keys, key_place(key_id))
        if item is None:
            return None
        return ApiKey(
            id=key_id,
            tenant=item.tenant,
            scopes=frozenset(map(str, item.scopes)),
            expires_at=whole(item.expires_at),
            revoked=item.revoked,
            label=item.label,
            created_at=item.created_at,
        )

    def add(self, api_key: ApiKey) -> None:
        """Store a new API key. Raises `CommitLost` if there is already one with the same
        SHA-256.
        """
        item = self._keys(
            *key_place(api_key.id),
            type="api_key",
            tenant=api_key.tenant,
            scopes=sorted(api_key.scopes),
            label=api_key.label,
            created_at=api_key.created_at,
            expires_at=api_key.expires_at,
            revoked=api_key.revoked,
        )
        item.save(condition=ApiKeyItem.pk.does_not_exist())

    def settings(self, scope: Scope) -> TenantSettings:
        item = self._found(self._settings, tenant_place(scope.tenant, SETTINGS))
        if item is None:
            return TenantSettings()
        models = None if item.models is None else tuple(item.models)
        memory_days = TenantSettings().memory_days
        if item.has_memory_days:
            memory_days = whole(item.memory_days)
        return TenantSettings(
            memory=item.memory,
            retention_days=whole(item.retention_days),
            memory_days=memory_days,
            by_type=item.days_by_type or {},
            models=models,
            change=item.change,
            secrets=cast("SecretsRule", item.secrets or TenantSettings().secrets),
            limits=TenantLimits(**(item.limits or {})),
            answer_floor=_fraction(item.answer_floor),
            keep_model_calls=bool(item.keep_model_calls),
        )

    def log_key(self, scope: Scope) -> bytes:
        place = tenant_place(scope.tenant, LOG_KEY)
        item = self._found(self._log_keys, place)
        if item is None:
            item = self._log_keys(*place, type=LOG_KEY, secret=secrets.token_bytes())
            with suppress(CommitLost):  # another process was first, and its key stays
                item.save(condition=LogKeyItem.pk.does_not_exist())
            item = self._found(self._log_keys, place) or item
        return item.secret

    def replace_settings(
        self,
        scope: Scope,
        settings: TenantSettings,
        *,
        before: TenantSettings | None = None,
        job: Job | None = None,
    ) -> None:
        item = self._settings(*tenant_place(scope.tenant, SETTINGS))
        changes, condition = (
            _changes(settings),
            None if before is None else _unchanged_since(before),
        )
        if job is None:
            item.update(changes, condition=condition)
        else:
            update = item.get_update_kwargs_from_instance(actions=changes, condition=condition)
            self._table.transact([{"Update": update}, job_put(self._jobs_table, job)])


def _changes(settings: TenantSettings) -> list[Change]:
    """Return the changes that replace all stored settings by these."""
    limits = {name: most for name, most in asdict(settings.limits).items() if most is not None}
    models = None if settings.models is None else [*settings.models]
    return [
        SettingsItem.type.set("settings"),
        SettingsItem.memory.set({**settings.memory}),
        _set_or_remove(SettingsItem.retention_days, settings.retention_days),
        # None is stored, because it differs from the built-in days
        SettingsItem.memory_days.set(cast("int", settings.memory_days)),
        SettingsItem.days_by_type.set({**settings.by_type}),
        _set_or_remove(SettingsItem.models, models),
        _set_or_remove(SettingsItem.change, settings.change),
        SettingsItem.secrets.set(settings.secrets),
        _set_or_remove(SettingsItem.answer_floor, settings.answer_floor),
        _set_or_remove(SettingsItem.limits, limits or None),
        _set_or_remove(SettingsItem.keep_model_calls, settings.keep_model_calls or None),
    ]


def _fraction(number: float | None) -> float | None:
    return None if number is None else float(number)


def _set_or_remove(attribute: Any, value: Any) -> Change:
    """Return the change that stores the value; None removes the attribute."""
    change: Change = attribute.remove() if value is None else attribute.set(value)
    return change


def _unchanged_since(before: TenantSettings) -> Condition:
    return (
        SettingsItem.change.does_not_exist()
        if before.change is None
        else SettingsItem.change == before.change
    )


class DynamoDbStaticFacts(_Models):
    """Implements `StaticFacts` over the table of tenants."""

    @cached_property
    def _facts(self) -> type[FactItem]:
        return self._bound(FactItem)

    @cached_property
    def _versions(self) -> type[FactsVersionItem]:
        return self._bound(FactsVersionItem)

    def version(self, scope: Scope) -> int:
        item = self._found(self._versions, tenant_place(scope.tenant, FACTS_VERSION))
        return int(item.version) if item else 0

    def get(self, scope: Scope, fact_id: str) -> StaticFact | None:
        item = self._found(self._facts, tenant_place(scope.tenant, FACTS + fact_id))
        return _fact(item) if item else None

    def all(self, scope: Scope) -> tuple[StaticFact, ...]:
        partition, _ = tenant_place(scope.tenant, FACTS)
        return tuple(
            map(
                _fact,
                self._facts.query(partition, FactItem.sk.startswith(FACTS), consistent_read=True),
            )
        )

    def put(self, scope: Scope, fact: StaticFact, *, version: int) -> None:
        item = self._facts(*tenant_place(scope.tenant, FACTS + fact.id))
        is_text = isinstance(fact.content, str)
        changes: list[Change] = [
            FactItem.type.set("fact"),
            FactItem.content.set(fact.text),  # the previous release reads only this
            _set_or_remove(FactItem.json, None if is_text else json.dumps(fact.content)),
            FactItem.updated_at.set(fact.updated_at),
            _set_or_remove(FactItem.agent, fact.agent),
        ]
        with self._changing(scope, version) as transaction:
            transaction.update(item, changes)

    def delete(self, scope: Scope, fact_id: str, *, version: int) -> None:
        with self._changing(scope, version) as transaction:
            transaction.delete(self._facts(*tenant_place(scope.tenant, FACTS + fact_id)))

    def _changing(self, scope: Scope, version: int) -> TransactWrite:
        """Return a transaction that raises the version of the facts by one. It fails if another
        writer has changed the facts since `version`.
        """
        item, number = (
            self._versions(*tenant_place(scope.tenant, FACTS_VERSION)),
            FactsVersionItem.version,
        )
        transaction = TransactWrite(connection=self._versions.of_table.connection)
        transaction.update(
            item,
            [FactsVersionItem.type.set(FACTS_VERSION), number.set(version + 1)],
            condition=number == version if version else number.does_not_exist(),
        )
        return transaction


def _fact(item: FactItem) -> StaticFact:
    return StaticFact(
        id=str(item.sk).removeprefix(FACTS),
        content=json.loads(item.json) if item.json else item.content,
        updated_at=item.updated_at,
        agent=item.agent,
    )
