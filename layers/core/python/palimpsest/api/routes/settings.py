"""Settings of the tenant: the defaults of its sessions, and how long things are kept."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered
from palimpsest.api.problems import naming
from palimpsest.api.requests import NewTenantSettings
from palimpsest.api.routing import new_router
from palimpsest.conversations.configuration import parsed, stored
from palimpsest.conversations.manage import check_room
from palimpsest.tenants.ports import TenantSettings

router = new_router()
TAGS = ["settings"]


@router.get(
    "/v1/settings",
    summary="Read the tenant's settings",
    description="What sessions of this tenant start with, and how long conversations and memories are kept.",
    operation_id="read_settings",
    tags=TAGS,
)
def read_settings() -> Response[str]:
    return answered(answers.tenant_settings(call().use.tenants.settings(call().caller.tenant)))


@router.put(
    "/v1/settings",
    summary="Replace the tenant's settings",
    description=(
        "Sessions begun and memories said from now on take them; what is not said goes back to the built-in default."
    ),
    operation_id="replace_settings",
    tags=TAGS,
)
def replace_settings(body: NewTenantSettings) -> Response[str]:
    with naming("memory"):
        memory = parsed(dict(body.memory))
    call().use.manage.check(memory)
    check_room(told=stored(memory))
    settings = TenantSettings(memory=body.memory, retention_days=body.retention_days, memory_days=body.memory_days)
    call().use.tenants.replace_settings(call().caller.tenant, settings)
    return answered(answers.tenant_settings(settings))
