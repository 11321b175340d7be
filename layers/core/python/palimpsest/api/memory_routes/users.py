"""Users: whom the tenant remembers anything of, and how much."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api import cursors, memory_answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered, awaited
from palimpsest.api.routing import DEFAULT_LIMIT, Cursor, Limit, UserId, Wait, new_router

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


@router.delete(
    "/v1/users/<user_id>",
    summary="Erase a user",
    description=(
        "Nothing of the user is there from this answer on: no session, no memory, nothing that is found or recalled. A "
        "job removes it; its receipt says how far that has come in each store, and when the last backup ends. What is "
        "stored from now on is of a new life of the user, and stays."
    ),
    operation_id="erase_user",
    tags=TAGS,
)
def erase_user(user_id: UserId, wait: Wait = 0) -> Response[str]:
    return awaited(call().memory.erase(call().user(user_id)), wait=wait)
