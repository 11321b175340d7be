"""Delete sessions by a filter, or say which these would be."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.call import call
from palimpsest.api.outgoing import answered, awaited
from palimpsest.api.requests import ForgetSessionsRequest
from palimpsest.api.routing import new_router
from palimpsest.memory.removal.sessions import WhichSessions

router = new_router()


@router.post(
    "/v1/sessions/forget",
    summary="Forget sessions",
    description=(
        "A job deletes each session that matches now, as if it had been deleted alone. One that begins from now on "
        "stays. `dry_run` only answers which they are."
    ),
    operation_id="forget_sessions",
    tags=["sessions"],
)
def forget_sessions(body: ForgetSessionsRequest) -> Response[str]:
    scope, use = call().caller.tenant, call().use.forget_sessions
    which = WhichSessions(body.user_id, body.agent_id, body.status)
    if body.dry_run:
        ids = use.matching(scope, which)
        return answered({"dry_run": True, "count": len(ids), "ids": ids})
    return awaited(use(scope, which, keep_memories=body.keep_memories), wait=body.wait)
