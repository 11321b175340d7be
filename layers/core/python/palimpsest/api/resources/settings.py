"""Settings of the tenant: the defaults of its sessions, the models they may name, and how long data is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, cast

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.problems import naming
from palimpsest.api.resources.fields import Closed, MemoryFields
from palimpsest.conversations.configuration import check_allowed, parsed, stored
from palimpsest.conversations.manage import check_room
from palimpsest.jobs.job import Job, JobState
from palimpsest.tenants.ports import DAY
from palimpsest.tenants.ports import Limits as StoredLimits
from palimpsest.tenants.ports import TenantSettings as StoredSettings

operation = operations_on("administration", function="sessions")
KINDS = {"fact": "facts", "event": "events", "instruction": "instructions", "preference": "preferences"}


DAYS_A_YEAR = 365
Kept = Annotated[
    str | None,
    Field(
        pattern=r"^([1-9]\d{0,3}d|[1-9]\d?y|permanent)$",
        description="Days or years (365 days), or permanent; left out: as the days beside it say",
    ),
]


class Retention(Closed):
    """How long data of a kind is kept, counted as the days beside it are."""

    conversations: Kept = None
    facts: Kept = None
    events: Kept = None
    instructions: Kept = None
    preferences: Kept = None


class Limits(Closed):
    """What the tenant may use; null limits nothing."""

    requests_per_second: Annotated[int | None, Field(ge=1, le=1_000, description="Over that: 429")] = None
    sessions: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="That exist at a time; another one is 429, an append goes on")
    ] = None
    memories: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="Of each user at a time; extraction waits, a call is 429")
    ] = None
    model_cost_usd: Annotated[
        float | None,
        Field(
            ge=0, le=1_000_000, allow_inf_nan=False,
            description="Of language models in a month (UTC); over it, summaries and answers do without a model,"
            " and extraction waits",
        ),
    ] = None  # fmt: skip


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
    retention: Annotated[
        Retention, Field(description="By kind, over retention_days and memory_days", default_factory=Retention)
    ]
    models: Annotated[
        list[str] | None,
        Field(max_length=100, description="Models of the operator's list that sessions may name; null = all of it"),
    ] = None
    limits: Annotated[Limits, Field(description="What the tenant may use", default_factory=Limits)]

    @model_validator(mode="after")
    def _says_it_once(self) -> NewTenantSettings:
        if self.retention.conversations is not None and "retention_days" in self.model_fields_set:
            raise ValueError("retention.conversations and retention_days say the same: give one of them")
        return self


class ShownRetention(TypedDict):
    conversations: str
    facts: str
    events: str
    instructions: str
    preferences: str


class ShownLimits(TypedDict):
    requests_per_second: int | None
    sessions: int | None
    memories: int | None
    model_cost_usd: float | None


class RetentionJob(TypedDict):
    job_id: str
    state: JobState


class TenantSettings(TypedDict):
    memory: Mapping[str, Any]
    retention_days: Annotated[int | None, Field(description="Days from a session's last activity; null = for ever")]
    memory_days: Annotated[int | None, Field(description="Days after a memory was last mentioned; null = for ever")]
    retention: Annotated[ShownRetention, Field(description="How long each kind is kept")]
    models: Annotated[Sequence[str] | None, Field(description="Models that sessions may name; null = all allowed ones")]
    limits: Annotated[ShownLimits, Field(description="What the tenant may use; null limits nothing")]
    retention_job: Annotated[
        RetentionJob | None,
        Field(description="Applies the last change of these days to what exists; null = none, or long done"),
    ]


@operation("GET /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def read_settings() -> TenantSettings:
    """Read the tenant's settings.

    The defaults for new sessions, the models that sessions may name, how long conversations and memories are kept, and
    whether all that exist follow a change of that.
    """
    return _shown(*call().use.settings.read(call().caller.tenant))


@operation("PUT /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def replace_settings(body: NewTenantSettings) -> TenantSettings:
    """Replace the tenant's settings.

    New sessions and new memories take them. Changed days reach those that exist by a job: sessions count them from
    their last activity, memories from their last mention. Fields that are left out go back to the built-in defaults.
    `retention` says it by kind, over `memory_days`; sessions with `retention_days` of their own keep them.
    """
    with naming("memory"):
        memory = parsed(dict(body.memory))
    settings = StoredSettings(
        memory=body.memory,
        retention_days=_days(body.retention.conversations) if body.retention.conversations else body.retention_days,
        memory_days=body.memory_days,
        by_type={kind: _days(kept) for kind, name in KINDS.items() if (kept := getattr(body.retention, name))},
        models=None if body.models is None else tuple(body.models),
        limits=StoredLimits(**body.limits.model_dump()),
    )
    manage = call().use.manage
    manage.check(memory)
    for number, model in enumerate(settings.models or ()):
        check_allowed(model, field=f"models.{number}", lists=(manage.models,))
    manage.check_model(settings.memory, settings)
    check_room(memory=[stored(memory), settings.models])
    return _shown(*call().use.settings.replace(call().caller.tenant, settings))


def _days(kept: str) -> int | None:
    return None if kept == "permanent" else int(kept[:-1]) * (DAYS_A_YEAR if kept.endswith("y") else 1)


def _kept(days: int | None) -> str:
    if days is None:
        return "permanent"
    return f"{days}d" if days % DAYS_A_YEAR else f"{days // DAYS_A_YEAR}y"


def _shown_retention(settings: StoredSettings) -> ShownRetention:
    lifetimes = {name: settings.lifetime(kind) for kind, name in KINDS.items()}
    by_name = {name: _kept(None if lifetime is None else lifetime // DAY) for name, lifetime in lifetimes.items()}
    return {"conversations": _kept(settings.retention_days), **by_name}  # type: ignore[typeddict-item]


def _shown(settings: StoredSettings, job: Job | None) -> TenantSettings:
    return {
        "memory": settings.memory,
        "retention_days": settings.retention_days,
        "memory_days": settings.memory_days,
        "retention": _shown_retention(settings),
        "models": settings.models,
        "limits": cast(ShownLimits, asdict(settings.limits)),
        "retention_job": None if job is None else {"job_id": job.id, "state": job.state},
    }
