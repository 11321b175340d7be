"""Tenants, users and sessions: the owners of data and model calls. This module checks ids and makes
keys of partitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from palimpsest.errors import BadRequest, FieldError

ID_PATTERN = r"[A-Za-z0-9._:@+|=-]{1,128}"
_ID = re.compile(ID_PATTERN)
OPERATOR = "palimpsest.operator"
"""The tenant of the operator's own jobs. No credential gives access to it."""


def checked_id(value: str, *, field: str) -> str:
    """Return `value` if it is a valid id, which is safe in keys and paths. Otherwise raise
    `BadRequest` (`invalid_id`).
    """
    if not _ID.fullmatch(value) or not value.strip("."):
        message = "1 to 128 of A-Z a-z 0-9 . _ : @ + | = - and not only dots"
        raise BadRequest(
            f"{field} is not a valid id.", code="invalid_id", errors=(FieldError(field, message),)
        )
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant, taken from a credential. Every key in a store begins with a tenant."""

    tenant: str

    def __post_init__(self) -> None:
        checked_id(self.tenant, field="tenant")

    def session(self, session_id: str, *, user: str | None = None) -> SessionScope:
        return SessionScope(self.tenant, session_id, user)

    def user(self, user_id: str) -> UserScope:
        return UserScope(self.tenant, user_id)

    def job_partition(self, job_id: str) -> str:
        return f"{self.tenant}#job#{checked_id(job_id, field='job_id')}"

    def call_partition(self, name: str) -> str:
        """Return the partition of a call with an idempotency key (`idempotency.KeyedCall`)."""
        return f"{self.tenant}#call#{checked_id(name, field='name')}"


@dataclass(frozen=True, slots=True)
class UserScope:
    """One user of one tenant. Users are the owners of memories."""

    tenant: str
    user: str

    def __post_init__(self) -> None:
        checked_id(self.tenant, field="tenant")
        checked_id(self.user, field="user_id")

    @property
    def partition(self) -> str:
        return f"{self.tenant}#{self.user}"

    @property
    def owner(self) -> Scope:
        return Scope(self.tenant)


@dataclass(frozen=True, slots=True)
class SessionScope:
    """One session of one tenant. If the caller names `user`, a session of another user is not
    found.
    """

    tenant: str
    session: str
    user: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        checked_id(self.tenant, field="tenant")
        checked_id(self.session, field="session_id")
        if self.user is not None:
            checked_id(self.user, field="user_id")

    @property
    def partition(self) -> str:
        return f"{self.tenant}#{self.session}"

    @property
    def owner(self) -> Scope:
        return Scope(self.tenant)


_PAYER: ContextVar[UserScope | None] = ContextVar("PAYER", default=None)


@contextmanager
def paid_by(scope: UserScope) -> Iterator[None]:
    """Count every model call within the block as a call of this user. This includes calls on
    threads that begin in the block.
    """
    token = _PAYER.set(scope)
    try:
        yield
    finally:
        _PAYER.reset(token)


def payer() -> UserScope | None:
    """Return the user who pays for model calls now, or None if they are not counted."""
    return _PAYER.get()
