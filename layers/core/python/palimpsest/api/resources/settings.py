"""The operations on the settings of the tenant, which include retention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, cast

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Closed, MemoryFields
from palimpsest.api.operations import operations_on
from palimpsest.api.problems import naming
from palimpsest.conversations.allowed import check_allowed, check_room
from palimpsest.conversations.configuration import parsed, stored
from palimpsest.conversations.kept import DAYS_A_YEAR, KINDS, Retention, days_of
from palimpsest.jobs.job import Job, JobState
from palimpsest.tenants.settings import DAY, SecretsRule, TenantLimits, TenantSettings

operation = operations_on("administration", function="sessions")


class Limits(Closed):
    """The limits of the tenant. null means no limit."""

    requests_per_second: Annotated[
        int | None, Field(ge=1, le=1_000, description="Requests beyond this are answered 429")
    ] = None
    sessions: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="The most sessions that exist at a time. A call that begins one more is "
            "answered 429; existing sessions continue",
        ),
    ] = None
    memories: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="The most memories of each user at a time. Beyond it, extraction waits, "
            "and a call that saves a memory is answered 429",
        ),
    ] = None
    model_cost_usd: Annotated[
        float | None,
        Field(
            ge=0,
            le=1_000_000,
            allow_inf_nan=False,
            description="The most that calls of language models may cost in a month (UTC). Beyond "
            "it, summaries and answers are made without a model, and extraction waits",
        ),
    ] = None


class NewTenantSettings(Closed):
    memory: Annotated[
        MemoryFields,
        Field(description="Fields that override the built-in defaults", default_factory=dict),
    ]
    retention_days: Annotated[
        int | None,
        Field(ge=1, le=36_500, description="Days from a session's last activity; null = for ever"),
    ] = TenantSettings().retention_days
    memory_days: Annotated[
        int | None,
        Field(
            ge=1,
            le=36_500,
            description="Days for which facts, events and instructions are kept after their last "
            "mention",
        ),
    ] = TenantSettings().memory_days
    retention: Annotated[
        Retention,
        Field(
            description="How long each kind is kept; overrides retention_days and memory_days",
            default_factory=Retention,
        ),
    ]
    models: Annotated[
        list[str] | None,
        Field(
            max_length=100,
            description="Models of the operator's list that sessions may name; null = all of them",
        ),
    ] = None
    secrets: Annotated[
        SecretsRule,
        Field(
            description="Passwords, keys, card numbers and the like in messages and their "
            "metadata: `keep_in_message` shows them to the message's own session alone, `mask` "
            "stores a mask, `refuse` answers 422"
        ),
    ] = TenantSettings().secrets
    limits: Annotated[Limits, Field(description="The tenant's limits", default_factory=Limits)]
    answer_floor: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="If a recall's `answerable` is below this floor, its `answer` is empty; "
            "null = the learned floor, 0 = always answer",
        ),
    ] = None

    keep_model_calls: Annotated[
        bool,
        Field(
            description="Keep the prompts and answers of jobs' model calls for 7 days, for `GET"
            " /v1/jobs/{job_id}/calls`. false also hides the calls that were kept "
            "before"
        ),
    ] = False

    @model_validator(mode="after")
    def _says_it_once(self) -> NewTenantSettings:
        if self.retention.conversations is not None and "retention_days" in self.model_fields_set:
            raise ValueError(
                "retention.conversations and retention_days mean the same. Give only one of them"
            )
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


class ShownTenantSettings(TypedDict):
    memory: Mapping[str, Any]
    retention_days: Annotated[
        int | None, Field(description="Days from a session's last activity; null = for ever")
    ]
    memory_days: Annotated[
        int | None, Field(description="Days after a memory was last mentioned; null = for ever")
    ]
    retention: Annotated[ShownRetention, Field(description="How long each kind is kept")]
    models: Annotated[
        Sequence[str] | None,
        Field(description="Models that sessions may name; null = all allowed ones"),
    ]
    secrets: Annotated[SecretsRule, Field(description="The rule for secrets in messages")]
    limits: Annotated[ShownLimits, Field(description="The tenant's limits; null limits nothing")]
    answer_floor: Annotated[
        float | None,
        Field(
            description="The `answerable` below which answers are empty; null = the learned floor"
        ),
    ]
    keep_model_calls: Annotated[
        bool, Field(description="Whether the model calls of jobs are kept for 7 days")
    ]
    retention_job: Annotated[
        RetentionJob | None,
        Field(
            description="The job that applies the last change of these days to existing data; "
            "null = none, or done long ago"
        ),
    ]


@operation("GET /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def read_settings(service: Service, call: Call) -> ShownTenantSettings:
    """Read the tenant's settings.

    Return the defaults for new sessions, the models that sessions may name, how long conversations
    and memories are kept, and the job that applies the last change of these times to existing data.
    """
    return _shown(*service.settings.read(call.caller.tenant))


@operation("PUT /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def replace_settings(
    service: Service, call: Call, *, body: NewTenantSettings
) -> ShownTenantSettings:
    """Replace the tenant's settings.

    The settings apply to new sessions and new memories. A job applies changed days to existing
    data. The days of a session are counted from its last activity, the days of a memory from its
    last mention. Fields that are left out return to the built-in defaults. `retention` sets the
    days for each kind, and overrides `memory_days`. A session's own `retention_days`, and its own
    `memory.retention` for its memories, take precedence.
    """
    with naming("memory"):
        memory = parsed(dict(body.memory))
    conversations = body.retention.conversations
    models = None if body.models is None else tuple(body.models)
    settings = TenantSettings(
        memory=body.memory,
        retention_days=days_of(conversations) if conversations else body.retention_days,
        memory_days=body.memory_days,
        by_type=body.retention.by_type,
        models=models,
        secrets=body.secrets,
        limits=TenantLimits(**body.limits.model_dump()),
        answer_floor=body.answer_floor,
        keep_model_calls=body.keep_model_calls,
    )
    manage = service.manage
    manage.check(memory)
    for number, model in enumerate(settings.models or ()):
        check_allowed(model, field=f"models.{number}", lists=(manage.models,))
    manage.check_model(settings.memory, settings)
    check_room(memory=[stored(memory), settings.models])
    return _shown(*service.settings.replace(call.caller.tenant, settings))


def _kept(days: int | None) -> str:
    if days is None:
        return "permanent"
    return f"{days}d" if days % DAYS_A_YEAR else f"{days // DAYS_A_YEAR}y"


def _shown_retention(settings: TenantSettings) -> ShownRetention:
    lifetimes = {name: settings.lifetime(kind) for kind, name in KINDS.items()}
    by_name = {
        name: _kept(None if lifetime is None else lifetime // DAY)
        for name, lifetime in lifetimes.items()
    }
    return {"conversations": _kept(settings.retention_days), **by_name}  # type: ignore[typeddict-item]


def _shown(settings: TenantSettings, job: Job | None) -> ShownTenantSettings:
    return {
        "memory": settings.memory,
        "retention_days": settings.retention_days,
        "memory_days": settings.memory_days,
        "retention": _shown_retention(settings),
        "models": settings.models,
        "secrets": settings.secrets,
        "limits": cast(ShownLimits, asdict(settings.limits)),
        "answer_floor": settings.answer_floor,
        "keep_model_calls": settings.keep_model_calls,
        "retention_job": None if job is None else {"job_id": job.id, "state": job.state},
    }
