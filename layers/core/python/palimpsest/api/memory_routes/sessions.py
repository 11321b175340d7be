"""Sessions listed, and found by words that were said in them: no turn waits for that."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from palimpsest.api import answers, cursors
from palimpsest.api.call import call
from palimpsest.api.chat import LIKE_AN_ID
from palimpsest.api.outgoing import answered, fitting
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, Order, new_router
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.scope import checked_id

router = new_router()


@router.get(
    "/v1/sessions",
    summary="List sessions",
    description=(
        "The tenant's sessions: of one user by creation, of all by user and then creation. With `q` those of a user in "
        "which these words were said, the best match first, on one page."
    ),
    operation_id="list_sessions",
    tags=["sessions"],
)
def list_sessions(  # noqa: PLR0917 - Powertools passes parameters by name
    user_id: Annotated[str | None, Query(description="Only this user's", json_schema_extra=LIKE_AN_ID)] = None,
    agent_id: Annotated[str | None, Query(description="Only this agent's", json_schema_extra=LIKE_AN_ID)] = None,
    status: Annotated[Literal["active", "ended"] | None, Query(description="Only those in this state")] = None,
    q: Annotated[str | None, Query(min_length=1, max_length=1_000, description="Words that were said")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    order: Order = "desc",
) -> Response[str]:
    user, agent = user_id, agent_id
    for field, value in (("user_id", user), ("agent_id", agent)):
        if value is not None:
            checked_id(value, field=field)
    if q is not None:
        return _found(q, user=user, agent=agent, status=status, limit=limit)
    tenant = call().caller.tenant
    listed = (tenant.tenant, "sessions", user, agent, status, order)
    after = cursors.after(cursor, *listed)

    def page(most: int) -> dict[str, Any]:
        found, following = call().memory.manage.listed(
            tenant, user=user, agent=agent, status=status, limit=most, after=after, newest_first=order == "desc"
        )
        next_cursor = None if following is None else cursors.cursor(*listed, after=following)
        return {"sessions": [answers.session(each) for each in found], "next_cursor": next_cursor}

    return fitting(page, limit=limit)


def _found(words: str, *, user: str | None, agent: str | None, status: str | None, limit: int) -> Response[str]:
    if user is None:
        raise Unprocessable(
            "Words are looked for in one user's sessions.", errors=(FieldError("user_id", "is required with q"),)
        )
    memory = call().memory
    ids = memory.find_sessions(call().user(user), words, limit=limit)
    sessions = [
        each
        for each in memory.manage.opened(call().caller.tenant, ids)
        if each.head.user == user and agent in (None, each.head.agent) and status in (None, each.head.status)
    ]
    return answered({"sessions": list(map(answers.session, sessions)), "next_cursor": None})
