"""The context for a message: with what resembles it, and with facts that a model picks where a block asks for that."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.call import call
from palimpsest.api.contexts import context_of
from palimpsest.api.outgoing import answered
from palimpsest.api.requests import ContextRequest
from palimpsest.api.routing import SessionId, new_router

router = new_router()


@router.post(
    "/v1/sessions/<session_id>/context",
    summary="Get the context for a message",
    description=(
        "As by GET; a message about to be sent is weighed, not stored, and a vector block brings what resembles it. "
        "What can't be asked in time is named in `degraded`."
    ),
    operation_id="get_context_for",
    tags=["context"],
)
def get_context_for(session_id: SessionId, body: ContextRequest) -> Response[str]:
    return answered(context_of(call().session(session_id), body, given=body.message))
