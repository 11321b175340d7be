"""Extraction of a session, asked for: what was said since the last one becomes memories."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.call import call
from palimpsest.api.outgoing import answered, told_of
from palimpsest.api.requests import ExtractRequest
from palimpsest.api.routing import SessionId, new_router
from palimpsest.errors import Unprocessable

router = new_router()


@router.post(
    "/v1/sessions/<session_id>/extract",
    summary="Extract memories from a session",
    description=(
        "A job extracts what was said after the message that was extracted last. With `if_needed` only if enough turns "
        "wait. Where nothing is to be done, the job that did it last is answered, and `armed` is false."
    ),
    operation_id="extract_session",
    tags=["sessions"],
)
def extract_session(session_id: SessionId, body: ExtractRequest) -> Response[str]:
    extract = call().use.extract
    if extract is None:
        raise Unprocessable("There is no long-term memory here.", code="no_long_term_memory")
    asked = extract(call().session(session_id), if_needed=body.if_needed, max_buffer_turns=body.max_buffer_turns)
    beside = {"session_id": session_id, "armed": asked.armed}
    if asked.job_id is None:
        return answered({"job_id": None, "state": "done", **beside})
    return told_of(asked.job_id, wait=body.wait, beside=beside)
