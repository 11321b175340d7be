"""Usage of the tenant: messages, tokens, model calls, their cost, and bytes, by day, by user or in all."""

from __future__ import annotations

from datetime import date
from typing import Annotated, cast

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import after, cursor_at
from palimpsest.api.resources.fields import DEFAULT_LIMIT, Cursor, Limit, NextCursor
from palimpsest.models.catalogue import NANO_USD
from palimpsest.scope import checked_id
from palimpsest.usage.report import By, Sum

operation = operations_on("administration", function="sessions")

Day = Annotated[str, Field(json_schema_extra={"format": "date"})]


COUNTED = (
    "messages", "message_tokens", "bytes", "model_calls", "tokens_in", "tokens_out", "embedding_calls",
    "embedding_tokens",
)  # fmt: skip


class Used(TypedDict):
    day: Day | None
    user_id: Annotated[str | None, Field(description="null by user: of users who were erased")]
    messages: Annotated[int, Field(description="Taken in by appends and ingests")]
    message_tokens: int
    bytes: Annotated[int, Field(description="Of the messages; what was deleted since is not taken off")]
    model_calls: Annotated[int, Field(description="Of language models, also those that failed")]
    tokens_in: int
    tokens_out: int
    embedding_calls: Annotated[int, Field(description="Of a model server; the built-in model is not counted")]
    embedding_tokens: int
    cost_usd: Annotated[float, Field(description="Of the calls whose price is known")]
    unpriced_calls: Annotated[int, Field(description="Calls whose price or tokens are not known")]


Usage = TypedDict("Usage", {"from": Day, "to": Day, "by": By, "usage": list[Used], "next_cursor": NextCursor})


@operation("GET /v1/usage", scopes=("admin",), answers={200: "Usage"})
def read_usage(
    *,
    from_: Annotated[date | None, Query(alias="from", description="First day, in UTC; left out: of this month")] = None,
    to: Annotated[date | None, Query(description="Last day; left out: today")] = None,
    by: Annotated[By, Query(description="One sum, or one for each user or day")] = "tenant",
    user_id: Annotated[str | None, Query(description="Of this user alone")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Usage:
    """Read what the tenant has used.

    Messages are counted within seconds, model calls at once, each exactly once. Up to 93 days in one answer; counts are
    kept for 400 days. Exports do not contain them, and an erased user's lose the name.
    """
    user = None if user_id is None else checked_id(user_id, field="user_id")
    found = call().use.usage(call().caller.tenant, first=from_, last=to, by=by, user=user)
    listed = (call().caller.tenant.tenant, "usage", found.first, found.last, by, user or "")
    place = after(cursor, *listed)
    left = [one for one in found.sums if place is None or _place(one) > place]
    following = cursor_at(*listed, after=_place(left[limit - 1])) if len(left) > limit else None
    used = [_used(one) for one in left[:limit]]
    return {"from": found.first, "to": found.last, "by": by, "usage": used, "next_cursor": following}


def _place(one: Sum) -> str:
    """Where a sum stands in the list: those without a name come last."""
    return one.day or one.user or "~"


def _used(one: Sum) -> Used:
    named = {name: one.counts.get(name, 0) for name in COUNTED}
    cost, unpriced = one.counts.get("cost_nano_usd", 0) / NANO_USD, one.counts.get("unpriced", 0)
    used = {"day": one.day, "user_id": one.user, **named, "cost_usd": cost, "unpriced_calls": unpriced}
    return cast("Used", used)
