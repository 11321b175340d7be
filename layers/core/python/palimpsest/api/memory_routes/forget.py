"""Forget what matches a filter, or say what that would be."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.call import call
from palimpsest.api.memory_requests import ForgetRequest
from palimpsest.api.outgoing import answered, awaited
from palimpsest.api.routing import UserId, new_router

router = new_router()


@router.post(
    "/v1/users/<user_id>/memories/forget",
    summary="Forget memories",
    description=(
        "A job removes each current memory that matches the filter now, with all versions of what it is about. What is "
        "saved from now on stays. `dry_run` only answers which they are."
    ),
    operation_id="forget_memories",
    tags=["memories"],
)
def forget_memories(user_id: UserId, body: ForgetRequest) -> Response[str]:
    scope = call().user(user_id)
    where = body.filter.read()
    if body.dry_run:
        ids = call().memory.manage_memories.matching(scope, where)
        return answered({"dry_run": True, "count": len(ids), "ids": ids})
    return awaited(call().memory.forget(scope, where), wait=body.wait)
