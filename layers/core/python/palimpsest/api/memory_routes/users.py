"""Users: whom the tenant remembers anything of, and how much."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api import cursors, memory_answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, UserId, new_router

router = new_router()
TAGS = ["users"]


@router.get(
    "/v1/users",
    summary="List users",
    description="Those of the tenant's users of whom something is remembered, by id.",
    operation_id="list_users",
    tags=TAGS,
)
def list_users(limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Response[str]:
    tenant = call().caller.tenant.tenant
    listed = (tenant, "users")
    after = cursors.after(cursor, *listed)
    page, following = call().memory.memories.users(tenant, limit=limit, after=after)
    next_cursor = None if following is None else cursors.cursor(*listed, after=following)
    return answered({"users": [{"user_id": user} for user in page], "next_cursor": next_cursor})


@router.get(
    "/v1/users/<user_id>",
    summary="Read a user",
    description="How many current memories of each type there are of a user; none of one who is not known.",
    operation_id="read_user",
    tags=TAGS,
)
def read_user(user_id: UserId) -> Response[str]:
    return answered(memory_answers.user(user_id, call().memory.manage_memories.counts(call().user(user_id))))
