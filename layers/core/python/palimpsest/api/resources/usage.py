"""The operation that returns the usage of the tenant by day, by user or in total."""

from __future__ import annotations

from datetime import date
from typing import Annotated, cast

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.call import Call, Service
from palimpsest.api.operations import operations_on
from palimpsest.api.pages import DEFAULT_LIMIT, Cursor, Limit, NextCursor, after, cursor_at
from palimpsest.models.catalogue import NANO_USD
from palimpsest.scope import checked_id
from palimpsest.usage import By, Sum

operation = operations_on("administration", function="sessions")

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
    user_id: Annotated[
        str | None, Field(description="null in a list by user: the users who were erased")
    ]
    messages: Annotated[int, Field(description="Messages that appends and ingests stored")]
    message_tokens: int
    bytes: Annotated[
        int, Field(description="The messages' bytes; later deletions are not subtracted")
    ]
    model_calls: Annotated[
        int, Field(description="Calls of language models, including failed ones")
    ]
    tokens_in: int
    tokens_out: int
    embedding_calls: Annotated[
        int, Field(description="Calls of a model server; the built-in model is not counted")
    ]
    embedding_tokens: int
    cost_usd: Annotated[float, Field(description="The cost of the calls whose price is known")]
    unpriced_calls: Annotated[int, Field(description="Calls without a known price or known tokens")]
    chat_calls: Annotated[
        int, Field(description="Calls of the caller's own models, as it reported them")
    ]
    chat_tokens_in: int
    chat_tokens_cached: Annotated[
        int, Field(description="The part of `chat_tokens_in` that a prompt cache served")
    ]
    chat_tokens_out: int
    chat_cost_usd: Annotated[
        float,
        Field(description="At list prices, with the prices of cached input. We don't bill it"),
    ]
    chat_unpriced_calls: int
    feedback_useful: Annotated[
        int, Field(description="Memories that callers of recalls called useful")
    ]
    feedback_wrong: Annotated[
        int, Field(description="Memories that callers of recalls called wrong")
    ]
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
        date | None,
        Query(alias="from", description="First day, in UTC; default: the first day of this month"),
    ] = None,
    to: Annotated[date | None, Query(description="Last day; default: today")] = None,
    by: Annotated[By, Query(description="One sum, or one for each user or day")] = "tenant",
    user_id: Annotated[str | None, Query(description="Only the usage of this user")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> ShownUsage:
    """Read what the tenant has used.

    Messages are counted within seconds and model calls at once, each exactly once. One answer
    covers up to 93 days. Counts are kept for 400 days. Exports do not contain them. The counts of
    an erased user lose the user's name.
    """
    user = None if user_id is None else checked_id(user_id, field="user_id")
    sums = service.usage(call.caller.tenant, first=from_, last=to, by=by, user=user)
    listed = (call.caller.tenant.tenant, "usage", sums.first, sums.last, by, user or "")
    place = after(cursor, *listed)
    left = [total for total in sums.sums if place is None or _place(total) > place]
    following = cursor_at(*listed, after=_place(left[limit - 1])) if len(left) > limit else None
    used = [_used(total) for total in left[:limit]]
    return {"from": sums.first, "to": sums.last, "by": by, "usage": used, "next_cursor": following}


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
