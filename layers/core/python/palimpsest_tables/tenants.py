"""The table `tenants`: API keys, and each tenant's settings, limits, static facts and key of its
logs.
"""

from __future__ import annotations

from typing import Any, Self

from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    NumberAttribute,
    UnicodeAttribute,
)

from palimpsest_tables.model import TableModel

KEY = "key"
SETTINGS, FACTS_VERSION, LOG_KEY = "defaults", "facts", "log_key"
FACTS = "fact#"


class ApiKeyItem(TableModel):
    """A key under its SHA-256: partition `key#<hash>`. `expires_at` is in epoch seconds; without
    it, the key is valid for ever.
    """

    tenant = UnicodeAttribute()
    scopes = ListAttribute(of=UnicodeAttribute)
    label = UnicodeAttribute(default="")
    created_at = UnicodeAttribute(default="")
    expires_at = NumberAttribute(null=True)
    revoked = BooleanAttribute(default=False)

    @property
    def id(self) -> str:
        """The SHA-256 of the key, in hex."""
        return str(self.pk).removeprefix("key#")


def key_place(key_id: str) -> tuple[str, str]:
    return f"key#{key_id}", KEY


class SettingsItem(TableModel):
    """A tenant's defaults of sessions, retention and limits. If a number of days is None, the data
    is kept for ever.
    """

    has_memory_days: bool = False
    """Whether `memory_days` is stored. Items of the first releases do not have it."""

    memory = JSONAttribute()
    retention_days = NumberAttribute(null=True)
    memory_days = NumberAttribute(null=True)
    days_by_type = JSONAttribute(null=True)
    models = JSONAttribute(null=True)
    change = UnicodeAttribute(null=True)
    secrets = UnicodeAttribute(null=True)
    answer_floor = NumberAttribute(null=True)
    keep_model_calls = BooleanAttribute(null=True)
    limits = JSONAttribute(null=True)

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        made = super().from_raw_data(data)
        made.has_memory_days = "memory_days" in data
        return made


class FactItem(TableModel):
    """A static fact: sort key `fact#<id>`. Without an agent it is for every agent.

    `json` holds a value that is not a text.
    """

    content = UnicodeAttribute()
    json = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute()
    agent = UnicodeAttribute(null=True)


class FactsVersionItem(TableModel):
    """The version of a tenant's static facts, which grows with every change of them."""

    version = NumberAttribute()


class LogKeyItem(TableModel):
    """The secret with which logs hash the names of a tenant's users."""

    secret = BinaryAttribute(legacy_encoding=False)


def whole(stored: float | None) -> int | None:
    """Return a stored number as the integer that was written, or None if the field is absent."""
    return None if stored is None else int(stored)


def tenant_place(tenant: str, sort: str) -> tuple[str, str]:
    return f"tenant#{tenant}", sort
