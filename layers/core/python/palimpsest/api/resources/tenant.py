"""The operations on the tenant's settings, which include retention, and on its usage by day, by
user or in total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, cast

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field, model_validator
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Closed, MemoryFields
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, after, cursor_at
from palimpsest.api.problems import naming
from palimpsest.conversations.allowed import check_allowed, check_room
from palimpsest.conversations.configuration import parsed, stored
from palimpsest.conversations.kept import DAYS_A_YEAR, KINDS, Retention, days_of
from palimpsest.jobs.job import Job, JobState
from palimpsest.models.catalogue import NANO_USD
from palimpsest.scope import checked_id
from palimpsest.tenants.settings import DAY, SecretsRule, TenantLimits, TenantSettings
from palimpsest.usage import By, Sum

operation = operations_on("administration", function="sessions")


class Limits(Closed):
    """The limits of the tenant. null means no limit."""

    requests_per_second: Annotated[
        int | None, Field(ge=1, le=1_000, description="Over that: 429")
    ] = None
    sessions: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="That exist at a time; another one is 429, an append goes on",
        ),
    ] = None
    memories: Annotated[
        int | None,
        Field(
            ge=1,
            le=1_000_000,
            description="Of each user at a time; extraction waits, a call is 429",
        ),
    ] = None
    model_cost_usd: Annotated[
        float | None,
        Field(
            ge=0,
            le=1_000_000,
            allow_inf_nan=False,
            description="Of language models in a month (UTC); over it, summaries and answers do "
            "without a model,"
            " and extraction waits",
        ),
    ] = None


class NewTenantSettings(Closed):
    memory: Annotated[
        MemoryFields, Field(description="Fields over the built-in defaults", default_factory=dict)
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
            description="Days after their last mention that facts, events and instructions are "
            "kept",
        ),
    ] = TenantSettings().memory_days
    retention: Annotated[
        Retention,
        Field(
            description="By kind, over retention_days and memory_days", default_factory=Retention
        ),
    ]
    models: Annotated[
        list[str] | None,
        Field(
            max_length=100,
            description="Models of the operator's list that sessions may name; null = all of it",
        ),
    ] = None
    secrets: Annotated[
        SecretsRule,
        Field(
            description="Passwords, keys, card numbers and the like in messages: "
            "`keep_in_message` shows them to the message's own session alone, `mask` stores a mask,"
            " `refuse` answers 422"
        ),
    ] = TenantSettings().secrets
    limits: Annotated[Limits, Field(description="What the tenant may use", default_factory=Limits)]
    answer_floor: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="A recall that is `answerable` less likely gives an empty `answer`; null = "
            "the floor that was learned, 0 = always answer",
        ),
    ] = None

    keep_model_calls: Annotated[
        bool,
        Field(
            description="Keep the prompts and answers of jobs' model calls for 7 days, for `GET "
            "/v1/jobs/{job_id}/calls`. false also hides those that were kept"
        ),
    ] = False

    @model_validator(mode="after")
    def _says_it_once(self) -> NewTenantSettings:
        if self.retention.conversations is not None and "retention_days" in self.model_fields_set:
            raise ValueError(
                "retention.conversations and retention_days say the same: give one of them"
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
    secrets: Annotated[SecretsRule, Field(description="What becomes of secrets in messages")]
    limits: Annotated[
        ShownLimits, Field(description="What the tenant may use; null limits nothing")
    ]
    answer_floor: Annotated[
        float | None,
        Field(description="The least `answerable` of an answer; null = the floor that was learned"),
    ]
    keep_model_calls: Annotated[
        bool, Field(description="Whether the model calls of jobs are kept for 7 days")
    ]
    retention_job: Annotated[
        RetentionJob | None,
        Field(
            description="Applies the last change of these days to what exists; null = none, or "
            "long done"
        ),
    ]


@operation("GET /v1/settings", scopes=("admin",), answers={200: "TenantSettings"})
def read_settings(service: Service, call: Call) -> ShownTenantSettings:
    """Read the tenant's settings.

    Return the defaults for new sessions, the models that sessions may name, how long conversations
    and memories are kept, and the job that applies the last change of that to existing data.
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


Day = Annotated[str, Field(json_schema_extra={"format": "date"})]


