"""Settings of the tenant: the defaults of its sessions, the models they may name, and how long data is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.problems import naming
from palimpsest.api.resources.fields import Closed, MemoryFields, answered
from palimpsest.conversations.configuration import parsed, stored
from palimpsest.conversations.manage import check_room
from palimpsest.jobs.job import Job, JobState
from palimpsest.tenants import allowed_models
from palimpsest.tenants.ports import TenantSettings as StoredSettings

operation = operations_on("administration", function="sessions")


class NewTenantSettings(Closed):
    memory: Annotated[MemoryFields, Field(description="Fields over the built-in defaults", default_factory=dict)]
    retention_days: Annotated[
        int | None, Field(ge=1, le=36_500, description="Days from a session's last activity; null = for ever")
    ] = StoredSettings().retention_days
    memory_days: Annotated[
        int | None,
        Field(
            ge=1, le=36_500, description="Days after their last mention that facts, events and instructions are kept"
        ),
    ] = StoredSettings().memory_days
    models: Annotated[
        list[str] | None,
        Field(max_length=100, description="Models of the operator's list that sessions may name; null = all of it"),
    ] = None


class RetentionJob(TypedDict):
    job_id: str
    state: JobState


class TenantSettings(TypedDict):
    memory: Mapping[str, Any]
    retention_days: Annotated[int | None, Field(description="Days from a session's last activity; null = for ever")]
    memory_days: Annotated[int | None, Field(description="Days after a memory was last mentioned; null = for ever")]
    models: Annotated[Sequence[str] | None, Field(description="Models that sessions may name; null = all allowed ones")]
    retention_job: Annotated[
        RetentionJob | None,
        Field(description="Applies the last change of these days to what exists; null = none, or long done"),
    ]


@operation("GET /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def read_settings() -> Response[str]:
    """Read the tenant's settings.

    The defaults for new sessions, the models that sessions may name, how long conversations and memories are kept, and
    whether all that exist follow a change of that.
    """
    return answered(_shown(*call().use.settings.read(call().caller.tenant)))


@operation("PUT /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def replace_settings(body: NewTenantSettings) -> Response[str]:
    """Replace the tenant's settings.

    New sessions and new memories take them. Changed days reach those that exist by a job: sessions count them from
    their last activity, memories from their last mention. Fields that are left out go back to the built-in defaults.
    """
    with naming("memory"):
        memory = parsed(dict(body.memory))
    settings = StoredSettings(
        memory=body.memory,
        retention_days=body.retention_days,
        memory_days=body.memory_days,
        models=None if body.models is None else tuple(body.models),
    )
    manage = call().use.manage
    manage.check(memory)
    for number, model in enumerate(settings.models or ()):
        allowed_models.check(model, field=f"models.{number}", lists=(manage.models,))
    manage.check_model(settings.memory, settings)
    check_room(memory=[stored(memory), settings.models])
    return answered(_shown(*call().use.settings.replace(call().caller.tenant, settings)))


def _shown(settings: StoredSettings, job: Job | None) -> TenantSettings:
    return {
        "memory": settings.memory,
        "retention_days": settings.retention_days,
        "memory_days": settings.memory_days,
        "models": settings.models,
        "retention_job": None if job is None else {"job_id": job.id, "state": job.state},
    }
