"""Builds the check of callers for the function `authorize`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from palimpsest import settings
from palimpsest.clock import SystemClock
from palimpsest.tenants.authorize import Authorize
from palimpsest.tenants.refusals import Refusals

if TYPE_CHECKING:
    from palimpsest.api.tokens import AuthorizeTokens
from palimpsest.wiring.stores import tenant_store


@cache
def refusals() -> Refusals:
    return Refusals(settings.AuthorizeSettings.read().refusals_answered, SystemClock())


@cache
def authorizer() -> Authorize | AuthorizeTokens:
    """Return the check of keys or tokens for the function `authorize`, which needs no other part of
    the service.
    """
    environment = settings.AuthorizeSettings.read()
    if not environment.jwt_issuer:
        return Authorize(tenant_store(environment.tenants_table), SystemClock())
    from palimpsest.api.tokens import AuthorizeTokens

    return AuthorizeTokens.of(environment.jwt_issuer, environment.jwt_audience)
