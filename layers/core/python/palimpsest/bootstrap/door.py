"""Who may come in: the function `authorize`."""

from __future__ import annotations

from functools import cache

from palimpsest import settings
from palimpsest.bootstrap.engines import system_clock, tenant_store
from palimpsest.tenants.authorize import Authorize


@cache
def authorizer() -> Authorize:
    return Authorize(tenant_store(settings.AuthorizeSettings.read().tenants_table), system_clock())
