"""Who calls, and what they may do. Only this module reads tenant and scopes; what is missing is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.errors import BadRequest, Forbidden, Unauthenticated
from palimpsest.scope import OPERATOR, Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant's credential. `key_id` names the API key for the logs; it is no secret."""

    tenant: Scope
    scopes: frozenset[str]
    key_id: str | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Caller:
        """The caller as the authorizer states it: a key's context or a token's claims, nothing from the request.

        Raises `Unauthenticated` unless there is a tenant.
        """
        authorizer = event.get("requestContext", {}).get("authorizer") or {}
        known = authorizer.get("lambda")
        if known is not None:
            return cls._checked(known.get("tenant"), known.get("scopes"), known.get("key_id"))
        claims = (authorizer.get("jwt") or {}).get("claims") or {}
        return cls._checked(claims.get("tenant"), claims.get("scope"), None)

    @classmethod
    def _checked(cls, tenant: object, scopes: object, key_id: object) -> Caller:
        if not isinstance(tenant, str) or tenant == OPERATOR:
            raise Unauthenticated("The call carries no tenant.")
        try:
            scope = Scope(tenant)
        except BadRequest as error:
            raise Unauthenticated("The call carries no tenant.") from error
        granted = frozenset(scopes.split()) if isinstance(scopes, str) else frozenset[str]()
        return cls(scope, granted, key_id if isinstance(key_id, str) else None)

    def require(self, *scopes: str) -> None:
        """Raise `Forbidden` unless the credential has every one of these scopes."""
        missing = [scope for scope in scopes if scope not in self.scopes]
        if missing:
            raise Forbidden(f"The credential lacks the scope {missing[0]}.", code="missing_scope")