COUNTED = (
    "messages",
    "message_tokens",
    "bytes",
    "model_calls",
    "tokens_in",
    "tokens_out",
    "embedding_calls",
    "embedding_tokens",
    "chat_calls",
    "chat_tokens_in",
    "chat_tokens_cached",
    "chat_tokens_out",
    "feedback_useful",
    "feedback_wrong",
    "feedback_missing",
)


class Used(TypedDict):
    day: Day | None
    user_id: Annotated[str | None, Field(description="null by user: of users who were erased")]
    messages: Annotated[int, Field(description="Taken in by appends and ingests")]
    message_tokens: int
    bytes: Annotated[
        int, Field(description="Of the messages; what was deleted since is not taken off")
    ]
    model_calls: Annotated[int, Field(description="Of language models, also those that failed")]
    tokens_in: int
    tokens_out: int
    embedding_calls: Annotated[
        int, Field(description="Of a model server; the built-in model is not counted")
    ]
    embedding_tokens: int
    cost_usd: Annotated[float, Field(description="Of the calls whose price is known")]
    unpriced_calls: Annotated[int, Field(description="Calls whose price or tokens are not known")]
    chat_calls: Annotated[int, Field(description="Of the caller's own models, as it reported them")]
    chat_tokens_in: int
    chat_tokens_cached: Annotated[
        int, Field(description="Of `chat_tokens_in`: what a prompt cache served")
    ]
    chat_tokens_out: int
    chat_cost_usd: Annotated[
        float, Field(description="At list prices, with those of cached input; not ours to bill")
    ]
    chat_unpriced_calls: int
    feedback_useful: Annotated[
        int, Field(description="Memories that callers of recalls called useful")
    ]
    feedback_wrong: Annotated[int, Field(description="Memories that they called wrong")]
    feedback_missing: Annotated[int, Field(description="Recalls in which something was missing")]


ShownUsage = TypedDict(
    "ShownUsage", {"from": Day, "to": Day, "by": By, "usage": list[Used], "next_cursor": NextCursor}
)


@operation("GET /v1/usage", scopes=("admin",), answers={200: "Usage"})
def read_usage(
    service: Service,
    call: Call,
    *,
    from_: Annotated[
        date | None, Query(alias="from", description="First day, in UTC; left out: of this month")
    ] = None,
    to: Annotated[date | None, Query(description="Last day; left out: today")] = None,
    by: Annotated[By, Query(description="One sum, or one for each user or day")] = "tenant",
    user_id: Annotated[str | None, Query(description="Of this user alone")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> ShownUsage:
    """Read what the tenant has used.

    Messages are counted within seconds and model calls at once, each exactly once. One answer
    covers up to 93 days. Counts are kept for 400 days. Exports do not contain them. The counts of
    an erased user lose the user's name.
    """
    user = None if user_id is None else checked_id(user_id, field="user_id")
    found = service.usage(call.caller.tenant, first=from_, last=to, by=by, user=user)
    listed = (call.caller.tenant.tenant, "usage", found.first, found.last, by, user or "")
    place = after(cursor, *listed)
    left = [total for total in found.sums if place is None or _place(total) > place]
    following = cursor_at(*listed, after=_place(left[limit - 1])) if len(left) > limit else None
    used = [_used(one) for one in left[:limit]]
    return {
        "from": found.first,
        "to": found.last,
        "by": by,
        "usage": used,
        "next_cursor": following,
    }


def _place(total: Sum) -> str:
    """Return the place of a sum in the list of usage. Sums without a name come last."""
    return total.day or total.user or "~"


def _used(total: Sum) -> Used:
    named = {name: total.counts.get(name, 0) for name in COUNTED}
    cost, unpriced = (
        total.counts.get("cost_nano_usd", 0) / NANO_USD,
        total.counts.get("unpriced", 0),
    )
    used = {
        "day": total.day,
        "user_id": total.user,
        **named,
        "cost_usd": cost,
        "unpriced_calls": unpriced,
        "chat_cost_usd": total.counts.get("chat_cost_nano_usd", 0) / NANO_USD,
        "chat_unpriced_calls": total.counts.get("chat_unpriced", 0),
    }
    return cast("Used", used)
