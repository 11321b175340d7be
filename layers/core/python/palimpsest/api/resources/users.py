"""Users: those of whom the tenant remembers anything, and erasing one."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api import cursors
from palimpsest.api.call import call
from palimpsest.api.operations import operations_on
from palimpsest.api.resources.fields import DEFAULT_LIMIT, Cursor, Limit, NextCursor, UserId, Wait, answered
from palimpsest.api.resources.jobs import awaited

operation = operations_on("users", function="memories")


class MemoryCounts(TypedDict):
    fact: int
    event: int
    instruction: int
    task: int
    total: int


class User(TypedDict):
    user_id: str
    memories: Annotated[MemoryCounts, Field(description="Current memories by type")]


class ListedUser(TypedDict):
    user_id: str


class UserPage(TypedDict):
    users: list[ListedUser]
    next_cursor: NextCursor


@operation("GET /v1/users", answers={200: "UserPage"})
def list_users(limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Response[str]:
    """List users.

    The users of whom anything is remembered, ordered by id.
    """
    tenant = call().caller.tenant.tenant
    listed = (tenant, "users")
    after = cursors.after(cursor, *listed)
    page, following = call().memory.memories.users(tenant, limit=limit, after=after)
    next_cursor = None if following is None else cursors.cursor(*listed, after=following)
    return answered({"users": [{"user_id": user} for user in page], "next_cursor": next_cursor})


@operation("GET /v1/users/{user_id}", answers={200: "User"})
def read_user(user_id: UserId) -> Response[str]:
    """Read a user.

    The number of the user's current memories of each type; all zero for an unknown user.
    """
    counts = call().memory.manage_memories.counts(call().user(user_id))
    memories: MemoryCounts = {
        "fact": counts["fact"],
        "event": counts["event"],
        "instruction": counts["instruction"],
        "task": counts["task"],
        "total": sum(counts.values()),
    }
    user: User = {"user_id": user_id, "memories": memories}
    return answered(user)


@operation("DELETE /v1/users/{user_id}", answers={200: "UserErased", 202: "JobPending"})
def erase_user(user_id: UserId, wait: Wait = 0) -> Response[str]:
    """Erase a user.

    From this answer on nothing of the user can be read, found or recalled. A job removes it; its receipt shows what
    is done in each store, and when the last backup ends. What is stored later stays.
    """
    return awaited(call().memory.erase(call().user(user_id)), wait=wait)
